"""The charts of a report: pure functions from ``Result.diagnostics`` to Altair, or to None.

Each function draws what its own key holds and returns None where that is absent. Nothing is
estimated here. Names that came with the data are only ever *values* of fixed fields, never field
names, titles or expressions: Vega would read dots, brackets and quotes in those as code. Every
series differs by dash, shape or place as well as by colour.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt

from divulge.report.drawing import (
    COLOURS,
    HEIGHT,
    Drawing,
    Row,
    axis,
    bins,
    chart,
    colour_scale,
    entry,
    finish,
    hover,
    label,
    layered,
    legend,
    level,
    marker,
    named_apart,
    number,
    numbers,
    one_line,
    pairs,
    tooltip,
)
from divulge.result import floor_to

Diagnostics = Mapping[str, Any]

WORST = 30
"""Features shown in the balance chart."""
LIMIT = 0.1
"""The usual rule of thumb: a standardised difference beyond it is worth a look."""


def overlap_before(diagnostics: Diagnostics) -> Drawing | None:
    """Propensity of members and non-members, all trials."""
    return _overlap(diagnostics, "members", "nonmembers", "before balancing")


def overlap_after(diagnostics: Diagnostics) -> Drawing | None:
    """Propensity of members and non-members, the trials that balancing kept."""
    return _overlap(diagnostics, "members_kept", "nonmembers_kept", "after balancing")


def _overlap(diagnostics: Diagnostics, up: str, down: str, when: str) -> Drawing | None:
    given = entry(diagnostics, "overlap")
    edges = numbers(given.get("edges"))
    sides = ["members", "non-members"]
    rows: list[Row] = []
    for side, key, sign in zip(sides, (up, down), (1, -1), strict=True):
        for low, high, count in zip(edges, edges[1:], numbers(given.get(key)), strict=False):
            if low is not None and high is not None and count is not None:
                place = {"from": low, "to": high, "place": sign * count, "base": 0}
                rows.append({"group": side, "count": count, **place})
    top = 1.3 * max((row["count"] for row in rows), default=0.0)
    if not top:
        return None
    colours = colour_scale(sides, "first", "second")
    solid = alt.Scale(domain=sides, range=[0.9, 0.3])
    counts = alt.Axis(labelExpr="format(abs(datum.value), '~s')", tickCount=6)
    bars = (
        chart(rows)
        .mark_rect(strokeWidth=1)
        .encode(
            x=alt.X("from:Q", title="propensity to be a member", scale=alt.Scale(domain=[0, 1])),
            x2="to:Q",
            y=alt.Y("place:Q", title="records", scale=alt.Scale(domain=[-top, top]), axis=counts),
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
    above = label("members ▲", "left", x=alt.value(0), y=alt.value(10))
    below = label("non-members ▼", "right", x=alt.value("width"), y=alt.value(HEIGHT - 10))
    description = f"Propensity of members and non-members, {when}."
    return finish(layered(bars, zero, above, below), description)


def worst_features(diagnostics: Diagnostics) -> list[Row]:
    """The features that differ most, before or after, each under a name of its own."""
    given = diagnostics.get("balance")
    rows: list[Row] = []
    for item in given if isinstance(given, list | tuple) else ():
        if not isinstance(item, Mapping):
            continue
        before, after = number(item.get("before")), number(item.get("after"))
        if before is not None and after is not None:
            rows.append({"feature": str(item.get("feature")), "before": before, "after": after})
    rows.sort(key=lambda row: -max(abs(row["before"]), abs(row["after"])))
    return named_apart(rows[:WORST], "feature")


def balance(diagnostics: Diagnostics) -> Drawing | None:
    """Standardised mean differences per feature, before and after."""
    features = worst_features(diagnostics)
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
    description = "Difference of members and non-members in each feature, before and after."
    return finish(layered(limits, links, dots), description, height=20 * len(features))


def roc(diagnostics: Diagnostics) -> Drawing | None:
    """The attack's ROC, the proven curve and the claimed one."""
    return _roc(diagnostics, 0.0, alt.Scale(domain=[0, 1]), axis("~%"))


def roc_low(diagnostics: Diagnostics) -> Drawing | None:
    """The same with logarithmic axes, where few non-members are accused."""
    scale = alt.Scale(type="log", domain=[1e-3, 1], clamp=True)
    return _roc(diagnostics, 1e-3, scale, axis("~%", values=[0.001, 0.01, 0.1, 1]))


def _roc(
    diagnostics: Diagnostics, least: float, scale: alt.Scale, ticks: alt.Axis
) -> Drawing | None:
    given = entry(diagnostics, "roc")
    names = ["attack, as measured"]
    curves = [pairs(given.get("fpr"), given.get("tpr"))]
    for key in ("proven", "claimed"):
        curve = entry(given, key)
        words = one_line(str(curve.get("label") or ""))
        names.append(f"{key}: {words}" if words else key)
        curves.append(pairs(curve.get("fpr"), curve.get("tpr")))
    rows: list[Row] = [
        {"curve": names[kind], "kind": kind, "place": place, "accused": x, "recognised": y}
        for kind, points in enumerate(curves)
        for place, (x, y) in enumerate(points)
        if x >= least and y >= least
    ]
    if len(rows) < 2:
        return None
    kinds = sorted({row["kind"] for row in rows})
    shown = [names[kind] for kind in kinds]

    def by_curve(choices: list[Any]) -> alt.Scale:
        return alt.Scale(domain=shown, range=[choices[kind] for kind in kinds])

    base = chart(rows).encode(
        x=alt.X("accused:Q", title="non-members accused", scale=scale, axis=ticks),
        y=alt.Y("recognised:Q", title="members recognised", scale=scale, axis=ticks),
    )
    lines = base.mark_line(clip=True).encode(
        order="place:Q",
        stroke=alt.Stroke(
            "curve:O",
            scale=by_curve([COLOURS["first"], COLOURS["second"], COLOURS["third"]]),
            legend=legend(size=900),
        ),
        strokeDash=alt.StrokeDash("curve:O", scale=by_curve([[1, 0], [9, 4], [8, 3, 2, 3]])),
        strokeWidth=alt.StrokeWidth("curve:O", scale=by_curve([1.75, 3.0, 2.25])),
    )
    hovered = tooltip(curve="curve:N", accused="accused:Q", recognised="recognised:Q")
    points = hover(base.encode(tooltip=hovered), COLOURS["ink"], nearest=False)
    ends = chart([{"accused": v, "recognised": v} for v in (least, 1.0)])
    guessing = ends.mark_line(color=COLOURS["muted"], strokeDash=[2, 4]).encode(
        x="accused:Q", y="recognised:Q"
    )
    description = "Members recognised against non-members accused: measured, proven, claimed."
    return finish(layered(guessing, lines, points), description, height=HEIGHT + 60)


def wealth(diagnostics: Diagnostics) -> Drawing | None:
    """The gambler's wealth over the revealed trials, on a logarithmic scale."""
    given = entry(diagnostics, "wealth")
    points = pairs(given.get("trials"), given.get("wealth"))
    if not points:
        return None
    # A wealth of 0 has no place on a logarithmic scale: it is drawn at the bottom.
    rows = [{"trial": x, "wealth": y, "drawn": max(y, 1e-4)} for x, y in points]
    scale = alt.Scale(type="log", nice=True)
    path = _over_trials(rows, "wealth", alt.Y("drawn:Q", title="wealth", scale=scale))
    goal = number(given.get("goal"))
    lines = [level(goal, f"goal {goal:g}")] if goal is not None and goal > 0 else []
    description = "Wealth of the gambler against the trials revealed."
    return finish(layered(*path, *lines), description)


def running_bound(diagnostics: Diagnostics) -> Drawing | None:
    """The bound on epsilon that would stand if the audit stopped at each trial."""
    given = entry(diagnostics, "wealth")
    points = pairs(given.get("trials"), given.get("epsilon"))
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
    given = entry(diagnostics, "sensitivity")
    points = pairs(given.get("gamma"), given.get("epsilon"))
    if not points:
        return None
    base = chart([{"gamma": x, "epsilon": floor_to(y, 3)} for x, y in points]).encode(
        x=alt.X("gamma:Q", title="error allowed in the log-odds (gamma)"),
        y=alt.Y("epsilon:Q", title="epsilon, at least"),
        tooltip=tooltip(gamma="gamma:Q", epsilon="epsilon:Q"),
    )
    line = base.mark_line(color=COLOURS["first"], strokeWidth=2)
    layers: list[Drawing] = [line, hover(base, COLOURS["first"], nearest=True)]
    star = number(given.get("gamma_star"))
    if star is not None and star > 1.0:
        # Gamma* is an odds ratio; the axis has log-odds.
        at, ends = math.log(star), [x for x, _ in points]
        words = f"odds ratio {star:.3g}"
        layers.append(marker(at, words, min(ends), max(*ends, at)))
    return finish(layered(*layers), "Lower bound on epsilon against the error allowed.")


def bootstrap(diagnostics: Diagnostics) -> Drawing | None:
    """How far the bound moves when the propensity is estimated again."""
    given = entry(diagnostics, "bootstrap")
    values = [v for v in numbers(given.get("values")) if v is not None]
    if not values:
        return None
    rows = bins(values)
    scale = alt.Scale(domain=[0, 1.35 * max(row["count"] for row in rows)])
    bars = (
        chart(rows)
        .mark_rect(fill=COLOURS["first"], opacity=0.8, stroke=COLOURS["paper"], strokeWidth=1)
        .encode(
            x=alt.X("from:Q", title="bound in each repetition", scale=alt.Scale(zero=False)),
            x2="to:Q",
            y=alt.Y("count:Q", title="repetitions", scale=scale, axis=axis("d")),
            y2="base:Q",
            tooltip=tooltip(**{"from": "from:Q", "to": "to:Q", "repetitions": "count:Q"}),
        )
    )
    layers: list[Drawing] = [bars]
    for line, (key, words) in enumerate((("lower", "reported"), ("point", "not resampled"))):
        value = number(given.get(key))
        if value is not None:
            layers.append(marker(value, words, rows[0]["from"], rows[-1]["to"], line=line))
    return finish(layered(*layers), "Histogram of the bound over the repetitions.")


@dataclass(frozen=True)
class Panel:
    """One drawing of a section."""

    name: str
    draw: Callable[[Diagnostics], Drawing | None]
    title: str = ""


@dataclass(frozen=True)
class Section:
    """One key of the diagnostics: its heading, how to read it, and what is drawn."""

    key: str
    title: str
    caption: str
    panels: tuple[Panel, ...]


SECTIONS = (
    Section(
        "overlap",
        "Do the two groups overlap?",
        "Across: how likely a record is to be a member, judged without the model. Bars above the "
        "line count members, bars below count non-members. Where only one side has bars, nothing "
        "can be learned about the model. After balancing, the two sides should mirror each other.",
        (
            Panel("overlap-before", overlap_before, "Before balancing"),
            Panel("overlap-after", overlap_after, "After balancing"),
        ),
    ),
    Section(
        "balance",
        "Are the two groups alike?",
        "One line per feature. The hollow circle is the difference between members and "
        "non-members at first, the filled diamond the difference after balancing. Diamonds "
        f"between the dashed lines (±{LIMIT:g}) are alike by the usual rule of thumb.",
        (Panel("balance", balance),),
    ),
    Section(
        "roc",
        "How well does the attack tell members apart?",
        "Up: the share of members recognised. Across: the share of non-members wrongly accused. "
        "The dotted line is guessing; the further a curve lies above it, the stronger the attack. "
        "Thin solid: the attack as measured. Thick dashed: what the audit proved. If a claimed "
        "curve is drawn and the proven curve runs above it, the claim cannot be true.",
        (
            Panel("roc", roc, "All error rates"),
            Panel("roc-low", roc_low, "Few accused (logarithmic axes)"),
        ),
    ),
    Section(
        "wealth",
        "How did the evidence grow?",
        "A gambler starts with 1 and bets, trial by trial, that nothing leaks. "
        "Were it true, the wealth would seldom reach the dashed goal. The second chart shows the "
        "bound that would stand if the audit had stopped there.",
        (
            Panel("wealth", wealth, "Wealth"),
            Panel("running-bound", running_bound, "Running bound"),
        ),
    ),
    Section(
        "sensitivity",
        "What if the groups were judged wrongly?",
        "Across: how far the judgement of who looks like a member may be off. Up: the bound that "
        "still holds then. The marked odds ratio is the hidden difference between the groups "
        "that would explain the whole finding away: the larger, the safer the finding.",
        (Panel("sensitivity", sensitivity),),
    ),
    Section(
        "bootstrap",
        "How much does the bound depend on the sample?",
        "The judgement of who looks like a member was estimated again on resampled records, and "
        "the bound computed each time. A wide spread means that it depends on chance.",
        (Panel("bootstrap", bootstrap),),
    ),
)
