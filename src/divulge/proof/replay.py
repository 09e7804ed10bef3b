"""The attribute game, played: coins are flipped over fixed records, as often as asked.

Everything that a bet or a guess rests on (evidence, share of guesses, prior log-odds) is fixed for
every record and value before the first coin: it was learned on the head, whose truths are all
revealed. Only the tail is played.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from divulge.bounds import guessing, learning
from divulge.bounds.choice import least
from divulge.bounds.guessing import Counts
from divulge.bounds.repeated import Bets, Replay
from divulge.shift.balance import keep_probabilities
from divulge.shift.strangers import Strangers, compare, unexplained
from divulge.shift.value_prior import Priors
from divulge.shift.value_trials import flipped_trials, shuffled_trials
from divulge.types import Array, Index, Progress

_FEWEST = 20
_CHUNK = 1_000_000
MOST_TAUGHT = 200_000
_MOST_REHEARSED = 1_000_000


@dataclass(frozen=True)
class Stakes:
    """What is staked and guessed on each record of the tail, whatever value is shown."""

    codes: Index = field(repr=False)
    total: Array = field(repr=False)
    """Cumulative probabilities of the proxy."""
    bets: Bets
    trim: float
    share: float
    """Share of the kept trials that are guessed, those with the strongest evidence.

    It was chosen from scores, which is paid for (``bounds/choice.py``).
    """
    strangers: Strangers | None = None
    """How much of the evidence could be knowledge, by what the target says of held-out records."""


@dataclass(frozen=True)
class Replays:
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
    beyond: Array | None = None,
) -> Stakes:
    """Learn on the head what a score is worth, and which share of the trials is worth a guess.

    ``beyond`` are the scores of the held-out records.
    """
    inside = priors.inside
    rows, value, truth = shuffled_trials(codes, priors.proxy, priors.head, rng)
    chosen = np.flatnonzero(inside[rows, value])[:MOST_TAUGHT]
    rows, value, truth = rows[chosen], value[chosen], truth[chosen]
    tail = priors.tail
    other = None if priors.other is None else priors.other[tail]
    evidence = np.zeros((tail.size, score.shape[1]))
    share, strangers = 0.0, None
    if truth.size >= _FEWEST and np.unique(truth).size == 2:
        teach = learning.stacked(score[rows, value][:, None], truth, priors.log_odds[rows, value])
        evidence = _on_all_values(teach, score[tail])
        if beyond is not None and priors.beyond is not None:
            strangers = compare(
                priors.settle(evidence, priors.log_odds[tail], other)[0],
                priors.beyond.settle(
                    _on_all_values(teach, beyond), priors.beyond.log_odds, priors.beyond.other
                )[0],
            )
        share = _share(codes, score, priors, teach, strangers, error, tau, rng)
    bets = Bets(*_settle(priors, strangers, evidence, priors.log_odds[tail], other))
    total = np.cumsum(priors.proxy[tail], axis=1)
    return Stakes(codes[tail], total, bets, priors.trim, share, strangers)


def _settle(
    priors: Priors,
    strangers: Strangers | None,
    evidence: Array,
    log_odds: Array,
    other: Array | None,
) -> tuple[Array, Array]:
    """What is left to bet on all values of some records, and the prior to bet against."""
    evidence, prior = priors.settle(evidence, log_odds, other)
    if strangers is None:
        return evidence, prior
    evidence, prior = unexplained(evidence, prior, strangers.share(evidence))
    return np.where(np.abs(prior) <= priors.trim, evidence, 0.0), prior


def play(
    plan: Stakes, replays: int, rng: np.random.Generator, progress: Progress | None = None
) -> Replays:
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
        bets = plan.bets
        kept = compiled.kept_evidence(
            true, shown, bets.evidence, bets.log_odds, rng.random(size), plan.trim
        )
        done.append(Replay(true, shown))
        counts.append(count_top(kept, _guesses(plan.share, kept.size), rng))
    return Replays(tuple(done), tuple(counts))


def _guesses(share: float, kept: int) -> int:
    """The share of the kept trials, or none; not fewer than are ever considered."""
    return max(round(share * kept), least(kept, None)) if share > 0.0 else 0


def count_top(evidence: Array, guesses: int, rng: np.random.Generator) -> Counts:
    """Guess the trials with the strongest evidence, positive where it speaks for the truth.

    Ties, and the sign of no evidence, are broken at random.
    """
    if guesses == 0 or evidence.size == 0:
        return Counts(max(1, evidence.size), 0, 0)
    size = np.abs(evidence)
    least = np.partition(size, size.size - guesses)[size.size - guesses]
    above = size > least
    sure, open_ = int(above.sum()), size == least
    right, wrong = int((evidence[open_] > 0.0).sum()), int((evidence[open_] < 0.0).sum())
    if least > 0.0:
        more = int(rng.hypergeometric(right, wrong, guesses - sure))
    else:
        more = int(rng.binomial(guesses - sure, 0.5))
    return Counts(evidence.size, guesses, int((evidence[above] > 0.0).sum()) + more)


def _on_all_values(teach: learning.Predict, score: Array) -> Array:
    flat = score.reshape(-1, 1)
    out = np.empty(flat.size)
    for start in range(0, flat.size, _CHUNK):
        out[start : start + _CHUNK] = teach(flat[start : start + _CHUNK])
    return out.reshape(score.shape)


def _share(
    codes: Index,
    score: Array,
    priors: Priors,
    teach: learning.Predict,
    strangers: Strangers | None,
    error: float,
    tau: float,
    rng: np.random.Generator,
) -> float:
    """Rehearse the game on the head: the share of guesses with the largest expected bound."""
    rows, value, truth = flipped_trials(codes, priors.proxy, priors.head, rng)
    other = None if priors.other is None else priors.other[rows]
    settled = _settle(
        priors, strangers, _on_all_values(teach, score[rows]), priors.log_odds[rows], other
    )
    evidence, prior = (np.take_along_axis(s, value[:, None], axis=1)[:, 0] for s in settled)
    keep = np.abs(prior) <= priors.trim
    keep &= rng.random(rows.size) < keep_probabilities(truth, prior)
    if not keep.any():
        return 0.0
    size = np.sort(np.abs(evidence[keep]))[::-1]
    times = max(1, min(priors.tail.size // rows.size, _MOST_REHEARSED // size.size))
    size = np.repeat(size, times)  # as many trials as the tail will have
    target = guessing.Target(tau=tau)
    return guessing.choose_guesses(expit(size), target=target, error=error) / size.size
