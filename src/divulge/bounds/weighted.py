"""Weighted guesses: a lower bound on epsilon, at any delta, from the total weight of right guesses.

Hypothesis: the mechanism is (epsilon, delta)-DP, and the truths are independent fair coins. Guess
every trial on which there is evidence, each with a whole number as its weight; guesses and weights
may depend on the model, the records and the truths of other trials (the learned ones). If
delta = 0, each guess is right with probability at most ``u = sigma(epsilon)``, whatever came
before it, given the model. So the total weight T of the right ones is dominated by
``T_0 = sum_i w_i Bernoulli(u)``, whose tail is computed. The best weights against an epsilon are
the log-likelihood ratios beyond it, ``(|evidence| - epsilon)^+`` (Neyman and Pearson): the wealth
of bets that are fixed beforehand, with its own tail instead of Ville's inequality.

*Delta.* By the reduction of ``reduction.py`` the truths are, but for N of them,
``E N <= m delta (1 - u)``, those of an epsilon-DP mechanism, given the model. j of them change T by
j times the largest weight L at most. So
``P(T >= t) <= P(T_0 >= t - j L) + m delta (1 - u) / (j + 1)``. All of it holds given the model, so
that it costs nothing that scores choose which trials are guessed, and with which weights; j follows
from epsilon, m, delta and the error.

*The bound.* Epsilon goes up in segments of constant j. Inside a segment the right-hand side crosses
the error once, upwards: ``u dP/du >= P log_u P`` for increasing events (Kahn and Kalai 2007, from
Russo's formula and the edge-isoperimetric inequality), so that P rises by
``(1 - u) P ln(1/P) / ln(1/u) >= u P ln(1/P)`` per unit of epsilon, while what is spent, s, falls by
``s u``; s is at most a third of the error, so P at the crossing two thirds of it, which is more.
A segment is left only if its upper end is refuted with its own j, and the next one must be refuted
at its start. So a bound above the true epsilon needs that epsilon itself (or the start, a true
hypothesis too) to be refuted. Bisection returns its refuted end.

The tail is a discrete Fourier transform over a window outside of which Hoeffding's inequality
leaves 1e-12; that, and rounding, is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtri

from divulge.bounds import learning
from divulge.bounds.checks import check_delta
from divulge.bounds.reduction import segments
from divulge.errors import require, require_probability
from divulge.trials import Trials
from divulge.types import Array, slices

LEVELS = 32
TOLERANCE = 1e-6
MOST = 0.1
"""Trials times delta up to which an audit takes weighted guesses, and beyond it the recursion."""
LARGEST = 30.0
"""No larger epsilon is looked for."""
_FAR = math.sqrt(math.log(1e12) / 2.0)
_CELLS = 1024
_TARGETS = 24
_FEWEST = 10
_MANY_LEARNED, _BELIEVED = 1000, 30.0
_LEARNED_SHARE, _LEARNED, _MOST_LEARNED_SHARE = 0.1, 300, 0.2


Held: TypeAlias = tuple[Array, npt.NDArray[Any]]
"""Evidence of learned trials out of fold, and their truths."""


@dataclass(frozen=True)
class Weighed:
    """Guesses by weight, and how much of it was right."""

    trials: int
    """All that were counted, guessed or not."""
    guessed: npt.NDArray[np.int64] = field(repr=False)
    """guessed[w]: how many guesses have the weight w; guessed[0] are no guesses."""
    right: int
    """The weight of the right ones, and below how many they are."""
    correct: int = 0

    @property
    def guesses(self) -> int:
        """How many trials were guessed."""
        return int(self.guessed[1:].sum())


def learned(trials: int) -> int:
    """How many trials the weights are learned from: a tenth, or up to a fifth of few trials."""
    few = min(_LEARNED, round(_MOST_LEARNED_SHARE * trials))
    return max(1, few, round(_LEARNED_SHARE * trials))


def calibrated(
    trials: Trials, rng: np.random.Generator, *, delta: float = 0.0, error: float = 0.05
) -> float:
    """Learn what a score is worth on some of the trials, guess the others; fair coins."""
    require(not np.any(trials.prior), "Weighted guesses are for fair coins: thin the trials first.")
    size = learned(len(trials))
    if size >= len(trials):
        return 0.0
    order = rng.permutation(len(trials))
    head, rest = trials.select(order[:size]), trials.select(order[size:])
    if np.unique(head.truth).size < 2:
        return 0.0
    teach, out = learning.stacked_and_held(
        head.score.reshape(len(head), -1), head.truth, head.prior
    )
    evidence = teach(rest.score.reshape(len(rest), -1))
    target = choose_target(evidence, delta, error, (out, head.truth))
    weighed = weigh(evidence, rest.truth, target)
    return epsilon_lower_bound(weighed, delta, error)


def weigh(evidence: Array, truth: npt.NDArray[Any], target: float) -> Weighed:
    """Guess the sign of the evidence, weighed by how far its size lies beyond the target."""
    most = float(np.abs(evidence).max(initial=0.0)) - target
    guessed, right, correct = np.zeros(LEVELS + 1, dtype=np.int64), 0, 0
    if most <= 0.0:
        return Weighed(int(truth.size), guessed, 0)
    for part in slices(truth.size):
        beyond = np.maximum(np.abs(evidence[part]) - target, 0.0)
        weight = np.minimum(np.ceil(beyond / most * LEVELS), LEVELS).astype(np.int64)
        guessed += np.bincount(weight, minlength=LEVELS + 1)
        agreed = weight[evidence[part] * truth[part] > 0.0]
        right, correct = right + int(agreed.sum()), correct + int(np.count_nonzero(agreed))
    return Weighed(int(truth.size), guessed, right, correct)


def choose_target(evidence: Array, delta: float, error: float, held: Held | None = None) -> float:
    """The epsilon to weigh against: the largest bound at the weight that is expected to be right.

    Less one standard deviation, and by the normal approximation: it only chooses. What is expected
    is what the evidence says of itself; learned from many trials also what it was worth on learned
    trials out of fold (``held``), since the largest evidence is the luckiest.
    """
    most = float(np.abs(evidence).max(initial=0.0))
    if most <= 0.0:
        return 0.0
    number, a = _cells(evidence, most)
    q = expit(a)
    grid = np.arange(0.0, most + 0.02, 0.02)
    u = expit(grid)
    j = np.zeros(grid.size)
    for start, allowed in segments(evidence.size * delta, error):
        j[grid >= start] = allowed
    z = ndtri(1.0 - error + evidence.size * delta * (1.0 - u) / (j + 1.0))
    chosen, largest = 0.0, -1.0
    for target in np.linspace(0.0, 0.95 * most, _TARGETS):
        w = np.maximum(a - target, 0.0)
        if number[w > 0.0].sum() < _FEWEST:
            break
        total, square = float(number @ w), float(number @ (w * w))
        right = float(number @ (w * q)) / total
        if held is not None and held[0].size >= _MANY_LEARNED:
            right = _seen(held, float(target), right)
        expected = total * right - math.sqrt(square * right * (1.0 - right))
        passed = expected - total * u >= z * np.sqrt(square * u * (1.0 - u)) + j * w.max()
        bound = float(grid[passed].max(initial=0.0))
        if bound > largest:
            chosen, largest = float(target), bound
    return chosen


def _cells(evidence: Array, most: float) -> tuple[Array, Array]:
    """How many trials have evidence of which size."""
    number, edges = np.zeros(_CELLS), np.zeros(_CELLS + 1)
    for part in slices(evidence.size):
        found, edges = np.histogram(np.abs(evidence[part]), bins=_CELLS, range=(0.0, most))
        number += found
    return number, 0.5 * (edges[1:] + edges[:-1])


def _seen(held: Held, target: float, believed: float) -> float:
    """The weighted share of right guesses on learned trials, what is believed as 30 of them."""
    weight = np.maximum(np.abs(held[0]) - target, 0.0)
    total = float(weight.sum())
    if total <= 0.0:
        return believed
    number = total * total / float(weight @ weight)
    right = float(weight[held[0] * held[1] > 0.0].sum()) / total
    return (number * right + _BELIEVED * believed) / (number + _BELIEVED)


def tail(guessed: npt.NDArray[np.int64], u: float, weight: int) -> float:
    """An upper bound of ``P(T_0 >= weight)``, above it by about 1e-9."""
    levels = np.flatnonzero(guessed)
    levels = levels[levels > 0]
    number = guessed[levels].astype(float)
    total = int(guessed[levels] @ levels)
    if weight <= 0:
        return 1.0
    if weight > total:
        return 0.0
    square = float(number @ (levels * levels).astype(float))
    window = min(total + 1, math.ceil(2.0 * _FAR * math.sqrt(square)) + 2)
    size = 1 << max(4, (window - 1).bit_length())
    low = 0 if size > total else max(0, math.floor(u * float(number @ levels)) - size // 2)
    turn = np.arange(size // 2 + 1)
    modulus, angle = np.zeros(turn.size), 2.0 * np.pi * ((turn * low) % size) / size
    for level, n in zip(levels.tolist(), number.tolist(), strict=True):
        step = 2.0 * np.pi * ((turn * level) % size) / size
        real, imaginary = 1.0 - u + u * np.cos(step), -u * np.sin(step)
        modulus += 0.5 * n * np.log(np.maximum(real * real + imaginary * imaginary, 1e-300))
        angle += n * np.arctan2(imaginary, real)
    mass = np.fft.irfft(np.exp(modulus) * (np.cos(angle) + 1j * np.sin(angle)), size)
    if weight - low >= size:
        return 1e-9
    reached = float(mass[max(0, weight - low) :].sum())
    return min(1.0, max(0.0, reached) + 1e-9 + 1e-14 * float(number.sum()))


def climb(
    weighed: Weighed,
    parts: Sequence[tuple[float, int]],
    error: float,
    spent: Callable[[float, int], float],
) -> float:
    """The largest refuted epsilon, segment after segment; ``spent`` is what failures cost."""

    def refuted(epsilon: float, changed: int) -> bool:
        left = error - spent(epsilon, changed)
        if left <= 0.0:
            return False
        u = float(expit(epsilon))
        return tail(weighed.guessed, u, weighed.right - changed * LEVELS) <= left

    proved = 0.0
    for (start, changed), end in zip(parts, [*(s for s, _ in parts[1:]), LARGEST], strict=True):
        if not refuted(start, changed):
            return proved
        low, high = start, end
        if refuted(high, changed):
            proved = high
            continue
        while high - low > TOLERANCE:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if refuted(middle, changed) else (low, middle)
        return low
    return proved


def epsilon_lower_bound(weighed: Weighed, delta: float = 0.0, error: float = 0.05) -> float:
    """Lower bound on epsilon at delta."""
    require_probability("error", error)
    check_delta(delta)
    require(error <= 0.5, f"error must be at most 0.5. Found {error!r}.")
    expected = weighed.trials * delta
    return climb(
        weighed,
        segments(expected, error),
        error,
        lambda epsilon, changed: expected * float(expit(-epsilon)) / (changed + 1.0),
    )
