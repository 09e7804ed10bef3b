"""Choosing guesses honestly: which trials to guess, and how many.

A counted guess may depend on the model and the records, never on the truths it is counted
against. So what a score is worth is learned on a calibration share of the trials, which is then
spent, or a union bound pays for every number tried. There is no uncorrected sweep. That the model
has a say in the number is paid for as well (``choice.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from divulge.bounds import learning, recursion
from divulge.bounds.choice import least, price
from divulge.bounds.counting import binomial_epsilon_lower_bound
from divulge.curves import ApproximateDP, Gaussian
from divulge.errors import require, require_probability
from divulge.trials import Trials
from divulge.types import Array, slices

Guesses = npt.NDArray[np.int8]
CALIBRATION_SHARE = 0.1
UNION_SHARES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
FAIR_SHARE = 0.8
_LEAST_CALIBRATION = 20
_FALLBACK_SHARE = 0.2


@dataclass(frozen=True)
class Counts:
    """What the recursion needs: m trials, r guesses, c of them correct."""

    trials: int
    guesses: int
    correct: int

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.trials + other.trials,
            self.guesses + other.guesses,
            self.correct + other.correct,
        )


@dataclass(frozen=True)
class Target:
    """What the number of guesses is chosen for: mu (delta None) or epsilon at delta.

    Its bounds allow for a number that was chosen from scores.
    """

    delta: float | None = None
    tau: float = 0.0
    """Total-variation budget of a proxy (not for delta 0)."""
    beside: tuple[float, ...] = ()
    """Other deltas at which the same count proves something, so that all hold together."""

    def bound(self, counts: Counts, error: float) -> float:
        """The bound at this target: recursion, or exact binomial for epsilon at delta 0."""
        m, r, c = counts.trials, counts.guesses, counts.correct
        if self.delta == 0.0:
            return binomial_epsilon_lower_bound(m, r, c, error)
        at, delta = price(m, self.delta, error, self.tau, self.beside)
        if delta is None:
            return recursion.mu_lower_bound(m, r, c, at, tau=self.tau)
        return recursion.epsilon_lower_bound(m, r, c, delta, at, tau=self.tau)

    def exceeds(self, counts: Counts, error: float, value: float) -> bool:
        """Whether the bound is above ``value``: one test, where the bound itself is a search."""
        if self.delta == 0.0:
            return self.bound(counts, error) > value
        above = value + 2.0 * recursion.TOLERANCE
        m, r, c = counts.trials, counts.guesses, counts.correct
        at, delta = price(m, self.delta, error, self.tau, self.beside)
        curve = Gaussian(above) if delta is None else ApproximateDP(above, delta)
        return recursion.rejects(curve, m, r, c, error=at, tau=self.tau)


MU = Target()


def top_guesses(confidence: Array, guesses: int, rng: np.random.Generator) -> Guesses:
    """Guess the sign of ``confidence`` where it is largest in size; exactly ``guesses`` of them.

    Ties, and the sign of a confidence of 0, are broken at random, so that the order of the rows
    plays no part.
    """
    require(0 <= guesses <= confidence.size, "More guesses than trials.")
    sure = np.abs(confidence)
    sure.partition(max(0, sure.size - guesses - 1))
    sure = sure[sure.size - guesses :]
    least = float(sure.min(initial=np.inf))
    del sure
    above = (confidence > least) | (confidence < -least)
    tied = (confidence == least) | (confidence == -least)
    surest = int(above.sum())
    uniforms = [rng.random(part.stop - part.start)[tied[part]] for part in slices(confidence.size)]
    first = np.argsort(np.concatenate([np.zeros(0), *uniforms]), kind="stable")
    chosen = np.flatnonzero(tied)[first[: guesses - surest]]
    fair = [rng.random(p.stop - p.start)[max(0, surest - p.start) :] for p in slices(guesses)]
    coin = np.where(np.concatenate([np.zeros(0), *fair]) < 0.5, 1, -1)
    out = (confidence > 0.0).astype(np.int8) - (confidence < 0.0).astype(np.int8)
    out[chosen] = np.where(out[chosen] == 0, coin, out[chosen])
    above[chosen] = True
    out[~above] = 0
    return out


def centred_ranks(score: Array) -> Array:
    """Mid-ranks of the scores in (-1, 1): the top half speaks for +1, the bottom half for -1."""
    _, which, count = np.unique(score, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    middle = last - 0.5 * (count - 1)
    return np.asarray((2.0 * middle[which] - score.size - 1.0) / score.size, dtype=float)


def count_correct(guess: Guesses, truth: npt.NDArray[Any]) -> Counts:
    """Counts of one vector of guesses."""
    made = guess != 0.0
    return Counts(int(guess.size), int(made.sum()), int((guess[made] == truth[made]).sum()))


def calibrated(
    trials: Trials,
    rng: np.random.Generator,
    *,
    target: Target = MU,
    error: float = 0.05,
    share: float = CALIBRATION_SHARE,
) -> Counts:
    """Spend a calibration share on learning how sure a score is, then count on the rest.

    The calibration trials teach the evidence of a score (a logistic and an isotonic fit, stacked).
    The rest is ranked by it, and the number of guesses is the one with the largest bound at the
    count that the calibration model expects, less one standard deviation. Assumes fair coins:
    balance first where the record gives something away.
    """
    require_probability("share", share)
    order = rng.permutation(len(trials))
    size = max(1, round(share * len(trials)))
    if size == len(trials):
        return Counts(len(trials), 0, 0)
    known, rest = trials.select(order[:size]), trials.select(order[size:])
    if known.truth.size < _LEAST_CALIBRATION or np.unique(known.truth).size < 2:
        guess = top_guesses(
            centred_ranks(rest.score), max(1, round(_FALLBACK_SHARE * len(rest))), rng
        )
        return count_correct(guess, rest.truth)
    teach = learning.stacked(known.score.reshape(size, -1), known.truth, known.prior)
    evidence = teach(rest.score.reshape(len(rest), -1))
    accuracy = np.sort(expit(np.abs(evidence)))[::-1]
    guesses = choose_guesses(accuracy, target=target, error=error)
    return count_correct(top_guesses(evidence, guesses, rng), rest.truth)


def choose_guesses(
    accuracy: Array,
    *,
    target: Target = MU,
    error: float = 0.05,
    candidates: int = 24,
    deltas: Sequence[float] = (),
) -> int:
    """The number of guesses whose expected count, less one sd, gives the largest bound.

    ``accuracy`` is the expected accuracy of each guess, largest first. Among very many trials a
    delta could account for all of the few guesses that are best for mu: where it may fail for one
    trial or more, epsilon at these ``deltas`` must keep ``FAIR_SHARE`` of what it could be.
    """
    m = accuracy.size
    fewest = least(m, target.delta)
    sizes = np.unique(np.round(np.geomspace(fewest, m, candidates)).astype(int))
    expected, spread = _expected(accuracy, sizes)
    surplus = (expected - sizes / 2.0) / np.sqrt(sizes)
    order = np.argsort(-surplus, kind="stable")
    likely = [
        Counts(m, int(r), int(min(r, max(0.0, np.floor(mean - sd)))))
        for r, mean, sd in zip(sizes[order], expected[order], spread[order], strict=True)
    ]
    further = [Target(d, beside=tuple(deltas)) for d in deltas if m * d >= 1.0]
    if further:
        beside = np.array([[t.bound(c, error) for c in likely] for t in further])
        fair = (beside >= FAIR_SHARE * beside.max(axis=1, keepdims=True)).all(axis=0)
        likely = [c for c, kept in zip(likely, fair, strict=True) if kept] or likely
    chosen, largest = likely[0], 0.0
    for counts in likely:
        if target.exceeds(counts, error, largest):
            chosen, largest = counts, target.bound(counts, error)
    return chosen.guesses


def _expected(accuracy: Array, sizes: npt.NDArray[np.intp]) -> tuple[Array, Array]:
    """Mean and standard deviation of the number of correct ones among the first ``sizes``."""
    mean, variance = np.empty(sizes.size), np.empty(sizes.size)
    total = np.zeros(2)
    for part in slices(accuracy.size):
        here = accuracy[part]
        sums = np.stack([here, here * (1.0 - here)])
        sums[:, 0] += total
        np.cumsum(sums, axis=1, out=sums)
        inside = (sizes > part.start) & (sizes <= part.stop)
        mean[inside], variance[inside] = sums[:, sizes[inside] - 1 - part.start]
        total = sums[:, -1].copy()
    return mean, np.sqrt(variance)


def union(
    trials: Trials,
    rng: np.random.Generator,
    *,
    target: Target = MU,
    error: float = 0.05,
    shares: tuple[float, ...] = UNION_SHARES,
) -> float:
    """The largest bound over a fixed grid of numbers of guesses, each at ``error / len(grid)``."""
    m = len(trials)
    confidence = centred_ranks(trials.score)
    sizes = sorted({max(1, round(share * m)) for share in shares})
    each = error / len(sizes)
    counts = [count_correct(top_guesses(confidence, r, rng), trials.truth) for r in sizes]
    if target.delta == 0.0:
        return max(target.bound(c, each) for c in counts)
    return recursion.sweep(
        m,
        [c.guesses for c in counts],
        [c.correct for c in counts],
        delta=target.delta,
        error=each,
    )
