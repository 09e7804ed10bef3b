"""Bounds under an assumption: a record's score depends on its own coin only.

One-run audits assume nothing of that kind, and the model of a real training run need not keep to
it: records share one model. Where it holds (noise drawn for every score apart), trials are
independent of each other, and more can be proved. Given the learned trials, on which evidence,
thresholds and shares of the error are chosen:

*Epsilon at delta.* Weighted guesses as ever (``weighted.py``), but trials fail independently: the
number of changed truths is dominated by ``Bin(m, delta (1 - u))``, instead of Markov's inequality.
Inside a segment of constant j the spent error s falls by ``u (j + 1)`` times the probability of
j + 1 changed truths at most, so at most by ``u (j + 1) s``, which is a third of the error times u
at most by the choice of segments; P rises by more (see there). The tail allows for the failures of
all trials at once: from ``MOST`` expected ones on the assumption buys nothing, and the tests that
do without it prove more.

*Mu.* Guess where the evidence is larger than a threshold. Let ``r_i`` and ``v_i`` be the
probabilities that trial i is guessed right, or wrong. With ``A+`` and ``A-`` the scores guessed as
members and non-members, ``r = (P(A+) + Q(A-)) / 2 <= (fbar(Q(A+)) + fbar(P(A-))) / 2 <= fbar(v)``,
since fbar is concave; and so for the means over all trials. For ``G_mu`` that is
``mu >= Phi^-1(r) - Phi^-1(v)``. The means are confined by Clopper-Pearson limits, one from below
and one from above, that share the error; if every trial is guessed, ``v = 1 - r`` and one limit has
it all. Trials need not be alike: a sum of independent indicators has lighter tails than the
binomial of the same mean, one beyond the mean and further (Hoeffding 1956, Theorem 5), and limits
nearer to the observed rate than that are moved there.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaincinv, expit, ndtri
from scipy.stats import binom

from divulge.bounds.reduction import SPENT
from divulge.bounds.weighted import LARGEST, Weighed, climb
from divulge.errors import require, require_probability
from divulge.types import Array

ASSUMPTION = (
    "a record's score depends on its own coin only: scores of different records are independent"
)
MOST = 5.0
"""Trials times delta, up to which independence helps epsilon at delta."""
_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
_THRESHOLDS = 40
_SAFE = 1e-9


def spent(trials: int, delta: float, epsilon: float, changed: int) -> float:
    """The probability that failures change more truths than that."""
    return float(binom.sf(changed, trials, delta * float(expit(-epsilon)))) * (1.0 + _SAFE)


def segments(trials: int, delta: float, error: float) -> list[tuple[float, int]]:
    """From which epsilon on how many changed truths are allowed for."""

    def sound(epsilon: float, j: int) -> bool:
        return (j + 1) * spent(trials, delta, epsilon, j) <= SPENT * error

    most = 0
    while not sound(0.0, most):
        most = max(most + 1, round(1.1 * most))
    out, j = [(0.0, most)], most
    while j > 0:
        j = min(j - 1, round(0.8 * j))
        low, high = out[-1][0], LARGEST
        while high - low > 1e-4:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if sound(middle, j) else (middle, high)
        out.append((high, j))
    return out


def epsilon_lower_bound(weighed: Weighed, delta: float, error: float = 0.05) -> float:
    """Lower bound on epsilon at delta, by weighted guesses that fail independently."""
    require_probability("error", error)
    require(error <= 0.5, f"error must be at most 0.5. Found {error!r}.")
    require_probability("delta", delta, zero=True)
    parts = segments(weighed.trials, delta, error)
    return climb(weighed, parts, error, lambda e, j: spent(weighed.trials, delta, e, j))


def mu_lower_bound(
    trials: int, right: int, wrong: int, error: float = 0.05, share: float | None = None
) -> float:
    """Lower bound on mu; of the error the share is that of the right guesses.

    Without a share every trial was to be guessed, and the right ones have all of it.
    """
    require_probability("error", error)
    require(
        min(right, wrong) >= 0 and right + wrong <= trials and trials > 0,
        f"There cannot be {right} right and {wrong} wrong guesses of {trials} trials.",
    )
    if share is None:
        require(right + wrong == trials, "Without a share every trial must be guessed.")
        return max(0.0, 2.0 * float(ndtri(_lower(right, trials, error))))
    low = _lower(right, trials, share * error)
    high = _upper(wrong, trials, (1.0 - share) * error)
    if low <= 0.0 or high >= 1.0:
        return 0.0
    return max(0.0, float(ndtri(low) - ndtri(high)))


def _lower(count: int, trials: int, error: float) -> float:
    if count == 0:
        return 0.0
    limit = float(betaincinv(count, trials - count + 1.0, error)) * (1.0 - _SAFE)
    return min(limit, (count - 1.0) / trials)


def _upper(count: int, trials: int, error: float) -> float:
    if count >= trials:
        return 1.0
    limit = float(betaincinv(count + 1.0, trials - count, 1.0 - error)) * (1.0 + _SAFE)
    return min(1.0, max(limit, (count + 1.0) / trials))


def choose_threshold(evidence: Array, trials: int, error: float) -> tuple[float, float | None]:
    """Threshold and share for mu, from the evidence of learned trials alone.

    The largest bound at the counts that the evidence expects, less one standard deviation each.
    """
    size = np.abs(evidence)
    scale = trials / max(1, size.size)
    chosen: tuple[float, float | None] = (0.0, None)
    right = float(expit(size).sum()) * scale
    all_right = math.floor(max(0.0, right - math.sqrt(right * (1.0 - right / trials))))
    best = mu_lower_bound(trials, all_right, trials - all_right, error)
    for threshold in np.unique(np.quantile(size, np.linspace(0.02, 0.995, _THRESHOLDS))):
        guessed = size[size >= threshold]
        rate, miss = (float(expit(k * guessed).sum()) * scale for k in (1.0, -1.0))
        few = math.floor(max(0.0, rate - math.sqrt(rate)))
        many = min(math.ceil(miss + math.sqrt(miss)), trials - few)
        for share in _SHARES:
            bound = mu_lower_bound(trials, few, many, error, share)
            if bound > best:
                best, chosen = bound, (float(threshold), share)
    return chosen


def count(evidence: Array, truth: Array, threshold: float) -> tuple[int, int]:
    """Right and wrong guesses where the evidence is as large as the threshold; 0 is a guess too."""
    made = np.abs(evidence) >= threshold
    right = made & (np.where(evidence >= 0.0, 1.0, -1.0) == truth)
    return int(right.sum()), int(made.sum() - right.sum())
