"""What a result means for somebody who has never heard of epsilon, and what to do next.

Arithmetic on bounds that a result states, and words; nothing is estimated here. A lower bound on
epsilon, at any delta, says that some answers of the model are more than e^epsilon times as likely
if something was true than if it was not: even odds become e^epsilon to 1 there. It does not say how
often such answers come.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from divulge.report.wording import Advice, Words
from divulge.result import Bound, Result
from divulge.text import rounding

PRACTICE = (
    (1.0, "below 1, which is what textbooks call strong protection"),
    (10.0, "between 1 and 10, where most announced guarantees lie (Apple's, per day: 2 to 16)"),
    (20.0, "between 10 and 20, as the 17.1 of the US census of 2020"),
    (math.inf, "above every guarantee that is commonly announced"),
)
"""Where a bound lies beside guarantees in use; sources are in docs/meaning.md."""

_TREES = ("xgboost", "lightgbm", "catboost")
_NETWORKS = ("onnx", "export", "safetensors", "hub")
_REMEDIES = (
    (_TREES, "fewer and shallower trees with larger leaves"),
    (_NETWORKS, "fewer epochs and more weight decay"),
)
_ANY = "stronger regularisation (larger leaves, fewer epochs, weight decay)"


@dataclass(frozen=True)
class Meaning:
    """Three plain sentences: what somebody could do, how sure it is, what to do next."""

    could: str
    sure: str
    next: str

    @property
    def sentences(self) -> tuple[str, ...]:
        """Those that there are."""
        return tuple(filter(None, (self.could, self.sure, self.next)))


def meaning(result: Result, words: Words, advice: Advice) -> Meaning:
    """What this result means; for a game that computes and tests nothing, nothing is added."""
    status = result.verdict.status
    if status == "computed":
        return Meaning("", "", "")
    if status == "cannot conclude":
        return Meaning(
            "Nothing is known either way: this is not a clean bill of health.", "", advice.open
        )
    if status == "no evidence":
        return Meaning(
            f"Nobody was shown to be able to say whether {words.happened}; a stronger attack or "
            "more records may still do so.",
            "",
            advice.quiet,
        )
    bound = largest(result)
    could = "" if bound is None else able(bound, words)
    return Meaning(could, _sure(result, advice), _leaking(result, advice))


def largest(result: Result) -> Bound | None:
    """The largest headline bound on epsilon: all headline bounds hold together."""
    found = [b for b in result.headline() if b.parameter == "epsilon" and b.value > 0.0]
    return max(found, key=lambda b: b.value, default=None)


def able(bound: Bound, words: Words) -> str:
    """Odds, the success from an even prior, and where epsilon lies beside those in use."""
    odds = math.exp(min(bound.value, 700.0))
    digits = 1 if bound.value < 0.1 else 0
    right = math.floor(100.0 * odds / (1.0 + odds) * 10**digits) / 10**digits
    beside = next(text for limit, text in PRACTICE if bound.value < limit)
    return (
        f"Somebody who sees of the model what was scored here can tell, with odds of at least "
        f"{_odds(odds)} to 1 in some cases, whether {words.happened}: right {right:g} times in "
        "100, where guessing is right 50 times. An epsilon of "
        f"{rounding.at_least(bound.value)} is {beside}. Those are upper limits; this is a lower "
        "one."
    )


def _odds(odds: float) -> str:
    if odds >= 1e6:
        return "a million"
    if odds >= 10.0:
        return f"{math.floor(odds):,}"
    scale = 10.0 if odds >= 1.1 else 1000.0
    return f"{math.floor(odds * scale) / scale:g}"


def _sure(result: Result, advice: Advice) -> str:
    stated = result.headline()
    if not stated:
        return ""
    least = rounding.percent(min(b.confidence for b in stated))
    sure = f"Each number is right with at least {least} confidence"
    if advice.by_design:
        return f"{sure}, by theorems about randomness that was known by design."
    if not result.verdict.robust:
        return f"{sure} if the assumptions hold, but it is fragile, for the reasons above."
    if advice.explained:
        return f"{sure}, and robust: what could have taken the finding away was tried and did not."
    return f"{sure}."


def _leaking(result: Result, advice: Advice) -> str:
    kind = (result.provenance.get("model") or {}).get("kind")
    less = next((words for kinds, words in _REMEDIES if kind in kinds), _ANY)
    steps = f"{less}, no duplicates, coarser outputs (labels, or rounded probabilities)"
    private = "" if kind in _TREES else "; a guarantee comes from DP-SGD only"
    if result.verdict.robust or not advice.settle:
        return (
            f"What helps: {steps}{private}. Then run the same command on the new model, and "
            "compare."
        )
    settle = advice.settle
    if advice.settling and advice.settling in result.measurements:
        settle = advice.further
    return (
        f"Before acting on it alone, settle it: {settle}. What helps if it stands: "
        f"{steps}{private}."
    )
