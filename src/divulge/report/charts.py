"""The charts that games share: pure functions from ``Result.diagnostics`` to Altair, or to None.

Each function draws what its own record holds and returns None where that is absent. Nothing is
estimated here. Names that came with the data are only ever *values* of fixed fields, never field
names, titles or expressions: Vega would read dots, brackets and quotes in those as code. Every
series differs by dash, shape or place as well as by colour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from divulge.report.drawing import (
    COLOURS,
    HEIGHT,
    Drawing,
    Row,
    axis,
    chart,
    colour_scale,
    dotted,
    finish,
    histogram,
    hover,
    known,
    label,
    layered,
    legend,
    level,
    marker,
    named_apart,
    pairs,
    strokes,
    tooltip,
)
from divulge.report.lazy import alt
from divulge.report.wording import Words, number
from divulge.result import Diagnostics, floor_to, shared
from divulge.result.form import Counts
from divulge.text.visible import one_line

WORST = 30
"""Features shown in the balance chart."""
LIMIT = 0.1
"""The usual rule of thumb: a standardised difference beyond it is worth a look."""


def overlap_before(diagnostics: Diagnostics, words: Words) -> Drawing | None:
    """Propensity of members and non-members, all trials."""
    given = diagnostics.overlap
    return (
        None
        if given is None
        else _overlap(given, words, given.members, given.nonmembers, "before balancing")
    )


def overlap_after(diagnostics: Diagnostics, words: Words) -> Drawing | None:
    """Propensity of members and non-members, the trials that balancing kept."""
    given = diagnostics.overlap
    return (
        None
        if given is None
        else _overlap(given, words, given.members_kept, given.nonmembers_kept, "after balancing")
    )


def _overlap(
    given: shared.Overlap, words: Words, up: Counts, down: Counts, when: str
) -> Drawing | None:
    edges = known(given.edges)
    sides = [words.yes, words.no]
    rows: list[Row] = []
    for side, counts, sign in zip(sides, (up, down), (1, -1), strict=True):
        for low, high, count in zip(edges, edges[1:], counts, strict=False):
            place = {"from": low, "to": high, "place": sign * count, "base": 0}
            rows.append({"group": side, "count": count, **place})
    top = 1.3 * max((row["count"] for row in rows), default=0.0)
    if len({row["from"] for row in rows if row["count"]}) < 2:  # one propensity for everybody
        return None
    colours = colour_scale(sides, "first", "second")
    solid = alt.Scale(domain=sides, range=[0.9, 0.3])
    ticks = alt.Axis(labelExpr="format(abs(datum.value), '~s')", tickCount=6)
    bars = (
        chart(rows)
        .mark_rect(strokeWidth=1)
        .encode(
            x=alt.X(
                "from:Q", title=f"propensity to be {words.one}", scale=alt.Scale(domain=[0, 1])
            ),
            x2="to:Q",
            y=alt.Y("place:Q", title="records", scale=alt.Scale(domain=[-top, top]), axis=ticks),
            y2="base:Q",
            fill=alt.Fill("group:O", scale=colours, legend=None),
            stroke=alt.Stroke("group:O", scale=colours, legend=None),
            fillOpacity=alt.FillOpacity("group:O", scale=solid, legend=None),
            tooltip=tooltip(
                **{"group": "group:N", "from": "from:Q", "to": "to:Q", "records": "count:Q"}
            ),
        )
    )
    zero = chart([{"y": 0}]).mark_rule(color=COLOURS["ink"]).encode(y="y:Q")
    above = label(f"{words.yes} ▲", "left", x=alt.value(0), y=alt.value(10))
    below = label(f"{words.no} ▼", "right", x=alt.value("width"), y=alt.value(HEIGHT - 10))
    description = f"Propensity of {words.yes} and {words.no}, {when}."
    return finish(layered(bars, zero, above, below), description)


def worst_features(features: Sequence[shared.Balance]) -> list[Row]:
    """The features that differ most, before or after, each under a name of its own."""
    rows = [f.to_json() for f in features if f.before is not None and f.after is not None]
    rows.sort(key=lambda row: -max(abs(row["before"]), abs(row["after"])))
    return named_apart(rows[:WORST], "feature")


def balance(diagnostics: Diagnostics, words: Words) -> Drawing | None:
    """Standardised mean differences per feature, before and after."""
    features = worst_features(diagnostics.balance or ())
    if not features:
        return None
    stages = ["before", "after"]
    rows = [{"stage": stage, "value": f[stage], **f} for f in features for stage in stages]
    y = alt.Y("feature:N", sort=None, title=None, axis=alt.Axis(labelLimit=130, grid=True))
    shapes = alt.Scale(domain=stages, range=["circle", "diamond"])
    dots = (
        chart(rows)
        .mark_point(size=75, strokeWidth=2, opacity=1)
        .encode(
            x=alt.X("value:Q", title="standardised mean difference"),
            y=y,
            shape=alt.Shape("stage:N", scale=shapes, legend=legend()),
            stroke=alt.Stroke("stage:N", scale=colour_scale(stages, "second", "first")),
            fill=alt.Fill("stage:N", scale=colour_scale(stages, "paper", "first")),
            tooltip=tooltip(feature="feature:N", before="before:Q", after="after:Q"),
        )
    )
    links = (
        chart(list(features))
        .mark_rule(color=COLOURS["muted"], opacity=0.6)
        .encode(x="before:Q", x2="after:Q", y=y)
    )
    dash = alt.condition("datum.limit == 0", alt.value([1, 0]), alt.value([5, 4]))
    limits = (
        chart([{"limit": -LIMIT}, {"limit": 0.0}, {"limit": LIMIT}])
        .mark_rule(color=COLOURS["ink"])
        .encode(x="limit:Q", strokeDash=dash)
    )
    description = f"Difference of {words.yes} and {words.no} in each feature, before and after."
    return finish(layered(limits, links, dots), description, height=20 * len(features))


def roc(diagnostics: Diagnostics, words: Words) -> Drawing | None:
    """The attack's ROC in both directions, the proven curve and the claimed one."""
    return _roc(diagnostics, words, 0.0, alt.Scale(domain=[0, 1]), axis("~%"))


def roc_low(diagnostics: Diagnostics, words: Words) -> Drawing | None:
    """The same with logarithmic axes, where false positives are few."""
    scale = alt.Scale(type="log", domain=[1e-3, 1], clamp=True)
    return _roc(diagnostics, words, 1e-3, scale, axis("~%", values=[0.001, 0.01, 0.1, 1]))


def _roc(
    diagnostics: Diagnostics, words: Words, least: float, scale: alt.Scale, ticks: alt.Axis
) -> Drawing | None:
    given = diagnostics.roc or shared.RocRecord()
    names = ["attack, as measured", f"the same attack, guessing {words.no}"]
    measured = pairs(given.fpr, given.tpr)
    curves = [measured, _other_way(measured)]
    for key, curve in (("proven", given.proven), ("claimed", given.claimed)):
        named = one_line(curve.label) if curve else ""
        names.append(f"{key}: {named}" if named else key)
        curves.append(pairs(curve.fpr, curve.tpr) if curve else [])
    rows: list[Row] = [
        {
            "curve": names[kind],
            "kind": kind,
            "place": place,
            "fpr": x,
            "tpr": floor_to(y, 6),
        }
        for kind, points in enumerate(curves)
        for place, (x, y) in enumerate(points)
        if x >= least and y >= least
    ]
    if len(rows) < 2:
        return None
    kinds = sorted({row["kind"] for row in rows})
    shown = [names[kind] for kind in kinds]

    def of_each(choices: list[Any]) -> list[Any]:
        return [choices[kind] for kind in kinds]

    base = chart(rows).encode(
        x=alt.X("fpr:Q", title="false-positive rate", scale=scale, axis=ticks),
        y=alt.Y("tpr:Q", title="true-positive rate", scale=scale, axis=ticks),
    )
    lines = base.mark_line(clip=True).encode(
        order="place:Q",
        strokeWidth=alt.StrokeWidth(
            "curve:O", scale=alt.Scale(domain=shown, range=of_each([1.75, 1.75, 3.0, 2.25]))
        ),
        **strokes(
            shown,
            of_each(["first", "first", "second", "third"]),
            of_each([[1, 0], [2, 3], [9, 4], [8, 3, 2, 3]]),
            "curve:O",
        ),
    )
    hovered = tooltip(
        **{"curve": "curve:N", "false-positive rate": "fpr:Q", "true-positive rate": "tpr:Q"}
    )
    points = hover(base.encode(tooltip=hovered), COLOURS["ink"], nearest=False)
    ends = [{"fpr": v, "tpr": v} for v in (least, 1.0)]
    guessing = dotted(ends, "fpr:Q", "tpr:Q")
    rates = f"True-positive rate ({words.yes}) against false-positive rate ({words.no})"
    description = f"{rates}: measured in both directions, proven, claimed."
    return finish(layered(guessing, lines, points), description, height=HEIGHT + 60)


def _other_way(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The ROC of the opposite guesses: who is let go at a threshold is guessed to be a no.

    The share of noes that are let go stands up, the share of yeses across.
    """
    return [(floor_to(1.0 - y, 12), floor_to(1.0 - x, 12)) for x, y in reversed(points)]


def wealth(diagnostics: Diagnostics) -> Drawing | None:
    """The bettor's wealth over the revealed trials, on a logarithmic scale."""
    given = diagnostics.wealth or shared.Wealth()
    points = pairs(given.trials, given.wealth)
    if not points:
        return None
    # A wealth of 0 has no place on a logarithmic scale: it is drawn at the bottom.
    rows = [{"trial": x, "wealth": y, "drawn": max(y, 1e-4)} for x, y in points]
    scale = alt.Scale(type="log", nice=True)
    path = _over_trials(rows, "wealth", alt.Y("drawn:Q", title="wealth", scale=scale))
    lines = [level(given.goal, f"threshold {given.goal:g}")] if given.goal else []
    description = "Wealth of the bettor against the trials revealed."
    return finish(layered(*path, *lines), description)


def running_bound(diagnostics: Diagnostics) -> Drawing | None:
    """The bound on epsilon that would stand if the audit stopped at each trial."""
    given = diagnostics.wealth or shared.Wealth()
    points = pairs(given.trials, given.epsilon)
    if not points:
        return None
    rows = [{"trial": x, "epsilon": floor_to(y, 3)} for x, y in points]
    path = _over_trials(rows, "epsilon", alt.Y("epsilon:Q", title="epsilon, at least"))
    return finish(layered(*path), "Lower bound on epsilon against the trials revealed.")


def _over_trials(rows: list[Row], name: str, y: alt.Y) -> tuple[alt.Chart, alt.Chart]:
    base = chart(rows).encode(
        x=alt.X("trial:Q", title="trials revealed", axis=axis(",d"), scale=alt.Scale(nice=False)),
        y=y,
        tooltip=tooltip(**{"trial": "trial:Q", name: f"{name}:Q"}),
    )
    line = base.mark_line(color=COLOURS["first"], strokeWidth=2, interpolate="step-after")
    return line, hover(base, COLOURS["first"], nearest=True)


def sensitivity(diagnostics: Diagnostics) -> Drawing | None:
    """The bound on epsilon against the error allowed in the log-odds."""
    given = diagnostics.sensitivity
    points = pairs(given.gamma, given.epsilon) if given else []
    if given is None or not points:
        return None
    base = chart([{"gamma": x, "epsilon": floor_to(y, 3)} for x, y in points]).encode(
        x=alt.X("gamma:Q", title="error allowed in the log-odds (gamma)"),
        y=alt.Y("epsilon:Q", title="epsilon, at least"),
        tooltip=tooltip(gamma="gamma:Q", epsilon="epsilon:Q"),
    )
    line = base.mark_line(color=COLOURS["first"], strokeWidth=2)
    layers: list[Drawing] = [line, hover(base, COLOURS["first"], nearest=True)]
    star = given.gamma_star
    if star is not None and star > 1.0:
        # Gamma* is an odds ratio; the axis has log-odds.
        at, ends = math.log(star), [x for x, _ in points]
        layers.append(marker(at, f"odds ratio {number(star)}", min(ends), max(*ends, at)))
    return finish(layered(*layers), "Lower bound on epsilon against the error allowed.")


def bootstrap(diagnostics: Diagnostics) -> Drawing | None:
    """How far the bound moves when the propensity is estimated again."""
    given = diagnostics.bootstrap
    values = known(given.values) if given else []
    if given is None or not values:
        return None
    marks = [(given.lower, "reported"), (given.point, "not resampled")]
    drawing = histogram(values, "bound in each resample", "resamples", marks)
    return finish(drawing, "Histogram of the bound over the resamples.")
