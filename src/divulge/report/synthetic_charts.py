"""The charts of members against generated records: baseline and attack by recall, and repeats.

As in ``charts``, each function draws what its own key holds, or returns None, and whatever came
with the data is only ever a value of a fixed field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import altair as alt

from divulge.report.charts import Diagnostics
from divulge.report.drawing import (
    COLOURS,
    HEIGHT,
    Drawing,
    Row,
    axis,
    chart,
    entry,
    finish,
    hover,
    label,
    layered,
    legend,
    numbers,
    thinned,
    tooltip,
)
from divulge.report.synthetic_words import SERIES, SHORT
from divulge.report.wording import finite, number
from divulge.result import floor_to

_ROLES = {"baseline": "second", "attack": "first"}
_DASHES = {"baseline": [7, 4], "attack": [1, 0]}
_FIELDS = ("recall", "precision", "guesses", "lower")


def points(recall: Any) -> list[Row]:
    """Baseline and attack at every level that names its recall; None for what is not known."""
    rows: list[Row] = []
    for name in SERIES:
        given = entry(recall, name) if isinstance(recall, Mapping) else {}
        columns = [numbers(given.get(key)) for key in _FIELDS]
        length = len(columns[0])
        padded = [[*column[:length], *[None] * (length - len(column))] for column in columns]
        levels = [dict(zip(_FIELDS, values, strict=True)) for values in zip(*padded, strict=True)]
        kept = thinned([level for level in levels if _share(level["recall"])])
        for level in kept:
            level["lower"] = None if level["lower"] is None else floor_to(level["lower"], 3)
        rows += [{"guesser": name, **level} for level in kept]
    return rows


def _share(value: float | None) -> bool:
    return value is not None and 0.0 <= value <= 1.0


def precision(diagnostics: Diagnostics) -> Drawing | None:
    """The share of the guesses that were right, against recall."""
    rows = [row for row in points(diagnostics.get("recall")) if _share(row["precision"])]
    if not rows:
        return None
    y = alt.Y("precision:Q", title="guesses that were right", axis=axis("~%"))
    y = y.scale(domain=[0, 1])
    coin = _dotted([{"recall": 0.0, "precision": 0.5}, {"recall": 1.0, "precision": 0.5}], y)
    drawn = _against_recall(rows, y, precision="precision:Q", guesses="guesses:Q")
    description = "Precision against recall, for the baseline and for the attack."
    return finish(layered(coin, *drawn), description)


def guesses(diagnostics: Diagnostics) -> Drawing | None:
    """How many guesses a recall takes."""
    rows = [
        row
        for row in points(diagnostics.get("recall"))
        if row["guesses"] is not None and row["guesses"] >= 0.0
    ]
    if not rows:
        return None
    y = alt.Y("guesses:Q", title="guesses", axis=axis(",d"), scale=alt.Scale(zero=True))
    drawn = _against_recall(rows, y, guesses="guesses:Q", precision="precision:Q")
    layers: list[Drawing] = [*drawn]
    # Where every guess is right, recall grows by one member per guess.
    known = [r for r in rows if _share(r["precision"]) and r["recall"] > 0.0]
    if known:
        last = max(known, key=lambda row: row["guesses"])
        real = last["guesses"] * last["precision"] / last["recall"]
        if 0.0 < real < 1e300:
            ends = [{"recall": 0.0, "guesses": 0.0}, {"recall": 1.0, "guesses": real}]
            layers.insert(0, _dotted(ends, y))
    description = "Number of guesses against recall, for the baseline and for the attack."
    return finish(layered(*layers), description)


def proven(diagnostics: Diagnostics) -> Drawing | None:
    """The value that the guesses prove against recall; the largest of either guesser is marked."""
    rows = [
        row
        for row in points(diagnostics.get("recall"))
        if row["lower"] is not None and row["lower"] >= 0.0
    ]
    if not rows:
        return None
    largest: dict[str, float] = {}
    for row in rows:
        largest[row["guesser"]] = max(largest.get(row["guesser"], 0.0), row["lower"])
    for name in largest:
        largest[name] = max(largest[name], _of_every_level(diagnostics, name))
    top = 1.15 * max(*largest.values(), 0.1)
    y = alt.Y(
        "lower:Q",
        title="proven, at least",
        scale=alt.Scale(domain=[0, top], nice=False),
    )
    drawn = _against_recall(rows, y, **{"at least": "lower:Q", "guesses": "guesses:Q"})
    least = min(largest.values())
    marks = [
        _largest(name, value, below=len(largest) > 1 and value == least and value > 0.15 * top)
        for name, value in largest.items()
    ]
    description = (
        "Proven lower value against recall, c for the baseline and c + epsilon for the attack; "
        "dashed lines mark the largest."
    )
    return finish(layered(*drawn, *marks), description)


def _of_every_level(diagnostics: Diagnostics, name: str) -> float:
    """The largest value of all levels, of which the curve shows some; 0 if it is not told."""
    key = {"baseline": "c_lb", "attack": "c_plus_epsilon_lb"}[name]
    rules = diagnostics.get("rules")
    told = [
        finite(row.get(key))
        for row in (rules if isinstance(rules, list | tuple) else ())
        if isinstance(row, Mapping) and row.get("rule") == "all"
    ]
    return floor_to(max((v for v in told if v is not None), default=0.0), 3)


def _largest(name: str, value: float, *, below: bool) -> alt.LayerChart:
    """A line at the largest value, and its label where it does not meet that of the other."""
    text = f"{name}: {number(value)}"
    rule = (
        chart([{"at": value, "what": text}])
        .mark_rule(color=COLOURS[_ROLES[name]], strokeWidth=1.5, strokeDash=[3, 3])
        .encode(y="at:Q", tooltip=tooltip(largest="what:N"))
    )
    # Curves are low at the right; a label above a low line goes left, for both may be at 0.
    side: Literal["left", "right"] = "right" if below or name == "attack" else "left"
    x = alt.value(0) if side == "left" else alt.value("width")
    place = alt.Y(datum=value, type="quantitative")
    offset = alt.value(11 if below else -9)
    return layered(rule, label(text, side, x=x, y=place, yOffset=offset))


def _dotted(ends: list[Row], y: alt.Y) -> alt.Chart:
    line: alt.Chart = chart(ends).mark_line(color=COLOURS["muted"], strokeDash=[2, 4])
    return line.encode(x="recall:Q", y=y)


def _against_recall(rows: list[Row], y: alt.Y, **shown: str) -> list[Drawing]:
    """One line per guesser in the order of its levels, with what hovering tells."""
    names = [name for name in SERIES if any(row["guesser"] == name for row in rows)]
    placed = [{**row, "series": SERIES[row["guesser"]], "place": i} for i, row in enumerate(rows)]

    def by_guesser(choices: Mapping[str, Any]) -> alt.Scale:
        return alt.Scale(domain=[SERIES[n] for n in names], range=[choices[n] for n in names])

    base = chart(placed).encode(
        x=alt.X(
            "recall:Q",
            title="recall: members found",
            scale=alt.Scale(domain=[0, 1]),
            axis=axis("~%"),
        ),
        y=y,
    )
    colours = {name: COLOURS[role] for name, role in _ROLES.items()}
    lines = base.mark_line(strokeWidth=2, clip=True).encode(
        order="place:Q",
        stroke=alt.Stroke("series:O", scale=by_guesser(colours), legend=legend(size=900)),
        strokeDash=alt.StrokeDash("series:O", scale=by_guesser(_DASHES)),
    )
    told = tooltip(guesser="guesser:N", recall="recall:Q", **shown)
    return [lines, hover(base.encode(tooltip=told), COLOURS["ink"], nearest=False)]


def spreads(repeats: Any) -> list[Row]:
    """Mean, interval and single values of each figure that can be drawn."""
    rows: list[Row] = []
    for key, name in SHORT.items():
        given = entry(repeats, key) if isinstance(repeats, Mapping) else {}
        mean, low, high = (finite(given.get(part)) for part in ("mean", "low", "high"))
        if mean is None or low is None or high is None or not low <= mean <= high:
            continue
        values = thinned([v for v in numbers(given.get("values")) if v is not None])
        rows.append({"figure": name, "mean": mean, "low": low, "high": high, "repeats": values})
    return rows


def repeats(diagnostics: Diagnostics) -> Drawing | None:
    """Each figure in every repeat, with the mean and its t-interval."""
    given = spreads(diagnostics.get("repeats"))
    if not given:
        return None
    rows = [
        {"figure": row["figure"], "high": row["high"]}
        | {key: floor_to(row[key], 3) for key in ("mean", "low")}
        for row in given
    ]
    single = [
        {"figure": row["figure"], "value": floor_to(v, 3)} for row in given for v in row["repeats"]
    ]
    y = alt.Y("figure:N", sort=None, title=None, axis=alt.Axis(labelLimit=130))
    told = tooltip(figure="figure:N", mean="mean:Q", low="low:Q", high="high:Q")
    title = "log-odds (spread over repeats, not a bound)"
    base = chart(rows).encode(y=y, tooltip=told)
    spans = base.mark_rule(color=COLOURS["first"], strokeWidth=3).encode(
        x=alt.X("low:Q", title=title), x2="high:Q"
    )
    means = base.mark_point(
        shape="diamond", size=150, filled=True, opacity=1, color=COLOURS["first"]
    ).encode(x="mean:Q")
    dots = (
        chart(single)
        .mark_point(size=60, strokeWidth=2, color=COLOURS["second"], opacity=1, yOffset=14)
        .encode(x="value:Q", y=y, tooltip=tooltip(figure="figure:N", repeat="value:Q"))
    )
    zero = chart([{"at": 0.0}]).mark_rule(color=COLOURS["muted"]).encode(x="at:Q")
    description = "Mean, t-interval and single values of each figure over the repeats."
    return finish(layered(zero, spans, means, dots), description, height=HEIGHT // 5 * len(given))
