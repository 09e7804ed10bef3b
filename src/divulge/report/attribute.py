"""How the attribute game is shown: the proxy, the draws, and what an error of the proxy costs."""

from __future__ import annotations

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
    known,
    layered,
    lines,
    named_apart,
    pairs,
    tooltip,
)
from divulge.report.lazy import alt
from divulge.report.presentation import Presentation
from divulge.report.section import ROWS, Panel, Section, scalars, short
from divulge.report.sections import shared_sections
from divulge.report.wording import CHECKS, LABELS, Advice, Words, number, percent
from divulge.result import Diagnostics, floor_to
from divulge.result.form import Number, Series
from divulge.result.of_values import Budget, Proxy, Repetitions

SERIES = 3
"""Models in the calibration chart."""
BARS = 20
"""Models in the chart of log-losses."""

WORDS = Words(
    yes="true values",
    no="other values",
    each="a value of the pair",
    one="a true value",
    taken="taken for true",
    happened="the value is the true one",
    tell_apart="tell true values from others",
    judgement="proxy",
    doubt="the proxy is wrong",
    hidden="error of the proxy",
)


def agreement(proxy: Proxy) -> str:
    """What is said of trials that carry no information."""
    return (
        f"A value drawn from the proxy would be the true one in {percent(proxy.agreement, 1)} of "
        "the records; in the published game these trials carry no information."
    )


def replays(given: Repetitions) -> str:
    """What all replays prove together; empty if nothing."""
    drawn = (("epsilon", given.combined_epsilon if given.epsilon else None),)
    found = (*drawn, ("mu", given.combined_mu))
    parts = [f"{name} at least {number(value)}" for name, value in found if value is not None]
    if not parts:
        return ""
    return f"{given.count} draws combined: {' and '.join(parts)}. A mean over draws is not a bound."


def remarks(diagnostics: Diagnostics) -> tuple[str, ...]:
    """The last two lines of the terminal."""
    return (
        agreement(diagnostics.proxy) if diagnostics.proxy else "",
        replays(diagnostics.repetitions) if diagnostics.repetitions else "",
    )


def calibrated(proxy: Proxy) -> list[Row]:
    """The points of the calibration chart; the proxy and the target first, then what else came."""
    given = proxy.calibration
    first = [name for name in ("target", "proxy") if name in given]
    names = [*first, *(name for name in given if name not in first)]
    found = [{"series": name, "points": given[name]} for name in names if given[name]]
    named = named_apart(found[:SERIES], "series")
    return [
        {"series": row["series"], **point.to_json()}
        for row in named
        for point in sorted(row["points"], key=lambda p: p.predicted)
    ]


def calibration(diagnostics: Diagnostics) -> Drawing | None:
    """The share observed against the probability predicted, for the proxy and for the target."""
    given = calibrated(diagnostics.proxy) if diagnostics.proxy else []
    rows = [{**row, "place": i} for i, row in enumerate(given)]
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
    ends = [{"predicted": v, "observed": v} for v in (0.0, 1.0)]
    right = dotted(ends, "predicted:Q", "observed:Q")
    description = "Share observed against the probability predicted, by model."
    return finish(layered(right, *drawn), description, height=HEIGHT + 60)


def losses(proxy: Proxy) -> list[Row]:
    """The log-losses that are known, each under a name of its own."""
    rows = [{"model": name, "value": v} for name, v in proxy.log_loss.items() if v is not None]
    return named_apart(rows[:BARS], "model")


def log_loss(diagnostics: Diagnostics) -> Drawing | None:
    """One bar with its number per model."""
    rows = losses(diagnostics.proxy) if diagnostics.proxy else []
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
    """The bound on epsilon in every draw of coins."""
    given = diagnostics.repetitions
    return None if given is None else _replays("epsilon", given.epsilon, given.combined_epsilon)


def replays_mu(diagnostics: Diagnostics) -> Drawing | None:
    """The bound on mu in every draw of pairs, or of coins."""
    given = diagnostics.repetitions
    return None if given is None else _replays("mu", given.mu, given.combined_mu)


def _replays(parameter: str, series: Series, combined: Number) -> Drawing | None:
    values = known(series)
    if not values:
        return None
    marks = []
    if combined is not None:
        marks.append((floor_to(combined, 3), f"the bound: {number(combined)}"))
    drawing = histogram(values, f"{parameter} in each draw", "draws", marks)
    return finish(drawing, f"Histogram of {parameter} over the draws; the bound is marked.")


def tau(diagnostics: Diagnostics) -> Drawing | None:
    """The bounds against the total variation allowed to the proxy, on a logarithmic axis."""
    # A budget of 0 has no place on a logarithmic axis: the section says it in words.
    given = sorted((b for b in diagnostics.tau or () if b.tau), key=lambda b: b.tau)
    places = tuple(b.tau for b in given)
    rows: list[Row] = []
    for name, values in (
        ("epsilon", tuple(b.epsilon for b in given)),
        ("mu", tuple(b.mu for b in given)),
    ):
        for x, y in pairs(places, values):
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


def _proxy_facts(proxy: Proxy) -> dict[str, Any]:
    """What is not drawn; the agreement is a sentence of the caption."""
    facts = {k: v for k, v in scalars(proxy).items() if k != "agreement"}
    return {"what is audited" if k == "value" else k: v for k, v in facts.items()}


def _proxy_numbers(proxy: Proxy) -> Any:
    points = [
        {("model" if k == "series" else k): v for k, v in row.items()} for row in calibrated(proxy)
    ]
    table = [{"model": row["model"], "log-loss": row["value"]} for row in losses(proxy)]
    tables = {"Calibration": points if len(points) <= ROWS else [], "Log-loss": table}
    return {k: v for k, v in tables.items() if v} or None


def _without_error(budgets: tuple[Budget, ...]) -> str:
    """The bounds for a proxy without error, which a logarithmic axis cannot show."""
    for none in (b for b in budgets if b.tau == 0.0):
        found = (("epsilon", none.epsilon), ("mu", none.mu))
        parts = [f"{name} {number(value)}" for name, value in found if value is not None]
        return f"For a proxy without error: {' and '.join(parts)}." if parts else ""
    return ""


def _replay_facts(repetitions: Repetitions) -> dict[str, Any]:
    facts = scalars(repetitions)
    return {"draws" if k == "count" else k: v for k, v in facts.items()}


_PROXY = Section(
    "proxy",
    "How good is the proxy?",
    "The proxy is a model of the value that knows the record alone; the target is the model under "
    "audit. "
    "Calibration: the observed share of true values among those that a model gave some "
    "probability; on the dotted line the two are equal. Log-loss: how badly a model predicts "
    "the true values; the smaller, the better. A target that beats the proxy on held-out "
    "records too shows that the proxy could be better.",
    (
        Panel("calibration", calibration, "Calibration"),
        Panel("log-loss", log_loss, "Log-loss"),
    ),
    note=agreement,
    facts=_proxy_facts,
    numbers=_proxy_numbers,
)
_COLUMNS = Section(
    "columns",
    "What does the model give away of each column?",
    "The error is shared by the columns, so that all bounds hold together. Charts and measurements "
    "below are those of the column with the largest bound.",
    (),
    numbers=short,
)
_TAU = Section(
    "tau",
    "How much error of the proxy does the bound tolerate?",
    "Of the published game, in which a coin shows the true value or one drawn from the proxy. "
    "Across: how far, in total variation, the proxy is allowed to lie from the values' true "
    "distribution. "
    "Up: the bounds that hold then. They hold only if the proxy is at least that close, which the "
    "data cannot prove.",
    (Panel("tau", tau),),
    note=_without_error,
    numbers=short,
)
_REPLAYS = Section(
    "repetitions",
    "What do other draws give?",
    "Each value is a bound from one draw of pairs (of coins in the published form), at the full "
    "error. Their mean and spread is what the paper's tables show; it is not the bound. The bound "
    "combines the evidence of all draws, and is marked. Bets are placed on the values themselves: "
    "nothing of them is drawn.",
    (
        Panel("replays-epsilon", replays_epsilon, "epsilon"),
        Panel("replays-mu", replays_mu, "mu"),
    ),
    facts=_replay_facts,
)

PRESENTATION = Presentation(
    advice=Advice(
        explained=True,
        settle="bring held-out records with their true labels, or a proxy that is known to be "
        "right; or draw values at random before the next training run (divulge lineup)",
        open="Bring held-out records with their true labels, more records or a better proxy.",
    ),
    question=(
        "Does the model give away the label, or a protected column, of the records it was "
        "trained on, beyond what the rest of the record reveals anyway?"
    ),
    words=WORDS,
    labels={
        **LABELS,
        "allowance_epsilon": "deducted from epsilon for errors of the proxy",
        "allowance_mu": "deducted from mu for errors of the proxy",
        "c_lb": "given away without the model (c, at least)",
        "c_plus_epsilon_lb": "given away with the model and without (c + epsilon, at least)",
        "bets": "records whose value was bet on",
        "drawn": "drawn values shown",
        "pairs": "pairs of a record's own value and another one",
        "void": "records for which no pair was drawn",
        "left_out": "records with a rare value, left out",
        "epsilon_tilde": "epsilon less what is given away without the model (a measurement, not a "
        "bound)",
        "negative_control_epsilon": "epsilon of the negative control (held-out records)",
        "real": "true values shown",
    },
    checks={
        **CHECKS,
        "blind": (
            "What is given away without the model?",
            "A blind baseline, a learner that sees the record and the value shown but not the "
            "model, tries to tell true values from drawn ones: what it achieves is an error of "
            "the proxy, not a leak; 0 is best.",
        ),
        "negative_control": (
            "Negative control: does the audit find anything on held-out records?",
            "The same audit on held-out records, which the model never saw. Anything above 0 is an "
            "error of the proxy, not a leak.",
        ),
    },
    sections=shared_sections(WORDS, groups=(_COLUMNS, _PROXY), doubts=(_TAU, _REPLAYS)),
    remarks=remarks,
)
