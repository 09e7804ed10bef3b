"""The inner loops of the bounds, compiled by numba on first use and cached on disk.

Imported only when a bound is computed, so that ``import divulge`` does not pay for numba.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

APPROXIMATE_DP, GAUSSIAN = 0, 1
_SHRINK = 1.0 - 1e-12  # a smaller fbar^-1 rejects less: rounding goes to the smaller claim


@njit(cache=True)
def normal_cdf(x: float) -> float:
    """``Phi(x)``."""
    return 0.5 * math.erfc(-x * 0.7071067811865476)


@njit(cache=True)
def _ratio(x: float, top: np.ndarray, bottom: np.ndarray) -> float:
    numerator, denominator = top[7], bottom[7]
    for j in range(6, -1, -1):
        numerator = numerator * x + top[j]
        denominator = denominator * x + bottom[j]
    return float(numerator / denominator)


# Wichura (1988), algorithm AS 241, PPND16: the normal quantile to about 1e-16.
_CENTRE_TOP = np.array(
    [
        3.3871328727963666080e0,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ]
)
_CENTRE_BOTTOM = np.array(
    [
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ]
)
_MIDDLE_TOP = np.array(
    [
        1.42343711074968357734e0,
        4.63033784615654529590e0,
        5.76949722146069140550e0,
        3.64784832476320460504e0,
        1.27045825245236838258e0,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ]
)
_MIDDLE_BOTTOM = np.array(
    [
        1.0,
        2.05319162663775882187e0,
        1.67638483018380384940e0,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ]
)
_TAIL_TOP = np.array(
    [
        6.65790464350110377720e0,
        5.46378491116411436990e0,
        1.78482653991729133580e0,
        2.96560571828504891230e-1,
        2.65321895265761230930e-2,
        1.24266094738807843860e-3,
        2.71155556874348757815e-5,
        2.01033439929228813265e-7,
    ]
)
_TAIL_BOTTOM = np.array(
    [
        1.0,
        5.99832206555887937690e-1,
        1.36929880922735805310e-1,
        1.48753612908506148525e-2,
        7.86869131145613259100e-4,
        1.84631831751005468180e-5,
        1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ]
)


@njit(cache=True)
def normal_quantile(p: float) -> float:
    """``Phi^-1(p)``."""
    if p <= 0.0:
        return -np.inf
    if p >= 1.0:
        return np.inf
    q = p - 0.5
    if abs(q) <= 0.425:
        return q * _ratio(0.180625 - q * q, _CENTRE_TOP, _CENTRE_BOTTOM)
    r = math.sqrt(-math.log(p if q < 0.0 else 1.0 - p))
    if r <= 5.0:
        value = _ratio(r - 1.6, _MIDDLE_TOP, _MIDDLE_BOTTOM)
    else:
        value = _ratio(r - 5.0, _TAIL_TOP, _TAIL_BOTTOM)
    return -value if q < 0.0 else value


@njit(cache=True)
def _inverse(kind: int, parameter: float, delta: float, power: float) -> float:
    """``fbar^-1`` of f_{eps,delta}, or of G_mu but for a failure of probability delta."""
    if kind == GAUSSIAN:
        y = (power - delta) / (1.0 - delta) if delta > 0.0 else power
        if y <= 0.0:
            return 0.0
        return (1.0 - delta) * normal_cdf(normal_quantile(min(y, 1.0)) - parameter)
    left = (power - delta) * math.exp(-parameter)
    right = 1.0 - delta - (1.0 - power) * math.exp(parameter)
    return min(1.0, max(0.0, left, right))


@njit(cache=True)
def rejects(
    kind: int,
    parameter: float,
    delta: float,
    trials: int,
    guesses: int,
    correct: int,
    error: float,
    tau: float,
    others: float = 1.0,
) -> bool:
    """One run of the f-DP recursion: can ``correct`` of ``guesses`` happen with prob. > error?

    ``others`` is the number of wrong answers to each trial.
    """
    m, r = float(trials), float(guesses)
    goal = r / m * (1.0 + 1e-9)
    right = error * correct / m
    wrong = error * (r - correct) / m
    for k in range(correct - 1, -1, -1):
        h = _SHRINK * others * _inverse(kind, parameter, delta, right) - tau
        if h <= wrong:
            break  # right stays as it is, and so does h: no further step can change anything
        right += k / (r - k) * (h - wrong)
        wrong = h
        if right + wrong >= goal:
            return True
    return guesses > 0 and right + wrong >= goal


@njit(cache=True)
def rejects_lines(
    epsilons: np.ndarray,
    deltas: np.ndarray,
    trials: int,
    guesses: int,
    correct: int,
    error: float,
) -> bool:
    """One run of the recursion against the least of several lines ``e^epsilon x + delta``."""
    m, r = float(trials), float(guesses)
    goal = r / m * (1.0 + 1e-9)
    right = error * correct / m
    wrong = error * (r - correct) / m
    flat = np.exp(-epsilons)
    for k in range(correct - 1, -1, -1):
        h = 0.0
        for j in range(flat.size):
            h = max(h, _SHRINK * (right - deltas[j]) * flat[j])
        if h <= wrong:
            break  # as above
        right += k / (r - k) * (h - wrong)
        wrong = h
        if right + wrong >= goal:
            return True
    return guesses > 0 and right + wrong >= goal


@njit(cache=True)
def largest_rejected(
    kind: int,
    delta: float,
    trials: int,
    guesses: int,
    correct: int,
    error: float,
    tau: float,
    floor: float,
    tolerance: float,
    offset: float,
    others: float = 1.0,
) -> float:
    """Bisection for the largest rejected parameter above ``floor``; -1 if floor is not rejected.

    For the Gaussian, parameter x is tested as ``sqrt(x^2 + offset^2)``, for (eps, delta) as
    ``x + offset``: what the composition correction needs. Always returns a rejected value.
    """
    low = floor
    at = _shifted(kind, low, offset)
    if not rejects(kind, at, delta, trials, guesses, correct, error, tau, others):
        return -1.0
    high = max(1.0, 2.0 * floor)
    while high < 700.0 and rejects(
        kind, _shifted(kind, high, offset), delta, trials, guesses, correct, error, tau, others
    ):
        low = high
        high *= 2.0
    while high - low > tolerance:
        middle = 0.5 * (low + high)
        at = _shifted(kind, middle, offset)
        if rejects(kind, at, delta, trials, guesses, correct, error, tau, others):
            low = middle
        else:
            high = middle
    return low


@njit(cache=True)
def _shifted(kind: int, x: float, offset: float) -> float:
    return math.hypot(x, offset) if kind == GAUSSIAN else x + offset


@njit(cache=True)
def poisson_binomial_chunk(q: np.ndarray) -> np.ndarray:
    """The exact distribution of a sum of independent Bernoulli(q), by dynamic programming."""
    pmf = np.zeros(q.size + 1)
    pmf[0] = 1.0
    for i in range(q.size):
        for k in range(i + 1, 0, -1):
            pmf[k] = pmf[k] * (1.0 - q[i]) + pmf[k - 1] * q[i]
        pmf[0] *= 1.0 - q[i]
    return pmf


@njit(cache=True)
def ruin_or_reach(
    odds: np.ndarray,
    direction: np.ndarray,
    size: np.ndarray,
    denominator: np.ndarray,
    epsilon: float,
    goal: float,
    wealth: np.ndarray,
    start: int,
    stop: int,
) -> int:
    """Advance the wealths of one epsilon over trials start..stop; the trial that reached the goal.

    Per learner k and trial i: ``size[k, i] = |logit q - l|`` and ``direction[k, i]`` is +1 if the
    side betted on came true, -1 if not; ``odds[i] = e^{-S l}``. A bet is placed only where
    ``size > epsilon``; its factor is ``(1 + odds e^{-direction eps}) / denominator``. Returns -1
    if the mean wealth never reached the goal; ``wealth`` is updated in place.
    """
    shrink = math.exp(-epsilon)
    grow = math.exp(epsilon)
    learners = wealth.size
    for i in range(start, stop):
        moved = False
        for k in range(learners):
            if size[k, i] > epsilon:
                step = shrink if direction[k, i] > 0 else grow
                wealth[k] *= (1.0 + odds[i] * step) / denominator[k, i]
                moved = True
        if moved:
            total = 0.0
            for k in range(learners):
                total += wealth[k]
            if total >= goal * learners:
                return i
    return -1


@njit(cache=True)
def roc_corners(
    members: np.ndarray, others: np.ndarray, false: np.ndarray, true: np.ndarray
) -> int:
    """Counts of (others, members) at or above each threshold, from two sorted arrays.

    From the highest threshold down, starting at (0, 0). A point between two equal steps is left
    out, as scikit-learn's ``roc_curve`` does. Fills ``false`` and ``true``, returns how far.
    """
    i, j, last = members.size - 1, others.size - 1, 0
    step_false, step_true = -1, -1
    while i >= 0 or j >= 0:
        of_member = j < 0 or (i >= 0 and members[i] >= others[j])
        threshold = members[i] if of_member else others[j]
        before_false, before_true = others.size - 1 - j, members.size - 1 - i
        while i >= 0 and members[i] == threshold:
            i -= 1
        while j >= 0 and others[j] == threshold:
            j -= 1
        now_false, now_true = others.size - 1 - j, members.size - 1 - i
        more_false, more_true = now_false - before_false, now_true - before_true
        if last <= 1 or more_false != step_false or more_true != step_true:
            last += 1
        false[last], true[last] = now_false, now_true
        step_false, step_true = more_false, more_true
    return last + 1


@njit(cache=True, nogil=True)
def flip(
    coin: np.ndarray, uniforms: np.ndarray, codes: np.ndarray, total: np.ndarray, shown: np.ndarray
) -> None:
    """The value that each trial shows: the record's own, or one drawn by inverse transform.

    ``total[i]`` are the cumulative probabilities of record i. Fills ``shown`` in place.
    """
    classes = total.shape[1]
    for i in range(codes.size):
        if coin[i]:
            shown[i] = codes[i]
            continue
        goal = uniforms[i] * total[i, classes - 1]
        k = 0
        while k < classes - 1 and goal >= total[i, k]:
            k += 1
        shown[i] = k
