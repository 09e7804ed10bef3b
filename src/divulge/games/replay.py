"""The attribute game, played: coins are flipped over fixed records, as often as asked.

Everything that a bet or a guess rests on (evidence, threshold, prior log-odds) is fixed for every
record and value before the first coin: it was learned on the head, whose truths are all revealed.
Only the tail is played.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from divulge.bounds import guessing, learners
from divulge.bounds.guessing import Counts
from divulge.bounds.repeated import Bets, Replay
from divulge.shift.balance import keep_probabilities
from divulge.shift.values import Priors, flipped_trials, shuffled_trials

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]
Progress = Callable[[str, int, int], None]

_FEWEST = 20
_CHUNK = 1_000_000
MOST_TAUGHT = 200_000
_MOST_REHEARSED = 1_000_000


@dataclass(frozen=True)
class Plan:
    """What is staked and guessed on each record of the tail, whatever value is shown."""

    codes: Index = field(repr=False)
    total: Array = field(repr=False)
    """Cumulative probabilities of the proxy."""
    bets: Bets
    trim: float
    threshold: float
    """Evidence of at least this size is worth a counted guess."""


@dataclass(frozen=True)
class Played:
    """Replays of the coin flips, and what was counted in each."""

    replays: tuple[Replay, ...] = field(repr=False)
    counts: tuple[Counts, ...]


def plan(
    codes: Index,
    score: Array,
    priors: Priors,
    *,
    error: float,
    rng: np.random.Generator,
    tau: float = 0.0,
) -> Plan:
    """Learn on the head what a score is worth, and which evidence is worth a guess."""
    inside = priors.inside
    rows, value, truth = shuffled_trials(codes, priors.log_proxy, priors.head, rng)
    chosen = np.flatnonzero(inside[rows, value])[:MOST_TAUGHT]
    rows, value, truth = rows[chosen], value[chosen], truth[chosen]
    tail = priors.tail
    evidence = np.zeros((tail.size, score.shape[1]))
    threshold = np.inf
    if truth.size >= _FEWEST and np.unique(truth).size == 2:
        teach = learners.stacked(score[rows, value][:, None], truth, priors.log_odds[rows, value])
        evidence = _on_all_values(teach, score[tail])
        evidence[~inside[tail]] = 0.0
        threshold = _threshold(codes, score, priors, teach, error, tau, rng)
    total = np.cumsum(np.exp(priors.log_proxy[tail]), axis=1)
    bets = Bets(evidence, priors.log_odds[tail])
    return Plan(codes[tail], total, bets, priors.trim, threshold)


def play(
    plan: Plan, replays: int, rng: np.random.Generator, progress: Progress | None = None
) -> Played:
    """Flip the coins, draw the values, balance and count; once per replay."""
    from divulge.bounds import compiled

    size = plan.codes.size
    kind = np.uint8 if plan.total.shape[1] <= 256 else np.uint32
    done: list[Replay] = []
    counts: list[Counts] = []
    for r in range(replays):
        if progress is not None:
            progress("coin flips", r, replays)
        true = rng.random(size) < 0.5
        shown: npt.NDArray[np.integer] = np.empty(size, dtype=kind)
        compiled.flip(true, rng.random(size), plan.codes, plan.total, shown)
        kept, guesses, correct = compiled.count_shown(
            true,
            shown,
            plan.bets.evidence,
            plan.bets.log_odds,
            rng.random(size),
            plan.trim,
            plan.threshold,
        )
        done.append(Replay(true, shown))
        counts.append(Counts(max(1, int(kept)), int(guesses), int(correct)))
    return Played(tuple(done), tuple(counts))


def _on_all_values(teach: learners.Predict, score: Array) -> Array:
    flat = score.reshape(-1, 1)
    out = np.empty(flat.size)
    for start in range(0, flat.size, _CHUNK):
        out[start : start + _CHUNK] = teach(flat[start : start + _CHUNK])
    return out.reshape(score.shape)


def _threshold(
    codes: Index,
    score: Array,
    priors: Priors,
    teach: learners.Predict,
    error: float,
    tau: float,
    rng: np.random.Generator,
) -> float:
    """Rehearse the game on the head: the evidence from which a guess raises the expected bound."""
    rows, value, truth = flipped_trials(codes, priors.log_proxy, priors.head, rng)
    prior = priors.log_odds[rows, value]
    keep = priors.inside[rows, value] & (rng.random(rows.size) < keep_probabilities(truth, prior))
    if not keep.any():
        return np.inf
    size = np.sort(np.abs(teach(score[rows[keep], value[keep]][:, None])))[::-1]
    times = max(1, min(priors.tail.size // rows.size, _MOST_REHEARSED // size.size))
    size = np.repeat(size, times)  # as many trials as the tail will have
    guesses = guessing.choose_guesses(expit(size), target=guessing.Target(tau=tau), error=error)
    return float(size[guesses - 1])
