"""The corrections of Zero-Run auditing (000): composition, and conditional (tampered) guesses.

*Composition* (Section 4) treats shift as a second mechanism with the worst log-odds of all.
*Conditional* (Section 5) keeps a correct guess with probability ``b_i`` and counts it as wrong
otherwise: ``b_i = e^{-|l_i|}`` as printed, or ``e^{-max(0, T_i l_i)}`` signed, which the same
proof allows and which discounts only guesses that go with the shift. That is the form for f-DP
(Theorem 5.1.2); the one for epsilon at delta is in ``tampered.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtri

from divulge.bounds.guessing import Counts
from divulge.text.rounding import at_most
from divulge.types import Array

RARE_FAILURE = 1e-5
"""delta_DS where it is part of the tested curve: the recursion starts at error x correct / trials
and proves nothing unless delta_DS is far below that."""


@dataclass(frozen=True)
class WorstShift:
    """Overlap (000, Assumption 2): ``|l| <= epsilon`` but for probability ``failure``."""

    epsilon: float
    failure: float

    def __str__(self) -> str:
        return f"log-odds of at most {at_most(self.epsilon)}, but for a share of {self.failure:g}"

    @property
    def mu(self) -> float:
        """``mu_DS = 2 Phi^-1(sigma(eps_DS))``."""
        return float(-2.0 * ndtri(expit(-self.epsilon)))


def worst_shift(log_odds: Array, failure: float) -> WorstShift:
    """The overlap of these records; the quantile is rounded outwards."""
    if log_odds.size == 0:
        return WorstShift(0.0, failure)
    inside = math.ceil((1.0 - failure) * log_odds.size) - 1
    return WorstShift(float(np.sort(np.abs(log_odds))[min(inside, log_odds.size - 1)]), failure)


def worse_of_both(log_odds: Array, truth: npt.NDArray[Any], failure: float) -> WorstShift:
    """Assumption 2 asks for overlap in either group."""
    both = [worst_shift(log_odds[truth == kind], failure) for kind in (1.0, -1.0)]
    return max(both, key=lambda worst: worst.epsilon)


def discount(guess: npt.NDArray[Any], log_odds: Array, *, signed: bool) -> Array:
    """``b_i``: the probability with which a correct guess is kept."""
    against = np.maximum(0.0, guess * log_odds) if signed else np.abs(log_odds)
    return np.exp(-against)


def tampered_counts(
    guess: npt.NDArray[Any],
    truth: npt.NDArray[Any],
    log_odds: Array,
    uniforms: Array,
    *,
    signed: bool,
) -> Counts:
    """Counts after tampering; ``uniforms`` holds one uniform number per trial, drawn beforehand."""
    made = guess != 0.0
    kept = uniforms < discount(guess, log_odds, signed=signed)
    correct = made & kept & (guess == truth)
    return Counts(int(guess.size), int(made.sum()), int(correct.sum()))


def aware_confidence(evidence: Array, log_odds: Array, *, signed: bool) -> tuple[Array, Array]:
    """Propensity-aware ranking: (confidence with the sign of the guess, expected share kept).

    The side guessed is the one with the larger (probability of being right) x ``b_i``; trials are
    ranked by that product.
    """
    best = np.zeros_like(evidence)
    side = np.ones_like(evidence)
    for s in (1.0, -1.0):
        right = expit(s * (evidence + log_odds))
        value = right * discount(np.full_like(evidence, s), log_odds, signed=signed)
        better = value > best
        best, side = np.where(better, value, best), np.where(better, s, side)
    return side * best, best
