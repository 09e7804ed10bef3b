"""The charts of leakage per record: distribution, power, similar records.

As in ``charts``, each function draws what its own key holds, or returns None, and whatever came
with the data is only ever a value of a fixed field.
"""

from __future__ import annotations

import altair as alt

from divulge.report.charts import Diagnostics
from divulge.report.drawing import (
    COLOURS,
    Drawing,
    Row,
    axis,
    chart,
    entry,
    finish,
    layered,
    lines,
    marker,
    numbers,
    pairs,
    tooltip,
)
from divulge.report.leakage_words import SERIES
from divulge.report.wording import finite


def exposure(diagnostics: Diagnostics) -> Drawing | None:
    """How many records have which advantage, the percentile and what was asked for."""
    given = entry(diagnostics, "exposure")
    edges, counts = numbers(given.get("edges")), numbers(given.get("records"))
    if len(edges) != len(counts) + 1 or not counts or None in (*edges, *counts):
        return None
    rows: list[Row] = [
        {"from": low, "to": high, "count": count, "base": 0}
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    known = [finite(given.get(key)) for key in ("now", "wanted")]
    low = rows[0]["from"]
    high = max([rows[-1]["to"], *(v for v in known if v is not None)])
    top = max(row["count"] for row in rows)
    bars = (
        chart(rows)
        .mark_rect(fill=COLOURS["first"], opacity=0.8, stroke=COLOURS["paper"], strokeWidth=1)
        .encode(
            x=alt.X("from:Q", title="advantage", scale=alt.Scale(domain=[low, high])),
            x2="to:Q",
            y=alt.Y(
                "count:Q",
                title="records",
                scale=alt.Scale(type="symlog", domain=[0, max(3.0 * top, 1.0)]),
                axis=axis(",d"),
            ),
            y2="base:Q",
            tooltip=tooltip(**{"from": "from:Q", "to": "to:Q", "records": "count:Q"}),
        )
    )
    layers: list[Drawing] = [bars]
    percent = finite(given.get("percentile"))
    names = (f"{99.0 if percent is None else percent:g}th percentile", "asked for")
    for line, (value, words) in enumerate(zip(known, names, strict=True)):
        if value is not None:
            layers.append(marker(value, words, low, high, line=line))
    return finish(layered(*layers), "Histogram of the advantage over the records.")


def power(diagnostics: Diagnostics) -> Drawing | None:
    """True against false positives for three records, on logarithmic axes."""
    given = entry(diagnostics, "power")
    rows: list[Row] = []
    for key, name in SERIES.items():
        points = [(x, y) for x, y in pairs(given.get("fpr"), given.get(key)) if x > 0.0 and y > 0.0]
        rows += [
            {"fpr": x, "tpr": y, "series": name, "place": i} for i, (x, y) in enumerate(points)
        ]
    if not rows:
        return None
    names = [name for name in SERIES.values() if any(row["series"] == name for row in rows)]
    least = min(row["fpr"] for row in rows)
    x = alt.X("fpr:Q", title="accused when not in", axis=axis("~g"))
    y = alt.Y("tpr:Q", title="found when in", axis=axis("~g"))
    x = x.scale(type="log", domain=[least, 1])
    y = y.scale(type="log", domain=[min(least, *(row["tpr"] for row in rows)), 1])
    paths = lines(rows, names, x, y, record="series:N", accused="fpr:Q", found="tpr:Q")[0]
    guessing = (
        chart([{"fpr": least, "tpr": least}, {"fpr": 1.0, "tpr": 1.0}])
        .mark_line(color=COLOURS["muted"], strokeDash=[2, 4])
        .encode(x=x, y=y)
    )
    return finish(layered(guessing, paths), "Power of the best attack on three records.")


def similar(diagnostics: Diagnostics) -> Drawing | None:
    """Advantage with the nearest reference record against advantage with the record itself."""
    given = entry(diagnostics, "similar")
    rows: list[Row] = [
        {"own": x, "similar": y} for x, y in pairs(given.get("own"), given.get("by_similar"))
    ]
    if not rows:
        return None
    top = max(max(row["own"], row["similar"]) for row in rows) or 1.0
    x = alt.X("own:Q", title="with the record itself", scale=alt.Scale(domain=[0, top]))
    y = alt.Y("similar:Q", title="with a similar one", scale=alt.Scale(domain=[0, top]))
    points = (
        chart(rows)
        .mark_point(size=45, filled=True, opacity=0.6, color=COLOURS["first"])
        .encode(x=x, y=y, tooltip=tooltip(**{"record itself": "own:Q", "similar one": "similar:Q"}))
    )
    same = (
        chart([{"own": 0.0, "similar": 0.0}, {"own": top, "similar": top}])
        .mark_line(color=COLOURS["muted"], strokeDash=[2, 4])
        .encode(x=x, y=y)
    )
    return finish(
        layered(same, points), "Advantage with a similar record against that with the record."
    )
