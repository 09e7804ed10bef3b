"""The game as published: a record with its own value, or with one drawn from a proxy.

Observational auditing, Algorithm 2 and Theorem 5: a fair coin chooses, guesses are counted, and the
recursion allows for a proxy that is off by ``tau`` in total variation. What a score is worth and
how many guesses are made is learned on the head; the coins of the tail are flipped as often as the
rule says, and the p-values combined (``bounds/repeated.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from divulge.bounds import choice, guessing, learning, repeated
from divulge.bounds.guessing import Counts
from divulge.bounds.pairs import count_top, number_to_guess
from divulge.bounds.statement import HONEST_GUESSES, THEOREMS
from divulge.proof.rule import Rule
from divulge.proof.values import INDEPENDENT, combination
from divulge.result import Bound
from divulge.shift.value_prior import EXACT
from divulge.shift.value_trials import flipped_trials, shuffled_trials
from divulge.types import Array, Index, Progress

_FEWEST = 20
_CHUNK = 1_000_000
_MOST_TAUGHT = 200_000
_MOST_REHEARSED = 1_000_000


@dataclass(frozen=True)
class Coins:
    """Records whose own value is shown, or one drawn from the proxy."""

    score: Array = field(repr=False)
    """Per record and value."""
    own: Index = field(repr=False)
    proxy: Array = field(repr=False)
    head: Index = field(repr=False)
    tail: Index = field(repr=False)
    vouched: bool
    """Whether somebody vouches for the proxy: as exact, or within the rule's tau."""


@dataclass(frozen=True)
class CoinProof:
    """What the counts of every replay of the coins prove."""

    trials: Coins = field(repr=False)
    rule: Rule
    counts: tuple[Counts, ...]
    shown: tuple[Array, Array] = field(repr=False)
    """Score and truth of the values that the first replay shows."""
    bounds: tuple[Bound, ...] = ()

    def count_bound(self, delta: float | None, tau: float = 0.0) -> float:
        """Mu or epsilon at delta from the counts of all replays."""
        return repeated.count_bound(
            self.counts, delta=delta, error=self.rule.half, tau=tau, beside=self.rule.deltas
        )

    def alone_bound(self, replay: int, delta: float | None, tau: float = 0.0) -> float:
        """The same from one replay, at the whole error of the counts."""
        return repeated.alone_bound(self.counts[replay], delta=delta, error=self.rule.half, tau=tau)


def flip_coins(
    trials: Coins, rule: Rule, rng: np.random.Generator, progress: Progress | None = None
) -> CoinProof:
    """Learn on the head, flip the coins over the tail, and count."""
    from divulge.bounds import compiled

    evidence, share = _learn(trials, rule, rng)
    own, size = trials.own[trials.tail], trials.tail.size
    total = np.cumsum(trials.proxy[trials.tail], axis=1)
    counts: list[Counts] = []
    shown_first = np.zeros((2, 0))
    for r in range(rule.repetitions):
        if progress is not None:
            progress("coin flips", r, rule.repetitions)
        true = rng.random(size) < 0.5
        shown: npt.NDArray[np.intp] = np.empty(size, dtype=np.intp)
        compiled.flip(true, rng.random(size), own, total, shown)
        found = np.take_along_axis(evidence, shown[:, None], axis=1)[:, 0]
        found = np.where(true, found, -found)
        counts.append(count_top(found, number_to_guess(share, size), rng))
        if r == 0:
            shown_first = np.stack([trials.score[trials.tail, shown], np.where(true, 1.0, -1.0)])
    return CoinProof(trials, rule, tuple(counts), (shown_first[0], shown_first[1]))


def _learn(trials: Coins, rule: Rule, rng: np.random.Generator) -> tuple[Array, float]:
    """The evidence of every value of the tail, and which share of the trials is worth a guess."""
    rows, value, truth = shuffled_trials(trials.own, trials.proxy, trials.head, rng)
    rows, value, truth = rows[:_MOST_TAUGHT], value[:_MOST_TAUGHT], truth[:_MOST_TAUGHT]
    evidence = np.zeros((trials.tail.size, trials.score.shape[1]))
    if truth.size < _FEWEST or np.unique(truth).size < 2:
        return evidence, 0.0
    teach = learning.stacked(trials.score[rows, value][:, None], truth, np.zeros(truth.size))
    flat, out = trials.score[trials.tail].reshape(-1, 1), evidence.reshape(-1)
    for start in range(0, flat.size, _CHUNK):
        out[start : start + _CHUNK] = teach(flat[start : start + _CHUNK])
    rows, value, _ = flipped_trials(trials.own, trials.proxy, trials.head, rng)
    size = np.sort(np.abs(teach(trials.score[rows, value][:, None])))[::-1]
    times = max(1, min(trials.tail.size // rows.size, _MOST_REHEARSED // size.size))
    size = np.repeat(size, times)  # as many trials as the tail will have
    target = guessing.Target(tau=rule.tau or 0.0)
    chosen = guessing.choose_guesses(expit(size), target=target, error=rule.half)
    return evidence, chosen / size.size


def stated(proof: CoinProof) -> tuple[Bound, ...]:
    """All bounds: with a tau only what is allowed for it is a headline."""
    tau, vouched = proof.rule.tau, proof.trials.vouched
    if tau is None:
        return _counted(proof, None, vouched, True)
    return (*_counted(proof, tau, vouched, True), *_counted(proof, None, False, False))


def _counted(
    proof: CoinProof, tau: float | None, vouched: bool, headline: bool
) -> tuple[Bound, ...]:
    rule, allowed = proof.rule, tau is not None
    assumed = f"the proxy is within {tau:g} of the truth in total variation" if allowed else EXACT
    source = "Theorem 5" if allowed else "Theorem 5 with tau = 0"
    theorem = f"{THEOREMS['recursion']}; Observational auditing, {source}"
    return tuple(
        Bound(
            parameter="mu" if delta is None else "epsilon",
            delta=delta,
            value=proof.count_bound(delta, tau or 0.0),
            confidence=1.0 - rule.half,
            method="recursion",
            theorem=f"{theorem}{combination(rule, 'replays')}",
            assumptions=(INDEPENDENT, assumed, HONEST_GUESSES),
            correction="tau" if allowed else "none",
            headline=headline,
            standing=choice.standing(delta) if vouched else "estimated",
        )
        for delta in (None, 0.0, *rule.deltas)
    )
