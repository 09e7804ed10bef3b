"""What scored trials prove under each correction for distribution shift: one table of bounds.

Everything behind a counted guess (propensity, residual score, evidence, number of guesses) was
fitted on the *learned* trials; guesses are counted on the *counted* trials only. Bets may use every
truth revealed before them.

The error is split in two: half for the bet (epsilon at delta 0), half for the counts. All bounds
that come from one count hold together: each is false only if the count is too large, so the events
are nested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from divulge.bounds import betting, guessing, learners, recursion
from divulge.bounds.counting import binomial_epsilon_lower_bound, signed_epsilon_lower_bound
from divulge.bounds.guessing import Counts
from divulge.bounds.statement import HONEST_GUESSES, THEOREMS
from divulge.result import Bound
from divulge.shift import conditional
from divulge.shift.balance import keep_probabilities
from divulge.shift.prepared import Prepared

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

CORRECTIONS = ("none", "composition", "conditional", "signed", "balanced", "prior")
NO_SHIFT = "no shift: members and non-members have the same distribution"
INDEPENDENT = (
    "the truths of the trials are independent given the records (coin flips over two pools)"
)


@dataclass(frozen=True)
class Audit:
    """The bounds, and what the report draws of how they came about."""

    bounds: tuple[Bound, ...]
    bet: betting.BettingResult | None
    balanced: Counts | None
    kept: Index = field(repr=False)
    """Trials that balancing kept."""


def audit(
    prepared: Prepared,
    *,
    deltas: Sequence[float],
    error: float,
    corrections: Sequence[str],
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """One bound per correction and parameter; the headline ones are balanced and prior."""
    half = error / 2.0
    bounds: list[Bound] = []
    luck = rng.random(prepared.truth.size)
    kept = _thinned(prepared, prepared.log_odds, luck)
    counts: Counts | None = None
    bet: betting.BettingResult | None = None
    if "none" in corrections:
        bounds += _uncorrected(prepared, deltas, half, luck, rng)
    if "composition" in corrections:
        bounds += _composition(prepared, deltas, half, luck, rng)
    for name in ("conditional", "signed"):
        if name in corrections:
            bounds += _conditional(prepared, deltas, half, luck, rng, signed=name == "signed")
    if "balanced" in corrections:
        counts = _guess(prepared, kept, prepared.score, half, rng, trimmed=True)
        bounds += _from_counts(prepared, counts, deltas, half)
    if "prior" in corrections:
        bet = _bet(prepared, half, rng, progress)
        bounds.append(_from_bet(prepared, bet, half))
    bounds.sort(key=lambda b: not b.headline)  # what the verdict rests on comes first
    return Audit(tuple(bounds), bet, counts, kept)


def _thinned(prepared: Prepared, log_odds: Array, luck: Array) -> Index:
    """Trials kept by balancing, before the model is asked: indices, learned and counted alike."""
    keep = luck < keep_probabilities(prepared.truth, log_odds)
    return np.flatnonzero(keep)


def _guess(
    prepared: Prepared,
    kept: Index,
    score: Array,
    error: float,
    rng: np.random.Generator,
    *,
    trimmed: bool,
) -> Counts:
    """Learn the evidence on the kept learned trials, guess and count on the kept counted ones."""
    chosen = np.zeros(prepared.truth.size, dtype=bool)
    chosen[kept] = True
    if trimmed:
        chosen &= prepared.inside(prepared.log_odds)
    head = prepared.head[chosen[prepared.head]]
    tail = prepared.tail[chosen[prepared.tail]]
    if tail.size == 0:
        return Counts(1, 0, 0)
    evidence = _evidence(score, prepared.truth, np.zeros(score.size), head, tail)
    accuracy = np.sort(expit(np.abs(evidence)))[::-1]
    guesses = guessing.choose_guesses(accuracy, error=error)
    guess = guessing.top_guesses(evidence, guesses, rng)
    return guessing.count_correct(guess, prepared.truth[tail])


def _evidence(score: Array, truth: Array, log_odds: Array, head: Index, tail: Index) -> Array:
    if head.size < 20 or np.unique(truth[head]).size < 2:
        return guessing.centred_ranks(score[tail])
    teach = learners.stacked(score[head, None], truth[head], log_odds[head])
    return teach(score[tail, None])


def _uncorrected(
    prepared: Prepared, deltas: Sequence[float], error: float, luck: Array, rng: np.random.Generator
) -> list[Bound]:
    """The one-run audit that ignores x: fair coins by thinning with the coin's own log-odds."""
    coin = np.full(prepared.truth.size, prepared.coin)
    counts = _guess(
        prepared, _thinned(prepared, coin, luck), prepared.raw, error, rng, trimmed=False
    )
    return [
        _bound("mu", None, _mu(counts, error), error, "none", (INDEPENDENT, NO_SHIFT)),
        *(
            _bound("epsilon", d, _epsilon(counts, d, error), error, "none", (INDEPENDENT, NO_SHIFT))
            for d in (0.0, *deltas)
        ),
    ]


def _composition(
    prepared: Prepared, deltas: Sequence[float], error: float, luck: Array, rng: np.random.Generator
) -> list[Bound]:
    """000, Corollary 1, in both forms for GDP: failure in the curve, or in the error.

    The second form (Algorithm 8) takes delta_DS from the error once, as if overlap failed for all
    records or none. It may fail for every record on its own, so here it is paid for m times.
    """
    coin = np.full(prepared.truth.size, prepared.coin)
    kept = _thinned(prepared, coin, luck)
    counts = _guess(prepared, kept, prepared.raw, error, rng, trimmed=False)
    m, r, c = counts.trials, counts.guesses, counts.correct
    rare = _worst_of_both(prepared, conditional.RARE_FAILURE)
    worst = _worst_of_both(prepared, error / (2.0 * max(m, 1)))
    first = recursion.mu_lower_bound(m, r, c, error, shift_mu=rare.mu, failure=rare.failure)
    second = recursion.mu_lower_bound(m, r, c, error / 2.0, shift_mu=worst.mu)
    in_curve = _bound("mu", None, first, error, "composition", (INDEPENDENT, str(rare)))
    in_error = _bound("mu", None, second, error, "composition", (INDEPENDENT, str(worst)))
    out = [
        replace(in_curve, method="recursion, failure in the curve"),
        replace(in_error, method="recursion, failure in the error"),
    ]
    for delta in (0.0, *deltas):
        joint = 1.0 - (1.0 - delta) * (1.0 - rare.failure)
        value = recursion.epsilon_lower_bound(m, r, c, joint, error, shift_epsilon=rare.epsilon)
        out.append(_bound("epsilon", delta, value, error, "composition", (INDEPENDENT, str(rare))))
    return out


def _worst_of_both(prepared: Prepared, failure: float) -> conditional.WorstShift:
    """000, Assumption 2 asks for overlap in either group: the worse of the two, on the head."""
    apart = prepared.log_odds[prepared.head] - prepared.coin
    truth = prepared.truth[prepared.head]
    both = [conditional.worst_shift(apart[truth == kind], failure) for kind in (1.0, -1.0)]
    return max(both, key=lambda worst: worst.epsilon)


def _conditional(
    prepared: Prepared,
    deltas: Sequence[float],
    error: float,
    luck: Array,
    rng: np.random.Generator,
    *,
    signed: bool,
) -> list[Bound]:
    """000, Theorem 5.1, propensity-aware; at delta 0 Theorem D.1 (no tampering needed)."""
    guess, counts = conditional_guesses(prepared, error, luck, rng, signed=signed)
    name = "signed" if signed else "conditional"
    words = (INDEPENDENT, prepared.assumption)
    prior = prepared.log_odds[prepared.tail]
    against = prior if signed else guess * np.abs(prior)
    pure = signed_epsilon_lower_bound(guess, prepared.truth[prepared.tail], against, error)
    out = [_bound("mu", None, _mu(counts, error), error, name, words)]
    out.append(_bound("epsilon", 0.0, pure, error, name, words))
    out += [_bound("epsilon", d, _epsilon(counts, d, error), error, name, words) for d in deltas]
    return out


def conditional_guesses(
    prepared: Prepared, error: float, luck: Array, rng: np.random.Generator, *, signed: bool
) -> tuple[Array, Counts]:
    """Propensity-aware guesses on the counted trials, and their tampered counts."""
    head, tail = prepared.head, prepared.tail
    prior = prepared.log_odds[tail]
    evidence = _evidence(prepared.raw, prepared.truth, prepared.log_odds, head, tail)
    confidence, kept = conditional.aware_confidence(evidence, prior, signed=signed)
    guesses = guessing.choose_guesses(np.sort(kept)[::-1], error=error)
    guess = guessing.top_guesses(confidence, guesses, rng)
    counts = conditional.tampered_counts(
        guess, prepared.truth[tail], prior, luck[tail], signed=signed
    )
    return guess, counts


def _from_counts(
    prepared: Prepared, counts: Counts, deltas: Sequence[float], error: float
) -> list[Bound]:
    words = (INDEPENDENT, prepared.assumption)
    value = max(0.0, _mu(counts, error) - prepared.allowance_mu)
    out = [_bound("mu", None, value, error, "balanced", words, headline=True)]
    for delta in (0.0, *deltas):
        value = max(0.0, _epsilon(counts, delta, error) - prepared.allowance)
        headline = delta > 0.0
        out.append(_bound("epsilon", delta, value, error, "balanced", words, headline=headline))
    return out


def _bet(
    prepared: Prepared,
    error: float,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None,
) -> betting.BettingResult:
    inside = prepared.inside(prepared.bet_log_odds)[prepared.order]
    order = prepared.order[inside]
    known = int(inside[: prepared.learned].sum())
    return betting.bet(
        prepared.bet_score[order],
        prepared.truth[order],
        prepared.bet_log_odds[order],
        error=error,
        order=np.arange(order.size),
        known=known,
        rng=rng,
        progress=progress,
    )


def _from_bet(prepared: Prepared, bet: betting.BettingResult, error: float) -> Bound:
    return Bound(
        parameter="epsilon",
        delta=0.0,
        value=max(0.0, bet.epsilon - prepared.allowance),
        confidence=1.0 - error,
        method="betting",
        theorem="Ville's inequality for the wealth of bets within l +- epsilon",
        assumptions=(INDEPENDENT, prepared.assumption),
        correction="prior",
        headline=True,
    )


def _mu(counts: Counts, error: float) -> float:
    return recursion.mu_lower_bound(counts.trials, counts.guesses, counts.correct, error)


def _epsilon(counts: Counts, delta: float, error: float) -> float:
    m, r, c = counts.trials, counts.guesses, counts.correct
    if delta == 0.0:
        return binomial_epsilon_lower_bound(m, r, c, error)
    return recursion.epsilon_lower_bound(m, r, c, delta, error)


def _bound(
    parameter: str,
    delta: float | None,
    value: float,
    error: float,
    correction: str,
    assumptions: tuple[str, ...],
    *,
    headline: bool = False,
) -> Bound:
    method = "binomial" if delta == 0.0 and correction != "composition" else "recursion"
    return Bound(
        parameter=parameter,
        delta=delta,
        value=value,
        confidence=1.0 - error,
        method=method,
        theorem=f"{THEOREMS[method]}; {_SOURCE[correction]}",
        assumptions=(*assumptions, HONEST_GUESSES),
        correction=correction,
        headline=headline,
    )


_SOURCE = {
    "none": "no correction",
    "composition": "Zero-Run auditing, Corollary 1",
    "conditional": "Zero-Run auditing, Theorem 5.1 as printed",
    "signed": "Zero-Run auditing, Theorem 5.1 with signed log-odds",
    "balanced": "balancing: kept truths are fair coins",
}
