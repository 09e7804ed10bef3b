"""What the page shows of each diagnostic that has charts, in the words of the game."""

from __future__ import annotations

from functools import partial
from typing import Any

from divulge.report import (
    attribute_charts,
    charts,
    leakage_charts,
    leakage_words,
    synthetic_charts,
    synthetic_words,
    wording,
)
from divulge.report.posterior_sections import posterior_sections
from divulge.report.section import ROWS, Panel, Section, scalars
from divulge.report.wording import Words


def sections(words: Words) -> tuple[Section, ...]:
    """Every section, in the order of the page; those of a posterior where there can be one."""
    return (
        *(_synthetic() if words is wording.SYNTHETIC else ()),
        *(_leakage() if words is wording.LEAKAGE else ()),
        Section(
            "overlap",
            "Do the two groups overlap?",
            f"Across: how likely {words.each} is to be {words.one}, judged without the model. Bars "
            f"above the line count {words.yes}, bars below count {words.no}. Where only one side "
            "has bars, nothing can be learned about the model. After balancing, the two sides "
            "should mirror each other.",
            (
                Panel("overlap-before", partial(charts.overlap_before, words=words),
                      "Before balancing"),
                Panel("overlap-after", partial(charts.overlap_after, words=words),
                      "After balancing"),
            ),
        ),
        Section(
            "balance",
            "Are the two groups alike?",
            "One line per feature. The hollow circle is the difference between "
            f"{words.yes} and {words.no} at first, the filled diamond the difference after "
            f"balancing. Diamonds between the dashed lines (±{charts.LIMIT:g}) are alike by the "
            "usual rule of thumb.",
            (Panel("balance", partial(charts.balance, words=words)),),
            note=_worst,
            numbers=charts.worst_features,
            names=True,
        ),
        Section(
            "proxy",
            "How good is the proxy?",
            "The proxy is the model that values are drawn from; the target is the model under "
            "audit. Calibration: of all the values that a model gave some probability, the share "
            "that turned out true; on the dotted line the two are equal. Log-loss: how badly a "
            "model predicts the true values, the smaller the better. A target that beats the "
            "proxy on held-out records too shows that the proxy could be better.",
            (
                Panel("calibration", attribute_charts.calibration, "Calibration"),
                Panel("log-loss", attribute_charts.log_loss, "Log-loss"),
            ),
            note=wording.agreement,
            facts=_proxy_facts,
            numbers=_proxy_numbers,
        ),
        Section(
            "roc",
            f"How well does the attack {words.tell_apart}?",
            f"Up: the share of {words.yes} recognised. Across: the share of {words.no} wrongly "
            f"{words.taken}. The dotted line is guessing; the further a curve lies above it, the "
            "stronger the attack. Thin solid: the attack as measured. Thick dashed: what the audit "
            "proved. If a claimed curve is drawn and the proven curve runs above it, the claim "
            "cannot be true.",
            (
                Panel("roc", partial(charts.roc, words=words), "All error rates"),
                Panel("roc-low", partial(charts.roc_low, words=words),
                      f"Few {words.taken} (logarithmic axes)"),
            ),
        ),
        Section(
            "wealth",
            "How did the evidence grow?",
            "A gambler starts with 1 and bets, trial by trial, that nothing leaks. "
            "Were it true, the wealth would seldom reach the dashed goal. The second chart shows "
            "the bound that would stand if the audit had stopped there.",
            (
                Panel("wealth", charts.wealth, "Wealth"),
                Panel("running-bound", charts.running_bound, "Running bound"),
            ),
        ),
        Section(
            "sensitivity",
            f"What if {words.doubt}?",
            f"Across: how far the {words.judgement} may be off. Up: the bound that still holds "
            f"then. The marked odds ratio is the {words.hidden} that would explain the whole "
            "finding away: the larger, the safer the finding.",
            (Panel("sensitivity", charts.sensitivity),),
        ),
        Section(
            "tau",
            "How much error of the proxy does the bound bear?",
            "Across: how far, in total variation, the proxy is allowed to lie from the values' "
            "true distribution. Up: the bounds that hold then. They hold only if the proxy is at "
            "least that close, which the data cannot prove.",
            (Panel("tau", attribute_charts.tau),),
            note=_without_error,
            numbers=_short_budgets,
        ),
        Section(
            "repetitions",
            "What do other coin flips give?",
            "Each value is a bound from one replay of the coin flips, at the full error. Their "
            "mean and spread is what the paper's tables show; it is not the bound. The bound "
            "combines the evidence of all replays, and is marked.",
            (
                Panel("replays-epsilon", attribute_charts.replays_epsilon, "epsilon"),
                Panel("replays-mu", attribute_charts.replays_mu, "mu"),
            ),
            facts=_replay_facts,
        ),
        Section(
            "bootstrap",
            "How much does the bound depend on the sample?",
            f"The {words.judgement} was estimated again on resampled records, and the bound "
            "computed each time. A wide spread means that it depends on chance.",
            (Panel("bootstrap", charts.bootstrap),),
        ),
        *(posterior_sections() if words is wording.RETRAINING else ()),
    )  # fmt: skip


def _synthetic() -> tuple[Section, ...]:
    """What only the game with generated records shows."""
    return (
        Section(
            "recall",
            synthetic_words.RECALL,
            synthetic_words.RECALL_CAPTION,
            (
                Panel("precision", synthetic_charts.precision, "Precision",
                      synthetic_words.PRECISION_CAPTION),
                Panel("guesses", synthetic_charts.guesses, "Number of guesses",
                      synthetic_words.GUESSES_CAPTION),
                Panel("proven", synthetic_charts.proven, "Proven value",
                      synthetic_words.PROVEN_CAPTION),
            ),
            numbers=_short_levels,
        ),
        Section(
            "repeats",
            synthetic_words.REPEATS,
            synthetic_words.REPEATS_CAPTION,
            (Panel("repeats", synthetic_charts.repeats),),
            facts=_repeat_facts,
            numbers=synthetic_charts.spreads,
        ),
    )  # fmt: skip


def _leakage() -> tuple[Section, ...]:
    """What only the leakage of single records shows."""
    return (
        Section("exposure", leakage_words.EXPOSURE, leakage_words.EXPOSURE_CAPTION,
                (Panel("exposure", leakage_charts.exposure),)),
        Section("power", leakage_words.POWER, leakage_words.POWER_CAPTION,
                (Panel("power", leakage_charts.power),)),
        Section("similar", leakage_words.SIMILAR, leakage_words.SIMILAR_CAPTION,
                (Panel("similar", leakage_charts.similar),)),
    )  # fmt: skip


def _short_levels(recall: Any) -> Any:
    rows = synthetic_charts.points(recall)
    return rows if len(rows) <= ROWS else None


def _repeat_facts(repeats: Any) -> dict[str, Any]:
    facts = scalars(repeats)
    return {"repeats" if k == "count" else k: v for k, v in facts.items()}


def _worst(features: Any) -> str:
    if len(features) <= charts.WORST:
        return ""
    return f"The {charts.WORST} features that differ most are shown, of {len(features)}."


def _proxy_facts(proxy: Any) -> dict[str, Any]:
    """What is not drawn; the agreement is a sentence of the caption where it is one."""
    said = ("agreement",) if wording.agreement(proxy) else ()
    facts = {k: v for k, v in scalars(proxy).items() if k not in said}
    return {"what is audited" if k == "value" else k: v for k, v in facts.items()}


def _proxy_numbers(proxy: Any) -> Any:
    rows = attribute_charts.calibrated(proxy)
    points = [{("model" if k == "series" else k): v for k, v in row.items()} for row in rows]
    losses = [
        {"model": row["model"], "log-loss": row["value"]} for row in attribute_charts.losses(proxy)
    ]
    tables = {"Calibration": points if len(points) <= ROWS else [], "Log-loss": losses}
    return {k: v for k, v in tables.items() if v} or None


def _without_error(tau: Any) -> str:
    """The bounds for a proxy without error, which a logarithmic axis cannot show."""
    none = next((row for row in attribute_charts.budgets(tau) if row["tau"] == 0.0), {})
    parts = [
        f"{name} {wording.number(none[name])}"
        for name in ("epsilon", "mu")
        if none.get(name) is not None
    ]
    return f"For a proxy without error: {' and '.join(parts)}." if parts else ""


def _short_budgets(tau: Any) -> Any:
    rows = attribute_charts.budgets(tau)
    return rows if len(rows) <= ROWS else None


def _replay_facts(repetitions: Any) -> dict[str, Any]:
    facts = scalars(repetitions)
    return {"replays" if k == "count" else k: v for k, v in facts.items()}
