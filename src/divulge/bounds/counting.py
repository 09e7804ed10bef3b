"""Counting guesses: what the number of correct guesses proves about epsilon.

Pure epsilon (Steinke, Nasr and Jagielski, Privacy auditing with one training run, Proposition 5.1):
if the mechanism is eps-DP, the number of correct guesses is dominated by a sum of independent
Bernoulli variables with parameters ``sigma(eps + T_i l_i)``, ``T_i`` the guess, ``l_i`` the prior
log-odds that the record alone gives away. The correction is signed: a guess against the shift is
not discounted.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincinv, expit, logit, ndtri

from divulge.bounds.checks import check_counts, check_delta
from divulge.errors import require, require_probability
from divulge.types import Array

TOLERANCE = 1e-6
_CHUNK = 512
_NEGLIGIBLE = 1e-22  # mass moved upwards per truncated convolution; below any p-value that matters


def binomial_epsilon_lower_bound(
    trials: int, guesses: int, correct: int, error: float = 0.05
) -> float:
    """Exact, for fair coins: the eps at which ``P(Bin(r, sigma(eps)) >= c) = error``."""
    _, r, c = check_counts(trials, guesses, correct, error)
    if c == 0 or binomial_tail(c, r, 0.5) > error:
        return 0.0
    epsilon = float(logit(betaincinv(c, r - c + 1.0, error)))
    step = 1e-12
    while epsilon > 0.0 and binomial_tail(c, r, float(expit(epsilon))) > error:
        epsilon -= step
        step *= 2.0
    return max(0.0, epsilon)


def binomial_tail(correct: int, guesses: int, q: float) -> float:
    """``P(Bin(guesses, q) >= correct)``."""
    if correct <= 0:
        return 1.0
    if correct > guesses:
        return 0.0
    return float(betainc(correct, guesses - correct + 1.0, q))


def poisson_binomial_tail(q: npt.ArrayLike, correct: int) -> float:
    """``P(sum of independent Bernoulli(q_i) >= correct)``, exact and rounded up.

    Dynamic programming on chunks, then convolution of the chunks; there is no normal
    approximation at any size. Convolved distributions are truncated where less than 1e-22 of mass
    lies outside; that mass is moved upwards, so the tail is never understated.
    """
    from divulge.bounds import compiled

    p = np.asarray(q, dtype=float).ravel()
    require(bool(np.all((p >= 0.0) & (p <= 1.0))), "Probabilities must lie in [0, 1].")
    if correct <= 0:
        return 1.0
    if correct > p.size:
        return 0.0
    pieces = [
        (0, *_truncate(compiled.poisson_binomial_chunk(p[i : i + _CHUNK])))
        for i in range(0, p.size, _CHUNK)
    ]
    parts = [(start + low, pmf, above) for start, low, pmf, above in pieces]
    while len(parts) > 1:
        merged = []
        for left, right in zip(parts[::2], parts[1::2], strict=False):
            low, pmf, above = _truncate(np.convolve(left[1], right[1]))
            merged.append((left[0] + right[0] + low, pmf, above + left[2] + right[2]))
        if len(parts) % 2:
            merged.append(parts[-1])
        parts = merged
    start, pmf, above = parts[0]
    tail = above + float(pmf[max(0, correct - start) :].sum())
    return min(1.0, tail * (1.0 + 1e-10))


def _truncate(pmf: Array) -> tuple[int, Array, float]:
    """Drop negligible ends: the lower moves up to the first kept point, the upper is returned."""
    below = np.cumsum(pmf)
    low = int(np.searchsorted(below, _NEGLIGIBLE))
    above = np.cumsum(pmf[::-1])
    high = pmf.size - int(np.searchsorted(above, _NEGLIGIBLE))
    low = min(low, high - 1)
    kept = pmf[low:high].copy()
    if low > 0:
        kept[0] += below[low - 1]
    return low, kept, float(above[pmf.size - high - 1]) if high < pmf.size else 0.0


def signed_epsilon_lower_bound(
    guesses: npt.ArrayLike,
    truths: npt.ArrayLike,
    log_odds: npt.ArrayLike = 0.0,
    error: float = 0.05,
) -> float:
    """Exact Poisson-binomial bound with signed prior log-odds; one entry per trial.

    ``guesses`` are +1, -1 or 0 (no guess), ``truths`` +1 or -1. The guesses may depend on the
    model and the records, not on the truths. Up to a million guesses, always exact.
    """
    require_probability("error", error)
    guess = np.asarray(guesses).ravel()
    truth = np.asarray(truths).ravel()
    require(guess.size == truth.size, "guesses and truths must have the same length.")
    made = guess != 0
    require(bool(((np.abs(guess) == 1) | ~made).all()), "guesses must be +1, -1 or 0.")
    require(bool((np.abs(truth) == 1).all()), "truths must be +1 or -1.")
    prior = np.broadcast_to(np.asarray(log_odds, dtype=float), guess.shape)
    require(bool(np.isfinite(prior).all()), "log_odds must be finite.")
    signed = guess[made] * prior[made]
    r, c = int(made.sum()), int((guess[made] == truth[made]).sum())
    if c == 0:
        return 0.0
    if np.ptp(signed) == 0.0:  # one prior for all: binomial, shifted by it
        return max(0.0, _shifted_binomial(r, c, float(signed[0]), error))
    return _largest(lambda eps: poisson_binomial_tail(expit(signed + eps), c), error, signed, c)


def _shifted_binomial(r: int, c: int, prior: float, error: float) -> float:
    def p_value(epsilon: float) -> float:
        return binomial_tail(c, r, float(expit(epsilon + prior)))

    epsilon = float(logit(betaincinv(c, r - c + 1.0, error))) - prior
    step = 1e-12
    while epsilon > 0.0 and p_value(epsilon) > error:
        epsilon -= step
        step *= 2.0
    return epsilon


def _largest(p_value: Callable[[float], float], error: float, signed: Array, c: int) -> float:
    """Bracket by the normal approximation (a place to start, never the answer), then bisect."""
    if p_value(0.0) > error:
        return 0.0
    z = float(-ndtri(error))

    def excess(epsilon: float) -> float:
        q = expit(signed + epsilon)
        return c - float(q.sum()) - z * math.sqrt(float((q * (1.0 - q)).sum()))

    low, high = 0.0, 1.0
    while excess(high) > 0.0 and high < 60.0:
        high *= 2.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    guess, width = low, 0.01
    low, high = max(0.0, guess - width), guess + width
    while low > 0.0 and p_value(low) > error:
        high, width = low, 2.0 * width
        low = max(0.0, low - width)
    while p_value(high) <= error and high < 700.0:
        low, width = high, 2.0 * width
        high += width
    while high - low > TOLERANCE:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if p_value(middle) <= error else (low, middle)
    return low


def steinke_p_value(trials: int, guesses: int, correct: int, epsilon: float, delta: float) -> float:
    """``P(W >= c)`` at most ``g(c) + 2 m delta max_i (g(c-i) - g(c)) / i`` (Steinke et al., 5.2).

    ``g(v) = P(Bin(r, sigma(eps)) >= v)``.
    """
    tails = _binomial_tails(guesses, correct, epsilon)
    if correct == 0:
        return 1.0
    steps = np.arange(1, correct + 1)
    worst = float(np.max((tails[correct - steps] - tails[correct]) / steps))
    return _trusted(float(tails[correct]) + 2.0 * trials * delta * max(0.0, worst))


def _trusted(p_value: float) -> float:
    """Both theorems with delta are too small for counts below the mean.

    With two guesses on two coins, ``P(W >= 1)`` may exceed either of them: a mechanism may fail
    just where the other guess is wrong, which the proofs do not allow for. The exact worst case (a
    linear program, ``mechanisms/worst_case.py``) stays within them wherever they say 1/2 or less.
    """
    return p_value if p_value <= 0.5 else 1.0


def zero_run_p_value(
    trials: int, guesses: int, correct: int, epsilon: float, delta: float
) -> float:
    """``g(c) + m delta (1 + e^-eps) sum_{i=1..c} P(Bin = c - i) / i`` (000, Theorem 5.1.1).

    What lies 40 standard deviations below the mean is counted as if it stood there.
    """
    if correct == 0:
        return 1.0
    q = float(expit(epsilon))
    far = math.floor(guesses * q - 40.0 * math.sqrt(guesses * q * (1.0 - q)))
    first = min(max(far, 0), correct - 1)
    tails = _binomial_tails(guesses, correct, epsilon, first)
    steps = np.arange(correct - first, 0, -1)
    mass = tails[:-1] - tails[1:]
    mass[0] += 1.0 - tails[0]
    extra = trials * delta * (1.0 + math.exp(-epsilon)) * float(np.sum(mass / steps))
    return _trusted(float(tails[-1]) + extra)


def _binomial_tails(guesses: int, correct: int, epsilon: float, first: int = 0) -> Array:
    """``g(first), ..., g(correct)``."""
    q = float(expit(epsilon))
    v = np.arange(max(first, 1), correct + 1)
    return np.concatenate([np.ones(int(first == 0)), betainc(v, guesses - v + 1.0, q)])


def steinke_epsilon_lower_bound(
    trials: int, guesses: int, correct: int, delta: float, error: float = 0.05
) -> float:
    """Lower bound on epsilon at delta by Steinke et al., Theorem 5.2."""
    return _approximate(steinke_p_value, trials, guesses, correct, delta, error)


def zero_run_epsilon_lower_bound(
    trials: int, guesses: int, correct: int, delta: float, error: float = 0.05
) -> float:
    """Lower bound on epsilon at delta by Theorem 5.1.1 of Zero-Run auditing (000)."""
    return _approximate(zero_run_p_value, trials, guesses, correct, delta, error)


def _approximate(
    p_value: Callable[[int, int, int, float, float], float],
    trials: int,
    guesses: int,
    correct: int,
    delta: float,
    error: float,
) -> float:
    """The largest epsilon below which everything is rejected.

    The p-values need not grow with epsilon everywhere, so the search walks up a fixed grid to the
    first epsilon that is not rejected, and bisects only inside that last cell.
    """
    m, r, c = check_counts(trials, guesses, correct, error)
    check_delta(delta)
    cell = 0.05
    rejected = -1
    while rejected < 400 and p_value(m, r, c, cell * (rejected + 1), delta) <= error:
        rejected += 1
    if rejected < 0:
        return 0.0
    low, high = cell * rejected, cell * (rejected + 1)
    while high - low > TOLERANCE:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if p_value(m, r, c, middle, delta) <= error else (low, middle)
    return low
