"""The f-DP recursion: what counted guesses prove about any trade-off curve.

Mahloujifar, Melis and Chaudhuri (Auditing f-DP in one run), Theorem 9 and Algorithm 3; with a
total-variation budget ``tau`` as in Theorem 5 of Observational auditing of label privacy. If the
mechanism is f-DP and the truths are independent fair coins, then the probabilities ``p_k`` of k
correct guesses satisfy, for every tail,
``sum k p_k / m <= fbar(sum (r - k + 1) p_{k-1} / m)``. Starting from "c or more have probability
error", the recursion bounds the mass below c; if all of it cannot sum to one, f is rejected.
Taking the maximum with the previous tail is valid because tail sums are monotone.

Where every trial has K candidates of equal prior, one of them the truth (a line-up), a wrong guess
is one of K - 1: ``sum k p_k / m <= fbar(sum (r - k + 1) p_{k-1} / (m (K - 1)))``, by the same proof
summed over the K - 1 wrong truths, and Jensen's inequality for the concave fbar. So the recursion
holds with ``(K - 1) fbar^-1`` in place of ``fbar^-1``, for ``tau = 0``.

All of it for a number r of guesses that is fixed before the scores are seen; what a number costs
that is chosen from them, and what is then proved, say ``choice.py`` and ``tangents.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from divulge.bounds.checks import check_counts, check_delta
from divulge.curves import ApproximateDP, Curve, Gaussian, WithFailure
from divulge.errors import require

TOLERANCE = 1e-6
_SHRINK = 1.0 - 1e-12


def rejects(
    curve: Curve,
    trials: int,
    guesses: int,
    correct: int,
    *,
    error: float = 0.05,
    tau: float = 0.0,
    candidates: int = 2,
) -> bool:
    """Whether the counts refute, at this error, that the mechanism is ``curve``-DP."""
    m, r, c = check_counts(trials, guesses, correct, error)
    others = _check_candidates(candidates, tau)
    fast = _compiled_form(curve)
    if fast is not None:
        from divulge.bounds import compiled

        return bool(compiled.rejects(*fast, m, r, c, float(error), float(tau), others))
    goal = r / m * (1.0 + 1e-9)
    right, wrong = error * c / m, error * (r - c) / m
    for k in range(c - 1, -1, -1):
        h = _SHRINK * others * float(curve.inverse(min(right, 1.0))) - tau
        if h <= wrong:
            break  # right stays as it is, and so does h: no further step can change anything
        right += k / (r - k) * (h - wrong)
        wrong = h
        if right + wrong >= goal:
            return True
    return r > 0 and right + wrong >= goal


def largest_rejected(
    family: Callable[[float], Curve],
    trials: int,
    guesses: int,
    correct: int,
    *,
    error: float = 0.05,
    tau: float = 0.0,
    candidates: int = 2,
    tolerance: float = TOLERANCE,
) -> float:
    """The largest parameter of a nested family of curves that the counts refute, 0 if none.

    ``family(x)`` must promise less privacy as x grows. Bisection keeps its lower end rejected.
    """
    low, high = 0.0, 1.0

    def rejected(parameter: float) -> bool:
        return rejects(
            family(parameter),
            trials,
            guesses,
            correct,
            error=error,
            tau=tau,
            candidates=candidates,
        )

    if not rejected(low):
        return 0.0
    while high < 600.0 and rejected(high):
        low, high = high, 2.0 * high
    while high - low > tolerance:
        middle = 0.5 * (low + high)
        if rejected(middle):
            low = middle
        else:
            high = middle
    return low


def mu_lower_bound(
    trials: int,
    guesses: int,
    correct: int,
    error: float = 0.05,
    *,
    tau: float = 0.0,
    shift_mu: float = 0.0,
    failure: float = 0.0,
    candidates: int = 2,
) -> float:
    """Lower bound on mu: the largest mu for which ``G_mu`` is rejected.

    ``shift_mu`` and ``failure`` test ``G_sqrt(mu^2 + shift_mu^2)`` but for an event of that
    probability instead: the composition correction for distribution shift (000, Corollary 1).
    """
    m, r, c = check_counts(trials, guesses, correct, error)
    others = _check_candidates(candidates, tau)
    check_delta(failure)
    require(shift_mu >= 0.0, f"shift_mu must be at least 0. Found {shift_mu!r}.")
    return _cached(1, float(failure), m, r, c, float(error), float(tau), float(shift_mu), others)


def epsilon_lower_bound(
    trials: int,
    guesses: int,
    correct: int,
    delta: float = 0.0,
    error: float = 0.05,
    *,
    tau: float = 0.0,
    shift_epsilon: float = 0.0,
    candidates: int = 2,
) -> float:
    """Lower bound on epsilon at delta: the largest epsilon for which ``f_{eps,delta}`` is rejected.

    ``shift_epsilon`` tests ``epsilon + shift_epsilon`` instead (composition correction).
    """
    m, r, c = check_counts(trials, guesses, correct, error)
    others = _check_candidates(candidates, tau)
    check_delta(delta)
    require(shift_epsilon >= 0.0, f"shift_epsilon must be at least 0. Found {shift_epsilon!r}.")
    return _cached(0, float(delta), m, r, c, float(error), float(tau), float(shift_epsilon), others)


def sweep(
    trials: int,
    guesses: npt.ArrayLike,
    correct: npt.ArrayLike,
    *,
    delta: float | None = None,
    error: float = 0.05,
    tau: float = 0.0,
) -> float:
    """The largest bound over many (guesses, correct) pairs, each tested at ``error``.

    Work is shared: a pair is searched only if it rejects the best parameter found so far. The
    caller must have divided the error by the number of pairs (a union bound). ``delta=None`` is mu.
    """
    from divulge.bounds import compiled

    best = -1.0
    kind, failure = (1, 0.0) if delta is None else (0, check_delta(delta))
    _check_tau(tau)
    pairs = zip(np.atleast_1d(guesses).tolist(), np.atleast_1d(correct).tolist(), strict=True)
    for r_, c_ in pairs:
        m, r, c = check_counts(trials, r_, c_, error)
        if 2 * c <= r:
            continue
        found = compiled.largest_rejected(
            kind, failure, m, r, c, float(error), float(tau), max(best, 0.0), TOLERANCE, 0.0
        )
        best = max(best, float(found))
    return max(best, 0.0)


@lru_cache(maxsize=65536)
def _cached(
    kind: int,
    delta: float,
    m: int,
    r: int,
    c: int,
    error: float,
    tau: float,
    offset: float,
    others: float,
) -> float:
    if (1.0 + others) * c <= r:  # no better than guessing at random
        return 0.0
    from divulge.bounds import compiled

    found = compiled.largest_rejected(
        kind, delta, m, r, c, error, tau, 0.0, TOLERANCE, offset, others
    )
    return max(0.0, float(found))


def _compiled_form(curve: Curve) -> tuple[int, float, float] | None:
    if isinstance(curve, ApproximateDP) and curve.epsilon_ < 700.0:
        return 0, float(curve.epsilon_), float(curve.delta_)
    if isinstance(curve, Gaussian):
        return 1, float(curve.mu_), 0.0
    if isinstance(curve, WithFailure) and isinstance(curve.curve, Gaussian):
        return 1, float(curve.curve.mu_), float(curve.failure)
    return None


def _check_candidates(candidates: int, tau: float) -> float:
    """The number of wrong answers to a trial."""
    _check_tau(tau)
    require(candidates >= 2, f"A trial has at least 2 candidates. Found {candidates!r}.")
    require(candidates == 2 or tau == 0.0, "A budget tau is for trials with 2 candidates.")
    return float(candidates - 1)


def _check_tau(tau: float) -> None:
    require(0.0 <= tau < 1.0, f"tau must lie in [0, 1). Found {tau!r}.")
