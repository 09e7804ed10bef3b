"""What scored trials prove under each correction for distribution shift: one table of bounds.

Everything behind a counted guess (propensity, residual score, evidence) was fitted on the *learned*
trials; guesses are counted on the *counted* trials only. How many are guessed follows from the
evidence of the counted trials, never from their truths. Bets may use every truth revealed before
them.

The error is split in two: half for the bet (epsilon at delta 0), half for the counts. The
headline bounds that come from one count hold together: given the number of guesses each is false
only if the count is too large; that the number is chosen is paid for (``bounds/choice.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from divulge.bounds import betting, guessing, learning, recursion
from divulge.bounds.choice import price
from divulge.bounds.counting import signed_epsilon_lower_bound
from divulge.bounds.guessing import Counts
from divulge.bounds.statement import THEOREMS
from divulge.proof import stated
from divulge.proof.prepared import Prepared
from divulge.proof.rule import Rule
from divulge.result import Bound
from divulge.shift import conditional, tampered
from divulge.shift.balance import keep_probabilities
from divulge.types import Array, Floats, Places, index_type, slices

MOST_LEARNED = 2_000_000
"""Learned trials that teach the evidence of a score: the first of a random order, so that
neither time nor memory grows with the table."""
BET_THEOREM = "Ville's inequality for the wealth of bets within l +- epsilon"
NO_SHIFT = "no shift: members and non-members have the same distribution"
DEDUCTED = ("balanced", "prior")
"""Corrections of which the allowance for missed shift is deducted."""
INDEPENDENT = (
    "the truths of the trials are independent given the records (coin flips over two pools)"
)


@dataclass(frozen=True)
class Proof:
    """What trials prove, and how it came about."""

    prepared: Prepared = field(repr=False)
    bounds: tuple[Bound, ...]
    """What the verdict rests on comes first."""
    bet: betting.BettingResult | None
    counts: Counts | None
    """Guesses among the balanced trials; of a named headline its own, None if it is a bet."""
    kept: Places = field(repr=False)
    """Trials that balancing kept."""
    ranked: Ranked | None = field(default=None, repr=False)
    """Their evidence, where a headline was named that may be tested on it."""
    smaller: tuple[Bound, ...] = field(default=(), repr=False)
    """Bounds from counts at the error that each of several draws has."""


def correct(
    prepared: Prepared,
    rule: Rule,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
    goal: float | None = None,
) -> Proof:
    """One bound per correction and parameter; bets also give e-values of wealths up to a goal."""
    corrections, deltas, half = rule.corrections, rule.deltas, rule.half
    bounds: list[Bound] = []
    uniforms = rng.random(prepared.truth.size)
    kept = _thinned(prepared, prepared.log_odds, uniforms)
    counts: Counts | None = None
    placed, unaware, known = None, None, None
    if {"none", "composition"} & set(corrections):
        unaware = _unaware(prepared, half, uniforms, deltas)
        if "none" in corrections:
            bounds += _uncorrected(count(prepared, unaware, rng), deltas, half)
        if "composition" in corrections:
            bounds += _composition(prepared, count(prepared, unaware, rng), deltas, half)
    if {"conditional", "signed"} & set(corrections):
        evidence = _aware(prepared)
        for name in ("conditional", "signed"):
            if name in corrections:
                signed = name == "signed"
                bounds += _conditional(
                    prepared, evidence, deltas, half, uniforms, rng, signed=signed
                )
        del evidence
    if "balanced" in corrections:
        same = "none" in corrections and prepared.only_coin  # then every thinning is the same
        ranked = (
            unaware if same else rank(prepared, kept, prepared.score, half, deltas, trimmed=True)
        )
        counts = count(prepared, ranked, rng)
        bounds += _from_counts(prepared, counts, deltas, half)
        known = ranked if rule.headline is not None and not same else None
        del ranked
    del unaware, uniforms  # a bet needs neither
    if "prior" in corrections:
        placed = bet(prepared, half, rng, progress, goal)
        bounds.append(from_bet(prepared, placed, half))
    bounds.sort(key=lambda b: not b.headline)
    return Proof(prepared, tuple(bounds), placed, counts, kept, known)


def deduct(before: Proof, prepared: Prepared) -> Proof:
    """What ``correct`` finds of the same trials and uniforms once their allowance is known."""
    allowance = {"epsilon": prepared.allowance, "mu": prepared.allowance_mu}

    def less(bound: Bound) -> Bound:
        if bound.correction not in DEDUCTED:
            return bound
        return replace(bound, value=max(0.0, bound.value - allowance[bound.parameter]))

    return replace(before, prepared=prepared, bounds=tuple(map(less, before.bounds)))


def _thinned(prepared: Prepared, log_odds: Array, uniforms: Array) -> Places:
    """Trials kept by balancing, before the model is asked: indices, learned and counted alike."""
    keep = np.empty(uniforms.size, dtype=bool)
    for part in slices(uniforms.size):
        keep[part] = uniforms[part] < keep_probabilities(prepared.truth[part], log_odds[part])
    return np.flatnonzero(keep).astype(index_type(uniforms.size))


@dataclass(frozen=True)
class Ranked:
    """Counted trials with their evidence, and how many of them are to be guessed."""

    tail: Places
    evidence: Array
    guesses: int


def split(prepared: Prepared, kept: Places, *, trimmed: bool) -> tuple[Places, Places]:
    """The learned and the counted trials that are kept."""
    chosen = np.zeros(prepared.truth.size, dtype=bool)
    chosen[kept] = True
    if trimmed:
        chosen &= prepared.inside(prepared.log_odds)
    return prepared.head[chosen[prepared.head]], prepared.tail[chosen[prepared.tail]]


def rank(
    prepared: Prepared,
    kept: Places,
    score: Floats,
    error: float,
    deltas: Sequence[float],
    *,
    trimmed: bool,
) -> Ranked | None:
    """Learn the evidence on the kept learned trials; None if none of the counted is kept."""
    head, tail = split(prepared, kept, trimmed=trimmed)
    if tail.size == 0:
        return None
    fair = np.broadcast_to(np.float64(0.0), score.shape)
    evidence = _evidence(score, prepared.truth, fair, head, tail)
    return numbered(Ranked(tail, evidence, 0), error, deltas)


def numbered(ranked: Ranked, error: float, deltas: Sequence[float]) -> Ranked:
    """The same evidence with the number of guesses for this error and these deltas."""
    surest = _surest_first(ranked.evidence)
    return replace(ranked, guesses=guessing.choose_guesses(surest, error=error, deltas=deltas))


def _surest_first(evidence: Array) -> Array:
    accuracy = np.abs(evidence)
    expit(accuracy, out=accuracy)
    accuracy.sort()
    return accuracy[::-1]


def count(prepared: Prepared, ranked: Ranked | None, rng: np.random.Generator) -> Counts:
    """Guess where the evidence is strongest, and count."""
    if ranked is None:
        return Counts(1, 0, 0)
    guess = guessing.top_guesses(ranked.evidence, ranked.guesses, rng)
    return guessing.count_correct(guess, prepared.truth[ranked.tail])


def _evidence(
    score: Floats, truth: npt.NDArray[Any], log_odds: Array, head: Places, tail: Places
) -> Array:
    if head.size < 20 or not ((truth[head] > 0).any() and (truth[head] < 0).any()):
        return guessing.centred_ranks(score[tail].astype(float))
    head = head[:MOST_LEARNED]
    teach = learning.stacked(score[head, None].astype(float), truth[head], log_odds[head])
    out = np.empty(tail.size)
    for part in slices(tail.size):
        out[part] = teach(score[tail[part], None].astype(float))
    return out


def _unaware(
    prepared: Prepared, error: float, uniforms: Array, deltas: Sequence[float]
) -> Ranked | None:
    """Guesses that ignore x: fair coins by thinning with the coin's own log-odds."""
    coin = np.broadcast_to(np.float64(prepared.coin), prepared.truth.shape)
    return rank(
        prepared, _thinned(prepared, coin, uniforms), prepared.raw, error, deltas, trimmed=False
    )


def _uncorrected(counts: Counts, deltas: Sequence[float], error: float) -> list[Bound]:
    """The one-run audit that ignores x."""
    return [
        stated.bound("mu", None, stated.mu(counts, error), error, "none", (INDEPENDENT, NO_SHIFT)),
        *(
            stated.bound("epsilon", d, value, error, "none", (INDEPENDENT, NO_SHIFT))
            for d, value in stated.epsilons(counts, deltas, error).items()
        ),
    ]


def _composition(
    prepared: Prepared, counts: Counts, deltas: Sequence[float], error: float
) -> list[Bound]:
    """000, Corollary 1, in both forms for GDP: failure in the curve, or in the error.

    The second form (Algorithm 8) takes delta_DS from the error once, as if overlap failed for all
    records or none. It may fail for every record on its own, so here it is paid for m times.
    """
    m, r, c = counts.trials, counts.guesses, counts.correct
    apart, kind = prepared.log_odds_of(prepared.head) - prepared.coin, prepared.truth[prepared.head]
    rare = conditional.worse_of_both(apart, kind, conditional.RARE_FAILURE)
    worst = conditional.worse_of_both(apart, kind, error / (2.0 * max(m, 1)))
    at, failure = price(m, rare.failure, error)
    first = recursion.mu_lower_bound(m, r, c, at, shift_mu=rare.mu, failure=failure or 0.0)
    second = recursion.mu_lower_bound(m, r, c, error / 2.0, shift_mu=worst.mu)
    in_curve = stated.bound("mu", None, first, error, "composition", (INDEPENDENT, str(rare)))
    in_error = stated.bound("mu", None, second, error, "composition", (INDEPENDENT, str(worst)))
    out = [
        replace(in_curve, method="recursion, failure in the curve"),
        replace(in_error, method="recursion, failure in the error"),
    ]
    for delta in (0.0, *deltas):
        joint = 1.0 - (1.0 - delta) * (1.0 - rare.failure)
        at, against = price(m, joint, error)
        value = recursion.epsilon_lower_bound(
            m, r, c, against or 0.0, at, shift_epsilon=rare.epsilon
        )
        out.append(
            stated.bound("epsilon", delta, value, error, "composition", (INDEPENDENT, str(rare)))
        )
    return out


def _aware(prepared: Prepared) -> Array:
    """Evidence beyond the prior log-odds, on the counted trials."""
    return _evidence(prepared.raw, prepared.truth, prepared.log_odds, prepared.head, prepared.tail)


def _conditional(
    prepared: Prepared,
    evidence: Array,
    deltas: Sequence[float],
    error: float,
    uniforms: Array,
    rng: np.random.Generator,
    *,
    signed: bool,
) -> list[Bound]:
    """000, Theorem 5.1, propensity-aware; at delta 0 Theorem D.1 (no tampering needed).

    Mu is tampered with as Theorem 5.1.2 says, epsilon at delta as 5.1.1 does for each epsilon.
    """
    guess, counts = _aware_guesses(prepared, evidence, error, uniforms, rng, signed=signed)
    name = "signed" if signed else "conditional"
    words = (INDEPENDENT, prepared.plug_in)
    prior = prepared.log_odds_of(prepared.tail)
    against = prior if signed else guess * np.abs(prior)
    truth = prepared.truth[prepared.tail]
    pure = signed_epsilon_lower_bound(guess, truth, against, error)
    out = [stated.bound("mu", None, stated.mu(counts, error), error, name, words)]
    out.append(stated.bound("epsilon", 0.0, pure, error, name, words))
    theorem = f"{THEOREMS['zero-run']}{', with signed log-odds' if signed else ''}"
    for delta in deltas:
        value = tampered.proved(
            evidence, truth, prior, uniforms[prepared.tail], delta, error, rng, signed=signed
        )
        found = stated.bound("epsilon", delta, value, error, name, words)
        out.append(replace(found, method="zero-run", theorem=theorem))
    return out


def conditional_guesses(
    prepared: Prepared, error: float, uniforms: Array, rng: np.random.Generator, *, signed: bool
) -> tuple[guessing.Guesses, Counts]:
    """Propensity-aware guesses on the counted trials, and their tampered counts."""
    return _aware_guesses(prepared, _aware(prepared), error, uniforms, rng, signed=signed)


def guesses_at(
    prepared: Prepared, deltas: Sequence[float], error: float, rng: np.random.Generator
) -> tuple[guessing.Guesses, ...]:
    """Propensity-aware guesses on the counted trials for each delta, as published."""
    evidence, prior = _aware(prepared), prepared.log_odds_of(prepared.tail)
    return tuple(tampered.guesses(evidence, prior, d, error, rng, signed=False) for d in deltas)


def _aware_guesses(
    prepared: Prepared,
    evidence: Array,
    error: float,
    uniforms: Array,
    rng: np.random.Generator,
    *,
    signed: bool,
) -> tuple[guessing.Guesses, Counts]:
    tail = prepared.tail
    prior = prepared.log_odds_of(tail)
    confidence, kept = np.empty(tail.size), np.empty(tail.size)
    for part in slices(tail.size):
        confidence[part], kept[part] = conditional.aware_confidence(
            evidence[part], prior[part], signed=signed
        )
    kept.sort()
    guesses = guessing.choose_guesses(kept[::-1], error=error)
    del kept
    guess = guessing.top_guesses(confidence, guesses, rng)
    counts = Counts(0, 0, 0)
    for part in slices(tail.size):
        rows = tail[part]
        counts += conditional.tampered_counts(
            guess[part], prepared.truth[rows], prior[part], uniforms[rows], signed=signed
        )
    return guess, counts


def _from_counts(
    prepared: Prepared, counts: Counts, deltas: Sequence[float], error: float
) -> list[Bound]:
    words = (INDEPENDENT, prepared.assumption)
    value = max(0.0, stated.mu(counts, error) - prepared.allowance_mu)
    out = [stated.bound("mu", None, value, error, "balanced", words, headline=True)]
    for delta, proved in stated.epsilons(counts, deltas, error).items():
        value = max(0.0, proved - prepared.allowance)
        headline = delta > 0.0
        out.append(
            stated.bound("epsilon", delta, value, error, "balanced", words, headline=headline)
        )
    return out


def bet(
    prepared: Prepared,
    error: float,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
    goal: float | None = None,
) -> betting.BettingResult:
    """Bet on all trials that are not learned from, where there is overlap."""
    if prepared.trim is None:  # every trial: nothing need be copied into the order of the bets
        score, truth, log_odds = prepared.bet_score, prepared.truth, prepared.bet_log_odds
        order, known = prepared.order, prepared.learned
    else:
        inside = prepared.inside(prepared.bet_log_odds)[prepared.order]
        chosen, known = prepared.order[inside], int(inside[: prepared.learned].sum())
        score, truth = prepared.bet_score[chosen], prepared.truth[chosen]
        log_odds, order = prepared.bet_log_odds[chosen], np.arange(chosen.size)
    return betting.bet(
        score,
        truth,
        log_odds,
        error=error,
        order=order,
        known=known,
        rng=rng,
        e_values=None if goal is None else betting.Stop(goal, prepared.allowance),
        progress=progress,
    )


def from_bet(prepared: Prepared, placed: betting.BettingResult, error: float) -> Bound:
    """What the bets state of epsilon at delta 0."""
    return Bound(
        parameter="epsilon",
        delta=0.0,
        value=max(0.0, placed.epsilon - prepared.allowance),
        confidence=1.0 - error,
        method="betting",
        theorem=BET_THEOREM,
        assumptions=(INDEPENDENT, prepared.assumption),
        correction="prior",
        headline=True,
        standing=stated.standing((prepared.assumption,)),
    )
