"""How a posterior is shown: region and points, joint density, marginals, priors, the sampler."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from divulge.report.drawing import (
    COLOURS,
    HEIGHT,
    Drawing,
    Row,
    axis,
    chart,
    dotted,
    finish,
    layered,
    named_apart,
    pairs,
    strokes,
    tooltip,
)
from divulge.report.lazy import alt
from divulge.report.presentation import Presentation
from divulge.report.section import Panel, Section, no_table
from divulge.report.wording import LABELS, Words
from divulge.result import Diagnostics
from divulge.result.of_posterior import Density, Joint, OtherPrior

_DASHES = ([7, 4], [1, 0], [2, 3], [8, 3, 2, 3])
_ROLES = ("first", "first", "first", "second")
_PRIORS = 12


def region(diagnostics: Diagnostics) -> Drawing | None:
    """The privacy region's lower boundary at several epsilons, and the observed error rates."""
    given = diagnostics.region
    seen = pairs(given.false_positive_rate, given.false_negative_rate) if given else []
    points: list[Row] = [{"x": x, "y": y} for x, y in seen]
    if given is None or not points:
        return None
    named = named_apart([{"series": c.label, "of": c} for c in given.curves[:4]], "series")
    rows = [
        {"series": row["series"], "x": x, "y": y, "place": i}
        for row in named
        for i, (x, y) in enumerate(pairs(row["of"].x, row["of"].y))
    ]
    unit = alt.Scale(domain=[0, 1])
    x = alt.X("x:Q", title="false-positive rate", scale=unit)
    y = alt.Y("y:Q", title="false-negative rate", scale=unit)
    names = [row["series"] for row in named]
    guess = dotted([{"x": 0, "y": 1}, {"x": 1, "y": 0}], x, y)
    paths = chart(rows).mark_line(strokeWidth=2)
    layers: list[Drawing] = [
        guess,
        paths.encode(x=x, y=y, order="place:Q", **strokes(names, _ROLES, _DASHES)),
    ]
    layers.append(
        chart(points)
        .mark_point(size=55, filled=True, opacity=0.9, color=COLOURS["ink"])
        .encode(
            x=x,
            y=y,
            tooltip=tooltip(**{"false-positive rate": "x:Q", "false-negative rate": "y:Q"}),
        )
    )
    description = "Observed error rates of the attacks and the region that epsilon allows."
    return finish(layered(*layers), description, height=HEIGHT + 70)


def joint(diagnostics: Diagnostics) -> Drawing | None:
    """Mass of epsilon and strength per cell; a frame marks the highest-density region."""
    given = diagnostics.joint
    if given is None:
        return None
    across, up = (list(pairwise(edges)) for edges in (given.epsilon_edges, given.strength_edges))
    rows: list[Row] = []
    for (start, end), line, inside in zip(across, given.mass, given.inside, strict=False):
        for (low, high), mass, held in zip(up, line, inside, strict=False):
            if mass:
                place = {"from": start, "to": end, "low": low, "high": high}
                rows.append({**place, "mass": mass, "held": "yes" if held else "no"})
    if not rows:
        return None
    x = alt.X("from:Q", title="epsilon", scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("low:Q", title="strength", scale=alt.Scale(zero=False, nice=False))
    top = max(row["mass"] for row in rows)
    shade = alt.Scale(domain=[0, top], range=[0.0, 1.0])
    shown = tooltip(
        **{
            "epsilon from": "from:Q", "to": "to:Q", "strength from": "low:Q", "up to": "high:Q",
            "probability": "mass:Q", "in the highest-density region": "held:N",
        }
    )  # fmt: skip
    cells = (
        chart(rows)
        .mark_rect(fill=COLOURS["first"], strokeWidth=0)
        .encode(
            x=x, x2="to:Q", y=y, y2="high:Q", tooltip=shown,
            fillOpacity=alt.FillOpacity("mass:Q", scale=shade, legend=None),
        )
    )  # fmt: skip
    edges = _outline(rows)
    frame = (
        chart(edges)
        .mark_rule(color=COLOURS["second"], strokeWidth=2)
        .encode(x="x:Q", x2="x2:Q", y="y:Q", y2="y2:Q")
    )
    description = "Joint posterior of epsilon and of the attacks' strength."
    return finish(layered(cells, frame) if edges else cells, description, height=HEIGHT + 40)


def _outline(rows: list[Row]) -> list[Row]:
    """The edges between cells inside and cells outside the highest-density region."""
    held = {(r["from"], r["low"]) for r in rows if r["held"] == "yes"}
    starts = {(r["to"], r["low"]) for r in rows if r["held"] == "yes"}
    floors = {(r["from"], r["high"]) for r in rows if r["held"] == "yes"}
    edges: list[Row] = []
    for r in rows:
        if r["held"] != "yes":
            continue
        a, b, low, high = r["from"], r["to"], r["low"], r["high"]
        if (a, low) not in starts:
            edges.append({"x": a, "x2": a, "y": low, "y2": high})
        if (b, low) not in held:
            edges.append({"x": b, "x2": b, "y": low, "y2": high})
        if (a, low) not in floors:
            edges.append({"x": a, "x2": b, "y": low, "y2": low})
        if (a, high) not in held:
            edges.append({"x": a, "x2": b, "y": high, "y2": high})
    return edges


def epsilon(diagnostics: Diagnostics) -> Drawing | None:
    """Posterior and prior density of epsilon."""
    given = diagnostics.marginals
    return None if given is None else _density(given.epsilon, "epsilon")


def strength(diagnostics: Diagnostics) -> Drawing | None:
    """Posterior and prior density of the strength."""
    given = diagnostics.marginals
    own = None if given is None else given.strength
    return None if own is None else _density(own, "strength of the attacks")


def _density(given: Density, title: str) -> Drawing | None:
    rows = [
        {"series": name, "x": x, "y": y, "place": i}
        for name, series in (("posterior", given.density), ("prior", given.prior))
        for i, (x, y) in enumerate(pairs(given.x, series))
    ]
    if not rows:
        return None
    lines = chart(rows).mark_line(strokeWidth=2)
    drawing = lines.encode(
        x=alt.X("x:Q", title=title),
        y=alt.Y("y:Q", title="density"),
        order="place:Q",
        tooltip=tooltip(**{"curve": "series:N", title: "x:Q", "density": "y:Q"}),
        **strokes(["posterior", "prior"], ("first", "second"), ([1, 0], [7, 4])),
    )
    return finish(drawing, f"Posterior and prior density of the {title}.")


def prior_rows(priors: tuple[OtherPrior, ...]) -> list[Row]:
    """Quantiles of epsilon under each prior, under a name of its own."""
    rows: list[Row] = [
        {"prior": f"{p.prior_of_epsilon}, strength {p.prior_of_strength}"}
        | {"q05": p.q05, "q50": p.q50, "q95": p.q95}
        for p in priors[:_PRIORS]
    ]
    return named_apart([row for row in rows if None not in row.values()], "prior")


def priors(diagnostics: Diagnostics) -> Drawing | None:
    """The 90% interval of epsilon and its median under each prior."""
    rows = prior_rows(diagnostics.priors or ())
    if len(rows) < 2:
        return None
    y = alt.Y("prior:N", sort=None, title=None, axis=alt.Axis(labelLimit=220, grid=True))
    shown = tooltip(prior="prior:N", **{"5%": "q05:Q", "median": "q50:Q", "95%": "q95:Q"})
    bars = (
        chart(rows)
        .mark_rule(strokeWidth=4, color=COLOURS["first"], opacity=0.6)
        .encode(x=alt.X("q05:Q", title="epsilon"), x2="q95:Q", y=y, tooltip=shown)
    )
    dots = (
        chart(rows)
        .mark_point(size=70, filled=True, opacity=1, color=COLOURS["ink"])
        .encode(x="q50:Q", y=y, tooltip=shown)
    )
    description = "Median and 90% interval of epsilon under each prior."
    return finish(layered(bars, dots), description, height=30 + 26 * len(rows))


def trace(diagnostics: Diagnostics) -> Drawing | None:
    """Epsilon along the first chain."""
    given = diagnostics.sampler
    points = pairs(given.draw, given.epsilon) if given else []
    rows: list[Row] = [{"x": x, "y": y} for x, y in points]
    if not rows:
        return None
    drawing = (
        chart(rows)
        .mark_line(strokeWidth=1, color=COLOURS["first"])
        .encode(
            x=alt.X("x:Q", title="draw", axis=axis("~s")),
            y=alt.Y("y:Q", title="epsilon", scale=alt.Scale(zero=False)),
        )
    )
    return finish(drawing, "Epsilon along the chain of the published sampler.")


def autocorrelation(diagnostics: Diagnostics) -> Drawing | None:
    """How long the chain remembers."""
    given = diagnostics.sampler
    if given is None:
        return None
    series = {"epsilon": given.autocorrelation, "strength": given.autocorrelation_strength}
    rows = [
        {"series": name, "x": x, "y": y}
        for name, own in series.items()
        for x, y in pairs(given.lag, own)
    ]
    lines = chart(rows).mark_line(strokeWidth=2)
    drawing = lines.encode(
        x=alt.X("x:Q", title="lag"),
        y=alt.Y("y:Q", title="autocorrelation"),
        **strokes(list(series), ("first", "second"), ([1, 0], [7, 4])),
    )
    return finish(drawing, "Autocorrelation of the chain of the published sampler.")


def _joint_facts(given: Joint) -> dict[str, Any]:
    return {"probability of the framed region": given.level}


PRESENTATION = Presentation(
    question=(
        "How well can an observer tell models trained with a record from models trained without it?"
    ),
    words=Words(
        yes="models trained with the record",
        no="models trained without it",
        each="a model",
        one="trained with the record",
        taken="taken for trained with the record",
        happened="the record was used",
        tell_apart="tell models trained with a record from models trained without it",
        judgement="prior",
        doubt="the priors are wrong",
        hidden="error of the prior",
    ),
    labels={
        **LABELS,
        "attacks": "attacks (pairs of dataset and record)",
        "correlation_mean": "correlation of false positives and false negatives, posterior mean",
        "correlation_sd": (
            "correlation of false positives and false negatives, posterior standard deviation"
        ),
        "correlation_within_groups": "correlation of decisions within a group",
        "false_negative_rate": "false-negative rate",
        "false_positive_rate": "false-positive rate",
        "highest_density": "highest-density region",
        "if_strongest_attack": "epsilon if every attack were the strongest possible (strength 1)",
        "negatives": "models trained without the record",
        "positives": "models trained with the record",
        "q05": "5% quantile",
        "q50": "median",
        "q95": "95% quantile",
        "sampler": "the published sampler",
        "strength": "strength of the attacks (0: anything allowed, 1: the strongest possible)",
        "tau_mean": "correlation of two decisions (tau), posterior mean",
        "tau_sd": "correlation of two decisions (tau), posterior standard deviation",
    },
    checks={
        "predictive": (
            "Do the counts look like the model's?",
            "Tables of counts were drawn from the posterior. A probability near 0 means that "
            "the observed value would be unusual among them: the attacks are then not spread "
            "evenly over the region, as the model of the posterior assumes. The bounds do not "
            "rest on that model.",
        ),
    },
    sections=(
        Section(
            "region",
            "Where do the attacks lie?",
            "Each point is one attack. Across: its false-positive rate, on models trained "
            "without the record. Up: its false-negative rate, on models trained with it. An "
            "algorithm with a given epsilon allows no attack below its line. The dotted line is "
            "guessing. The line of the weakest attack is where, by the median strength, the "
            "attacks' own spread ends.",
            (Panel("region", region),),
            numbers=no_table,
        ),
        Section(
            "joint",
            "Which epsilon and strength go together?",
            "The darker, the more probable. Strong attacks need no more epsilon than they show; "
            "weak ones leave room for more. The frame is the highest-density region.",
            (Panel("joint", joint),),
            facts=_joint_facts,
            numbers=no_table,
        ),
        Section(
            "marginals",
            "What is the posterior of each alone?",
            "Where the posterior follows the prior, the counts say little.",
            (
                Panel("density-epsilon", epsilon, "epsilon"),
                Panel("density-strength", strength, "strength"),
            ),
            numbers=no_table,
        ),
        Section(
            "priors",
            "What if the priors were others?",
            "The same counts under other priors: the bar is the 90% interval of epsilon, the dot "
            "its median. The first line is the one that was used.",
            (Panel("priors", priors),),
            numbers=prior_rows,
            names=True,
        ),
        Section(
            "sampler",
            "Does the published sampler agree?",
            "Left: epsilon along its chain; it should wander quickly through its whole range. "
            "Right: how long the chain remembers; the slower the fall, the fewer draws count.",
            (
                Panel("trace", trace, "Trace"),
                Panel("autocorrelation", autocorrelation, "Autocorrelation"),
            ),
            numbers=no_table,
        ),
    ),
)
