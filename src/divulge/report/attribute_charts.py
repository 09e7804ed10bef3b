"""The charts of an audit that holds true values against drawn ones: the proxy and the replays.

As in ``charts``, each function draws what its own key holds, or returns None, and whatever came
with the data is only ever a value of a fixed field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import altair as alt

from divulge.report.charts import Diagnostics
from divulge.report.drawing import (
    COLOURS,
    HEIGHT,
    Drawing,
    Row,
    axis,
    chart,
    colour_scale,
    entry,
    finish,
    histogram,
    layered,
    lines,
    named_apart,
    numbers,
    pairs,
    thinned,
    tooltip,
)
from divulge.report.wording import finite, number
from divulge.result import floor_to

SERIES = 3
"""Models in the calibration chart."""
BARS = 20
"""Models in the chart of log-losses."""


def calibrated(proxy: Any) -> list[Row]:
    """The points of the calibration chart; the proxy and the target first, then what else came."""
    given = entry(proxy, "calibration") if isinstance(proxy, Mapping) else {}
    known = [name for name in ("target", "proxy") if name in given]
    found = [
        {"series": str(name), "points": points}
        for name in [*known, *(name for name in given if name not in known)]
        if (points := _points(given[name]))
    ]
    named = named_apart(found[:SERIES], "series")
    return [{"series": row["series"], **point} for row in named for point in row["points"]]


def _points(value: Any) -> list[Row]:
    items = [v for v in value if isinstance(v, Mapping)] if isinstance(value, list | tuple) else []
    rows = [{key: finite(v.get(key)) for key in ("predicted", "observed", "count")} for v in items]
    shares = [row for row in rows if _share(row["predicted"]) and _share(row["observed"])]
    return thinned(sorted(shares, key=itemgetter("predicted")))


def _share(value: float | None) -> bool:
    return value is not None and 0.0 <= value <= 1.0


def calibration(diagnostics: Diagnostics) -> Drawing | None:
    """The share observed against the probability predicted, for the proxy and for the target."""
    rows = [{**row, "place": i} for i, row in enumerate(calibrated(diagnostics.get("proxy")))]
    if not rows:
        return None
    scale, ticks = alt.Scale(domain=[0, 1]), axis(".1f")
    drawn = lines(
        rows,
        list(dict.fromkeys(row["series"] for row in rows)),
        alt.X("predicted:Q", title="probability predicted", scale=scale, axis=ticks),
        alt.Y("observed:Q", title="share observed", scale=scale, axis=ticks),
        model="series:N",
        predicted="predicted:Q",
        observed="observed:Q",
        records="count:Q",
    )
    ends = chart([{"predicted": v, "observed": v} for v in (0.0, 1.0)])
    right = ends.mark_line(color=COLOURS["muted"], strokeDash=[2, 4]).encode(
        x="predicted:Q", y="observed:Q"
    )
    description = "Share observed against the probability predicted, by model."
    return finish(layered(right, *drawn), description, height=HEIGHT + 60)


def losses(proxy: Any) -> list[Row]:
    """The log-losses that can be drawn, each under a name of its own."""
    given = entry(proxy, "log_loss") if isinstance(proxy, Mapping) else {}
    found = [(str(name), finite(value)) for name, value in given.items()]
    rows = [{"model": name, "value": v} for name, v in found if v is not None and v >= 0.0]
    return named_apart(rows[:BARS], "model")


def log_loss(diagnostics: Diagnostics) -> Drawing | None:
    """One bar with its number per model."""
    rows = losses(diagnostics.get("proxy"))
    if not rows:
        return None
    kinds = ["target", "proxy", "other"]
    for row in rows:
        named = (kind for kind in kinds if kind in row["model"])
        row |= {"kind": next(named, "other"), "shown": number(row["value"])}
    right = 1.25 * max(row["value"] for row in rows) or 1.0
    base = chart(rows).encode(
        x=alt.X("value:Q", title="log-loss", scale=alt.Scale(domain=[0, right], nice=False)),
        y=alt.Y("model:N", sort=None, title=None, axis=alt.Axis(labelLimit=130)),
        tooltip=tooltip(**{"model": "model:N", "log-loss": "value:Q"}),
    )
    colours = colour_scale(kinds, "first", "second", "muted")
    bars = base.mark_bar(opacity=0.8).encode(fill=alt.Fill("kind:N", scale=colours, legend=None))
    texts = base.mark_text(align="left", dx=5, fontSize=12, color=COLOURS["ink"])
    drawn = layered(bars, texts.encode(text="shown:N"))
    return finish(drawn, "Log-loss of each model.", height=30 * len(rows))


def replays_epsilon(diagnostics: Diagnostics) -> Drawing | None:
    """The bound on epsilon in every replay of the coin flips."""
    return _replays(diagnostics, "epsilon")


def replays_mu(diagnostics: Diagnostics) -> Drawing | None:
    """The bound on mu in every replay of the coin flips."""
    return _replays(diagnostics, "mu")


def _replays(diagnostics: Diagnostics, parameter: str) -> Drawing | None:
    given = entry(diagnostics, "repetitions")
    values = [v for v in numbers(given.get(parameter)) if v is not None]
    if not values:
        return None
    combined = finite(given.get(f"combined_{parameter}"))
    marks = []
    if combined is not None:
        marks.append((floor_to(combined, 3), f"the bound: {number(combined)}"))
    drawing = histogram(values, f"{parameter} in each replay", "replays", marks)
    return finish(drawing, f"Histogram of {parameter} over the replays; the bound is marked.")


def budgets(tau: Any) -> list[Row]:
    """The rows of the entry ``tau`` that name their budget."""
    items = tau if isinstance(tau, Sequence) and not isinstance(tau, str) else ()
    rows = [
        {key: finite(item.get(key)) for key in ("tau", "epsilon", "mu")}
        for item in items
        if isinstance(item, Mapping)
    ]
    return [row for row in rows if row["tau"] is not None and row["tau"] >= 0.0]


def tau(diagnostics: Diagnostics) -> Drawing | None:
    """The bounds against the total variation allowed to the proxy, on a logarithmic axis."""
    # A budget of 0 has no place on a logarithmic axis: the section says it in words.
    given = sorted(
        (row for row in budgets(diagnostics.get("tau")) if row["tau"]), key=itemgetter("tau")
    )
    rows: list[Row] = []
    for name in ("epsilon", "mu"):
        for x, y in pairs([row["tau"] for row in given], [row[name] for row in given]):
            rows.append({"series": name, "tau": x, "value": floor_to(y, 3), "place": len(rows)})
    if not rows:
        return None
    low, high = min(row["tau"] for row in rows), max(row["tau"] for row in rows)
    ends = [low / 3, high * 3] if low == high else [low, high]
    names = list(dict.fromkeys(row["series"] for row in rows))
    drawn = lines(
        rows,
        names,
        alt.X(
            "tau:Q",
            title="total variation allowed to the proxy (tau)",
            scale=alt.Scale(type="log", domain=ends),
            axis=axis(".0e"),
        ),
        alt.Y("value:Q", title="at least", scale=alt.Scale(zero=True)),
        **{"bound on": "series:N", "tau": "tau:Q", "at least": "value:Q"},
    )
    return finish(layered(*drawn), "Lower bounds against the total variation allowed.")
