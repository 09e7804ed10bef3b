"""How close is a generator to the data, and what does a model add? PANORAMIA (002), Section 4.

A generator is *c-close* if ``D(x) <= e^c G(x)`` for every x. Trials show a real record (truth +1)
or a generated one by a fair coin, and only real records are guessed. If the generator is c-close,
the number of correct guesses of a baseline that sees x alone is dominated by
``Binomial(r, sigma(c))`` (Proposition 1); if the target is eps-DP as well, that of an attack which
also sees the target by ``Binomial(r, sigma(c + eps))`` (Proposition 2). One number is therefore
bounded from below by either: the largest log-odds that the correct guesses reject.

The number of guesses may be tried at several levels; the error is divided by their number.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincinv, expit, logit

from divulge.errors import require, require_probability
from divulge.types import Array

Counts = npt.NDArray[np.int64]

RULES = ("grid", "all")
LEVELS = 20
"""Levels of the fixed grid."""
STEPS = 8
"""Numbers of guesses of one kind where two thresholds are tried, none included."""
TOLERANCE = 1e-6
_FEWEST = 5
_LEAST_SHARE = 0.002
_MOST_SHARE = 0.6
_SAFE = 1e-9


@dataclass(frozen=True)
class Recall:
    """Guesses at several levels of recall, and what each of them proves."""

    guesses: Counts = field(repr=False)
    correct: Counts = field(repr=False)
    lower: Array = field(repr=False)
    """The log-odds that each level proves; together they hold with the stated error."""
    real: int
    """Trials that showed a real record."""
    rule: str

    @property
    def value(self) -> float:
        """The largest of them: a lower bound on c, or on c + epsilon."""
        return float(self.lower.max(initial=0.0))

    @property
    def recall(self) -> Array:
        """Share of the real records that was guessed."""
        return np.asarray(self.correct / max(self.real, 1))

    @property
    def precision(self) -> Array:
        """Share of the guesses that was right."""
        return np.asarray(self.correct / self.guesses)


def levels(trials: int, rule: str) -> Counts:
    """Numbers of guesses that are tried: every one, or a fixed grid of at most twenty."""
    require(rule in RULES, f"Unknown rule {rule!r}. Choose from {', '.join(RULES)}.")
    require(trials > 0, "There are no trials.")
    if rule == "all":
        return np.arange(1, trials + 1)
    first = max(_FEWEST, _LEAST_SHARE * trials)
    grid = np.geomspace(first, max(first, _MOST_SHARE * trials), LEVELS)
    return np.unique(np.clip(np.round(grid), 1, trials).astype(np.int64))


def recall_bounds(
    score: Array,
    truth: Array,
    *,
    error: float,
    rule: str = "grid",
    failures: float = 0.0,
    rng: np.random.Generator,
) -> Recall:
    """Guess the trials with the largest scores to be real, at every level.

    ``failures`` is the mean number of trials that are exempt from closeness or privacy:
    ``2 m gamma`` for (c, gamma)-closeness, ``2 m (gamma + delta - gamma delta)`` with (eps, delta)
    on top (Appendix E, Proposition 3). Ties are broken by a permutation that knows no truth.
    """
    require_probability("error", error)
    require(failures >= 0.0, f"The mean number of failures must not be negative. Found {failures}.")
    shuffled = rng.permutation(truth.size)
    order = shuffled[np.argsort(-score[shuffled], kind="stable")]
    hits = np.cumsum(truth[order] > 0.0)
    guesses = levels(truth.size, rule)
    correct = hits[guesses - 1].astype(np.int64)
    lower = _binomial_lower(guesses, correct, error / guesses.size)
    if failures > 0.0:
        lower = _relaxed(guesses, correct, lower, error / guesses.size, failures)
    return Recall(guesses, correct, lower, int((truth > 0.0).sum()), rule)


def two_thresholds(score: Array, truth: Array, *, error: float, rng: np.random.Generator) -> Recall:
    """Guess the largest scores to be members, and the smallest not to be (fair coin).

    The audit with one training run, O(1) in 002 (Appendix C.4): Steinke et al., Proposition 5.1,
    with a threshold of its own for either kind of guess. Every pair of a few fixed numbers of
    guesses is a test, none of either kind included, and the error is divided by the number of
    pairs: to divide it by the number of different totals only, as the paper puts it, would leave
    pairs with the same total unpaid.
    """
    require_probability("error", error)
    require(truth.size >= 2, f"Guesses of both kinds need two trials. Found {truth.size}.")
    shuffled = rng.permutation(truth.size)
    ranked = truth[shuffled[np.argsort(-score[shuffled], kind="stable")]] > 0.0
    up, down = pairs(truth.size)
    hits = np.append(0, np.cumsum(ranked))[up] + np.append(0, np.cumsum(~ranked[::-1]))[down]
    correct, guesses = hits.astype(np.int64), up + down
    lower = _binomial_lower(guesses, correct, error / guesses.size)
    return Recall(guesses, correct, lower, int((truth > 0.0).sum()), "grid")


def pairs(trials: int) -> tuple[Counts, Counts]:
    """Numbers of guesses of either kind: every pair of a fixed grid but none at all."""
    most = max(1, trials // 2)
    first = max(_FEWEST, _LEAST_SHARE * trials)
    grid = np.geomspace(min(first, most), most, STEPS - 1)
    own = np.unique(np.append(0, np.clip(np.round(grid), 1, most)).astype(np.int64))
    up, down = (side.ravel() for side in np.meshgrid(own, own, indexing="ij"))
    some = up + down > 0
    return up[some], down[some]


def _binomial_lower(guesses: Counts, correct: Counts, error: float) -> Array:
    """Exact: the log-odds at which ``P(Bin(r, sigma(.)) >= c) = error``, 0 where none is proved."""
    c = correct.astype(float)
    some = correct > 0
    q = np.full(c.size, 0.5)
    q[some] = betaincinv(c[some], (guesses - c + 1.0)[some], error)
    lower = np.maximum(logit(q) - _SAFE, 0.0)
    lower[~some] = 0.0
    above = some & (betainc(np.maximum(c, 1.0), guesses - c + 1.0, expit(lower)) > error)
    lower[above] = 0.0  # numerical doubt: claim nothing
    return np.asarray(lower)


def _relaxed(guesses: Counts, correct: Counts, pure: Array, error: float, failures: float) -> Array:
    """The bound with failures at every level that could still give the largest one.

    Failures only lower a bound, so a level whose pure bound is below the best relaxed one is
    skipped and left at 0; so is one that does not reject the best one.
    """
    lower = np.zeros(pure.size)
    best = 0.0
    for k in np.argsort(-pure):
        if pure[k] <= best:
            break
        if worst_tail(int(guesses[k]), int(correct[k]), float(expit(best)), failures) > error:
            continue
        lower[k] = relaxed_lower_bound(int(guesses[k]), int(correct[k]), failures, error)
        best = max(best, float(lower[k]))
    return lower


def relaxed_lower_bound(guesses: int, correct: int, failures: float, error: float) -> float:
    """The largest log-odds that is rejected when a mean of ``failures`` trials is exempt."""
    if correct == 0 or worst_tail(guesses, correct, 0.5, failures) > error:
        return 0.0
    low, high = 0.0, 1.0
    while worst_tail(guesses, correct, float(expit(high)), failures) <= error and high < 60.0:
        low, high = high, 2.0 * high
    while high - low > TOLERANCE:
        middle = 0.5 * (low + high)
        tail = worst_tail(guesses, correct, float(expit(middle)), failures)
        low, high = (middle, high) if tail <= error else (low, middle)
    return low


def worst_tail(guesses: int, correct: int, q: float, failures: float) -> float:
    """``sup P(F + Bin(r, q) >= c)`` over F in {0, 1, ...} with mean at most ``failures``, exactly.

    The supremum of ``E h(F)``, ``h(k) = P(Bin >= c - k)``, is the least concave majorant of h at
    the mean. h is first convex, then concave (the binomial is unimodal), so the majorant is the
    steepest chord from 0 up to its point of contact, and h itself behind it. Up to there it is the
    maximum of Steinke et al., Theorem 5.2. It grows with q, so that bisection is safe.
    """
    if correct <= 0 or failures >= correct:
        return 1.0
    v = np.arange(correct, 0, -1)
    h = np.append(betainc(v, guesses - v + 1.0, q), 1.0)
    slopes = (h[1:] - h[0]) / np.arange(1, correct + 1)
    contact = int(np.argmax(slopes)) + 1
    if failures <= contact:
        return min(1.0, float(h[0] + failures * slopes[contact - 1]))
    return min(1.0, float(np.interp(failures, np.arange(correct + 1), h)))
