"""Epsilon at delta from tampered guesses: Theorem 5.1.1 of Zero-Run auditing (000).

A correct guess is kept with probability ``b_i = (1 + e^{-eps - e_i}) / (1 + e^{-eps})`` and counted
as wrong otherwise, ``e_i = |l_i|`` as printed or ``max(0, T_i l_i)`` signed. If the mechanism is
(eps, delta)-DP, then ``P(kept >= v) <= g(v) + m delta (1 + e^-eps) sum_{i=1..v} P(Bin = v-i) / i``
with ``Bin ~ Binomial(r, sigma(eps))`` and ``g`` its upper tail.

The tampering is made for the epsilon that is tested, so every point of a grid has a count of its
own, all from the same uniform numbers: the count grows with epsilon, and rejection need not be
monotone. The bound is the last grid point before the first one that is not rejected. A false claim
then needs the rejection of one fixed point, the first at or above the true epsilon.

*The number of guesses may be chosen from the scores.* In the paper's proof, given the model the
binomial has the number r that was chosen, and failures enter linearly: with ``x`` the expected
failures given the model, ``P(kept >= v_r) <= g_r(v_r) + x a_r(v_r)``, where ``x`` has a mean of
``m delta (1 + e^-eps)`` at most. Outputs that choose r have a probability ``w_r`` and failures
``d_r``, which sum to 1 and to that mean. So the argument of ``bounds/choice.py`` applies word for
word: test against ``b delta`` at ``error / (1 + 1 / b)``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from divulge.bounds import guessing
from divulge.bounds.choice import least, price
from divulge.bounds.counting import zero_run_p_value
from divulge.types import Array, slices

STEP = 0.01
END = 20.0
_CANDIDATES = 24
_SAMPLE = 200_000
"""Trials from which the number of guesses is foreseen, at most."""
_HALVINGS = 9


def excess(guess: npt.NDArray[Any], log_odds: Array, *, signed: bool) -> Array:
    """``e_i``: the prior log-odds that a guess is charged with."""
    return np.maximum(0.0, guess * log_odds) if signed else np.abs(log_odds)


def kept_share(charged: Array, epsilon: float) -> Array:
    """``b_i``: the probability with which a correct guess is kept at this epsilon."""
    rest = math.exp(-epsilon)
    return np.asarray((1.0 + rest * np.exp(-charged)) / (1.0 + rest))


def kept_from(charged: Array, uniforms: Array) -> Array:
    """The epsilon above which ``uniforms < b_i``: then the guess is kept."""
    over = uniforms - np.exp(-charged)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(over <= 0.0, -np.inf, np.log(over) - np.log1p(-uniforms))


def proved(
    evidence: Array,
    truth: npt.NDArray[Any],
    log_odds: Array,
    uniforms: Array,
    delta: float,
    error: float,
    rng: np.random.Generator,
    *,
    signed: bool,
) -> float:
    """The bound from propensity-aware guesses, their number foreseen from the evidence."""
    guess = guesses(evidence, log_odds, delta, error, rng, signed=signed)
    return epsilon_lower_bound(guess, truth, log_odds, uniforms, delta, error, signed=signed)


def epsilon_lower_bound(
    guess: npt.NDArray[Any],
    truth: npt.NDArray[Any],
    log_odds: Array,
    uniforms: Array,
    delta: float,
    error: float,
    *,
    signed: bool,
) -> float:
    """Lower bound on epsilon at ``delta > 0``; one entry per trial, one uniform number each.

    The guesses and their number may depend on the model and the records, not on these truths.
    """
    right = (guess != 0) & (guess == truth)
    start = np.sort(
        kept_from(excess(guess[right], log_odds[right], signed=signed), uniforms[right])
    )
    trials, guesses = int(guess.size), int((guess != 0).sum())
    at, against = price(trials, delta, error)
    assert against is not None
    rejected = -1
    while rejected * STEP < END:
        epsilon = STEP * (rejected + 1)
        kept = int(np.searchsorted(start, epsilon))
        if zero_run_p_value(trials, guesses, kept, epsilon, against) > at:
            break
        rejected += 1
    return max(0.0, STEP * rejected)


def aware_confidence(
    evidence: Array, log_odds: Array, epsilon: float, *, signed: bool
) -> tuple[Array, Array]:
    """(Confidence with the sign of the guess, expected share kept), as tampered with at epsilon.

    The side guessed has the larger (probability of being right) x ``b_i``.
    """
    best, side = np.zeros_like(evidence), np.ones_like(evidence)
    for s in (1.0, -1.0):
        charged = excess(np.full_like(evidence, s), log_odds, signed=signed)
        value = expit(s * (evidence + log_odds)) * kept_share(charged, epsilon)
        better = value > best
        best, side = np.where(better, value, best), np.where(better, s, side)
    return side * best, best


def guesses(
    evidence: Array,
    log_odds: Array,
    delta: float,
    error: float,
    rng: np.random.Generator,
    *,
    signed: bool,
) -> guessing.Guesses:
    """Propensity-aware guesses, ranked as tampered with at the epsilon where the walk may end."""
    epsilon, number = foreseen(evidence, log_odds, delta, error, signed=signed)
    confidence = np.empty(evidence.size)
    for part in slices(evidence.size):
        confidence[part], _ = aware_confidence(
            evidence[part], log_odds[part], epsilon, signed=signed
        )
    return guessing.top_guesses(confidence, number, rng)


def foreseen(
    evidence: Array, log_odds: Array, delta: float, error: float, *, signed: bool
) -> tuple[float, int]:
    """Epsilon for which to tamper when guesses are ranked, and how many to make; truths unseen.

    The largest epsilon that some number of guesses would reject if its count came out at the
    expected one less one standard deviation, and that number.
    """
    trials = int(evidence.size)
    at, against = price(trials, delta, error)
    assert against is not None
    every = math.ceil(trials / _SAMPLE)
    evidence, log_odds = evidence[::every], log_odds[::every]
    fewest = least(trials, delta)
    sizes = np.unique(np.round(np.geomspace(fewest, trials, _CANDIDATES)).astype(int))
    at_rank = np.minimum(np.ceil(sizes / every).astype(int), evidence.size) - 1

    def surest(epsilon: float) -> tuple[float, int]:
        _, kept = aware_confidence(evidence, log_odds, epsilon, signed=signed)
        kept = np.sort(kept)[::-1]
        mean = sizes * np.cumsum(kept)[at_rank] / (at_rank + 1)
        spread = np.sqrt(sizes * np.cumsum(kept * (1.0 - kept))[at_rank] / (at_rank + 1))
        likely = np.clip(np.floor(mean - spread), 0, sizes).astype(int)
        found = [
            (zero_run_p_value(trials, int(r), int(c), epsilon, against), int(r))
            for r, c in zip(sizes, likely, strict=True)
        ]
        return min(found)

    chosen, low, high = surest(0.0), 0.0, END
    if chosen[0] > at:
        return 0.0, chosen[1]
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        found = surest(middle)
        if found[0] <= at:
            chosen, low = found, middle
        else:
            high = middle
    return low, chosen[1]
