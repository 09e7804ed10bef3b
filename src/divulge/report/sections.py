"""The sections that games share, in the words of the game."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from divulge.report import charts
from divulge.report.section import Panel, Section
from divulge.report.wording import Words
from divulge.result.shared import Balance


def shared_sections(
    words: Words, groups: Sequence[Section] = (), doubts: Sequence[Section] = ()
) -> tuple[Section, ...]:
    """Groups, attack, evidence, doubts; a game's own stand after the groups or the doubts."""
    return (
        Section(
            "overlap",
            "Do the two groups overlap?",
            f"Across: the propensity, the probability that {words.each} is {words.one}, "
            f"estimated without the model. Bars above the line count {words.yes}, bars below "
            f"count {words.no}. Where only one side has bars, nothing can be learned about the "
            "model. After balancing, the two sides should mirror each other.",
            (
                Panel("overlap-before", partial(charts.overlap_before, words=words),
                      "Before balancing"),
                Panel("overlap-after", partial(charts.overlap_after, words=words),
                      "After balancing"),
            ),
        ),
        Section(
            "balance",
            "Are the two groups balanced?",
            "One line per feature. The hollow circle is the standardised mean difference "
            f"between {words.yes} and {words.no} before balancing, the filled diamond the one "
            f"after it. Features with diamonds between the dashed lines (±{charts.LIMIT:g}) are "
            "balanced by the usual rule of thumb.",
            (Panel("balance", partial(charts.balance, words=words)),),
            note=_worst,
            numbers=charts.worst_features,
            names=True,
        ),
        *groups,
        Section(
            "roc",
            f"How well does the attack {words.tell_apart}?",
            f"Up: the true-positive rate, the share of {words.yes} recognised. Across: the "
            f"false-positive rate, the share of {words.no} {words.taken}. The dotted line is "
            "guessing; the further a curve lies above it, the stronger the attack. Thin solid: "
            f"the attack as measured, guessing {words.yes}. Thin dotted: the same attack guessing "
            f"{words.no}, with the rates the other way round. Thick dashed: what the audit proved. "
            "A guarantee covers guesses of both kinds, at every rate: one stretch of either "
            "measured curve proves the whole dashed one, which may run above both elsewhere. If it "
            f"lies above the solid curve throughout, guesses of {words.no} carry the proof. "
            "If a claimed curve is drawn and the proven curve runs above it, the claim cannot be "
            "true.",
            (
                Panel("roc", partial(charts.roc, words=words), "All error rates"),
                Panel("roc-low", partial(charts.roc_low, words=words),
                      "Low false-positive rates (logarithmic axes)"),
            ),
        ),
        Section(
            "wealth",
            "How did the evidence grow?",
            "A bettor starts with wealth 1 and bets, trial by trial, against the hypothesis "
            "that nothing leaks. If it held, the wealth would seldom reach the dashed "
            "threshold. The second chart shows the bound that would stand if the audit had "
            "stopped there.",
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
            "finding away: the larger, the more robust the finding.",
            (Panel("sensitivity", charts.sensitivity),),
        ),
        *doubts,
        Section(
            "bootstrap",
            "How much does the bound depend on the sample?",
            f"The {words.judgement} was estimated again on resamples of the records, and the "
            "bound computed each time. A wide spread means that the bound depends on chance.",
            (Panel("bootstrap", charts.bootstrap),),
        ),
    )  # fmt: skip


def _worst(features: Sequence[Balance]) -> str:
    if len(features) <= charts.WORST:
        return ""
    return f"The {charts.WORST} features that differ most are shown, of {len(features)}."
