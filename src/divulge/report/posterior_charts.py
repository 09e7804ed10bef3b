"""The charts of a posterior: region and points, joint density, marginals, priors, the sampler.

As in ``charts``, each function draws what its own key holds, or returns None; nothing is estimated.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    entry,
    finish,
    layered,
    legend,
    named_apart,
    numbers,
    pairs,
    tooltip,
)
from divulge.report.wording import finite

_DASHES = ([7, 4], [1, 0], [2, 3], [8, 3, 2, 3])
_ROLES = ("first", "first", "first", "second")
_PRIORS = 12


def region(diagnostics: Diagnostics) -> Drawing | None:
    """The privacy region's lower boundary at several epsilons, and the observed error rates."""
    given = entry(diagnostics, "region")
    seen = pairs(given.get("false_positive_rate"), given.get("false_negative_rate"))
    points: list[Row] = [{"x": x, "y": y} for x, y in seen]
    if not points:
        return None
    every = given.get("curves")
    curves = [c for c in every if isinstance(c, Mapping)] if isinstance(every, list) else []
    named = named_apart([{"series": str(c.get("label")), "of": c} for c in curves[:4]], "series")
    rows = [
        {"series": row["series"], "x": x, "y": y, "place": i}
        for row in named
        for i, (x, y) in enumerate(pairs(row["of"].get("x"), row["of"].get("y")))
    ]
    unit = alt.Scale(domain=[0, 1])
    x = alt.X("x:Q", title="false positive rate", scale=unit)
    y = alt.Y("y:Q", title="false negative rate", scale=unit)
    names = [row["series"] for row in named]
    colours = [COLOURS[role] for role in _ROLES[: len(names)]]
    dashes = [list(dash) for dash in _DASHES[: len(names)]]
    guess = chart([{"x": 0, "y": 1}, {"x": 1, "y": 0}]).mark_line(
        stroke=COLOURS["muted"], strokeDash=[2, 3]
    ).encode(x=x, y=y)  # fmt: skip
    layers: list[Drawing] = [guess]
    if rows:
        layers.append(
            chart(rows)
            .mark_line(strokeWidth=2)
            .encode(
                x=x,
                y=y,
                order="place:Q",
                stroke=alt.Stroke(
                    "series:N", scale=alt.Scale(domain=names, range=colours), legend=legend(900)
                ),
                strokeDash=alt.StrokeDash("series:N", scale=alt.Scale(domain=names, range=dashes)),
            )
        )
    layers.append(
        chart(points)
        .mark_point(size=55, filled=True, opacity=0.9, color=COLOURS["ink"])
        .encode(x=x, y=y, tooltip=tooltip(**{"false positives": "x:Q", "false negatives": "y:Q"}))
    )
    description = "Observed error rates of the attacks and the region that epsilon allows."
    return finish(layered(*layers), description, height=HEIGHT + 70)


def joint(diagnostics: Diagnostics) -> Drawing | None:
    """Mass of epsilon and strength per cell; a frame marks the highest-density region."""
    given = entry(diagnostics, "joint")
    e, s = numbers(given.get("epsilon_edges")), numbers(given.get("strength_edges"))
    table, marked = given.get("mass"), given.get("inside")
    if not isinstance(table, list) or len(e) < 2 or len(s) < 2 or None in e or None in s:
        return None
    inside = marked if isinstance(marked, list) else []
    rows: list[Row] = []
    for i, line in enumerate(table[: len(e) - 1]):
        for j, mass in enumerate(numbers(line)[: len(s) - 1]):
            if mass is not None and mass > 0.0:
                held = bool(i < len(inside) and j < len(inside[i]) and inside[i][j])
                place = {"from": e[i], "to": e[i + 1], "low": s[j], "high": s[j + 1]}
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
    return _density(diagnostics, "epsilon", "epsilon")


def strength(diagnostics: Diagnostics) -> Drawing | None:
    """Posterior and prior density of the strength."""
    return _density(diagnostics, "strength", "strength of the attacks")


def _density(diagnostics: Diagnostics, key: str, title: str) -> Drawing | None:
    given = entry(entry(diagnostics, "marginals"), key)
    rows = [
        {"series": name, "x": x, "y": y, "place": i}
        for name, of in (("posterior", "density"), ("prior", "prior"))
        for i, (x, y) in enumerate(pairs(given.get("x"), given.get(of)))
    ]
    if not rows:
        return None
    names = ["posterior", "prior"]
    drawing = (
        chart(rows)
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("x:Q", title=title),
            y=alt.Y("y:Q", title="density"),
            order="place:Q",
            stroke=alt.Stroke(
                "series:N",
                scale=alt.Scale(domain=names, range=[COLOURS["first"], COLOURS["second"]]),
                legend=legend(900),
            ),
            strokeDash=alt.StrokeDash(
                "series:N", scale=alt.Scale(domain=names, range=[[1, 0], [7, 4]])
            ),
            tooltip=tooltip(**{"curve": "series:N", title: "x:Q", "density": "y:Q"}),
        )
    )
    return finish(drawing, f"Posterior and prior density of the {title}.")


def prior_rows(value: Any) -> list[Row]:
    """Quantiles of epsilon under each prior, under a name of its own."""
    items = [v for v in value if isinstance(v, Mapping)] if isinstance(value, list) else []
    rows: list[Row] = []
    for item in items[:_PRIORS]:
        quantiles = {q: finite(item.get(q)) for q in ("q05", "q50", "q95")}
        if None not in quantiles.values():
            name = f"{item.get('prior_of_epsilon')}, strength {item.get('prior_of_strength')}"
            rows.append({"prior": name, **quantiles})
    return named_apart(rows, "prior")


def priors(diagnostics: Diagnostics) -> Drawing | None:
    """The 90% interval of epsilon and its median under each prior."""
    rows = prior_rows(diagnostics.get("priors"))
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
    given = entry(diagnostics, "sampler")
    rows: list[Row] = [{"x": x, "y": y} for x, y in pairs(given.get("draw"), given.get("epsilon"))]
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
    given = entry(diagnostics, "sampler")
    names = ["epsilon", "strength"]
    rows = [
        {"series": name, "x": x, "y": y}
        for name, key in zip(names, ("autocorrelation", "autocorrelation_strength"), strict=True)
        for x, y in pairs(given.get("lag"), given.get(key))
    ]
    if not rows:
        return None
    drawing = (
        chart(rows)
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("x:Q", title="lag"),
            y=alt.Y("y:Q", title="autocorrelation"),
            stroke=alt.Stroke(
                "series:N",
                scale=alt.Scale(domain=names, range=[COLOURS["first"], COLOURS["second"]]),
                legend=legend(900),
            ),
            strokeDash=alt.StrokeDash(
                "series:N", scale=alt.Scale(domain=names, range=[[1, 0], [7, 4]])
            ),
        )
    )
    return finish(drawing, "Autocorrelation of the chain of the published sampler.")
