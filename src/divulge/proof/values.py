"""Values that records keep to themselves: bets on the value itself, and pairs of values.

Pure epsilon comes from direct bets on each record's value (``bounds/direct.py``): no coin, no
counterfactual, nothing random. Mu, and epsilon at each delta, come from pairs of the own value and
another one (``bounds/pairs.py``), drawn anew as often as the rule says; the p-values of the draws
are combined (``bounds/repeated.py``). Half of the error goes to the bets, half to the counts.

What a score is worth is learned on the head. Where the prior of a value is vouched for, bets are
placed on every record and learn from each value as it is revealed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from divulge.bounds import choice, direct, forecasting, repeated
from divulge.bounds.betting import BettingResult
from divulge.bounds.guessing import Counts
from divulge.bounds.pairs import Pairing, count_top, number_to_guess, share_to_guess
from divulge.bounds.statement import HONEST_GUESSES, THEOREMS
from divulge.errors import CannotConclude
from divulge.proof.lineup import BET_THEOREM
from divulge.proof.rule import Rule
from divulge.result import Bound
from divulge.shift import strangers
from divulge.shift.value_prior import EXACT, TRIM, Edges, Priors
from divulge.types import Array, Index, Progress

INDEPENDENT = "the values of the records are independent given what the records show"
LEAST = 20
"""Fewer records whose value is open prove nothing."""
PAIRED = "pairs of a value and another one drawn by a symmetric kernel are fair coins"


@dataclass(frozen=True)
class Values:
    """What a game with values yields: scores of every value, the own one, and what is known."""

    score: Array = field(repr=False)
    """Per record and value."""
    own: Index = field(repr=False)
    priors: Priors = field(repr=False)
    """What the record alone says of each value, and which records are learned from."""
    beyond: Array | None = field(default=None, repr=False)
    """Scores of held-out records, if there are any."""


@dataclass(frozen=True)
class ValueProof:
    """What is proved of the values, and how it came about."""

    trials: Values = field(repr=False)
    rule: Rule
    """With the error that is left for bets and counts."""
    each: float
    """Error of every single bound: of the bet or the counts, and of what both rest on."""
    bet: BettingResult
    counts: tuple[Counts, ...]
    """Of every draw of pairs."""
    shown: tuple[Array, Array] = field(repr=False)
    """Of the first draw: by how much the score of one value exceeds the other's, and +1 where it is
    the own one."""
    void: int
    """Records of the first draw for which no pair was drawn."""
    bounds: tuple[Bound, ...] = ()

    @property
    def priors(self) -> Priors:
        """What the record alone says."""
        return self.trials.priors

    def count_bound(self, delta: float | None) -> float:
        """Mu or epsilon at delta from the counts of all draws."""
        return repeated.count_bound(
            self.counts, delta=delta, error=self.rule.half, beside=self.rule.deltas
        )

    def alone_bound(self, draw: int, delta: float | None) -> float:
        """The same from one draw of pairs, at the whole error of the counts."""
        return repeated.alone_bound(self.counts[draw], delta=delta, error=self.rule.half)


def bet_and_pair(
    trials: Values, rule: Rule, rng: np.random.Generator, progress: Progress | None = None
) -> ValueProof:
    """Learn what a score is worth, bet on the values, draw pairs and count."""
    tell = progress or (lambda stage, done, total: None)
    priors, own = trials.priors, trials.own
    edges = priors.edges()
    staked = edges.open & (np.take_along_axis(edges.prior, own[:, None], axis=1)[:, 0] > 0.0)
    head, tail = priors.head[staked[priors.head]], priors.tail[staked[priors.tail]]
    if tail.size < LEAST:
        raise CannotConclude(
            f"The prior leaves the value of {tail.size} records open: elsewhere no two values are "
            f"probable, and nothing can be staked. An audit needs at least {LEAST}."
        )
    tell("bets", 0, 2)
    forecast, widened, quality = _learn(trials, edges, head, tail, strangers.PART * rule.error)
    stated = rule
    if quality:
        trials = replace(trials, priors=replace(priors, quality={**priors.quality, **quality}))
        rule = replace(rule, error=(1.0 - strangers.PART) * rule.error)
    tell("bets", 1, 2)
    bet = _bet(trials, edges, widened, forecast, head, tail, rule)
    pairing = _pairing(widened, forecast)
    here = np.arange(head.size, head.size + tail.size)
    rehearsed, audited = pairing.some(np.arange(head.size)), pairing.some(here)
    share = share_to_guess(
        rehearsed.evidence(own[head], rehearsed.draw(own[head], rng), rng),
        tail.size,
        rule.half,
        rule.deltas,
    )
    counts: list[Counts] = []
    first = np.zeros(0, dtype=np.intp)
    for k in range(rule.repetitions):
        tell("pairs", k, rule.repetitions)
        partner = audited.draw(own[tail], rng)
        first = partner if k == 0 else first
        kept = audited.evidence(own[tail], partner, rng)
        counts.append(count_top(kept, number_to_guess(share, kept.size), rng))
    return ValueProof(
        trials=trials,
        rule=rule,
        each=stated.error - rule.half,
        bet=bet,
        counts=tuple(counts),
        shown=_shown(trials, tail, first, rng),
        void=int((first < 0).sum()),
    )


def _learn(
    trials: Values, edges: Edges, head: Index, tail: Index, error: float
) -> tuple[Array, Edges, dict[str, float]]:
    """Forecasts of head and tail, learned on the head, and the edges that they are staked against.

    With held-out records the same forecasts of these tell how much of the evidence could be
    knowledge.
    """
    rows = np.concatenate([head, tail])
    own, score, here = trials.own[rows], trials.score[rows], edges.some(rows)
    beyond = trials.priors.beyond
    if beyond is None or trials.beyond is None:
        return forecasting.forecast(score, here.prior, own, head.size), here, {}
    outside = beyond.edges()
    there = np.flatnonzero(outside.open)
    away = outside.some(there)
    told = forecasting.forecast(
        np.concatenate([score, trials.beyond[there]]),
        np.concatenate([here.prior, away.prior]),
        np.concatenate([own, np.argmax(away.prior, axis=1)]),  # never looked at
        head.size,
    )
    forecast, elsewhere = told[: rows.size], told[rows.size :]
    force = direct.explaining(forecast, here.low, here.high)
    strange = np.zeros(len(trials.beyond))
    strange[there] = direct.explaining(elsewhere, away.low, away.high)
    compared = strangers.compare(force[head.size :], strange, error, beyond.likeness)
    known = {"known_share": float(compared.shares.min()), "strangers_force": compared.strong}
    return forecast, strangers.widened(here, compared.share(force)), known


def _bet(
    trials: Values,
    edges: Edges,
    widened: Edges,
    forecast: Array,
    head: Index,
    tail: Index,
    rule: Rule,
) -> BettingResult:
    """Direct bets: on all records where the prior is vouched for, else on the tail."""
    own = trials.own
    if trials.priors.assumption == EXACT:
        rows = np.concatenate([head, tail])
        prior = edges.prior[rows]
        q = forecasting.forecast(trials.score[rows], prior, own[rows])
        return direct.bet_values(q, prior, own[rows], error=rule.half)
    here = slice(head.size, None)
    one = widened.low is widened.high
    return direct.bet_values(
        forecast[here],
        widened.low[here],
        own[tail],
        upper=None if one else widened.high[here],
        error=rule.half,
    )


def _pairing(edges: Edges, forecast: Array) -> Pairing:
    """Everything that pairs are drawn and guessed with."""
    there = edges.prior > 0.0

    def ratio(above: Array, below: Array) -> Array:
        return np.log(np.divide(above, below, out=np.ones_like(above), where=there))

    if edges.low is edges.high:
        nothing = np.broadcast_to(0.0, edges.prior.shape)
        return Pairing(edges.prior, ratio(forecast, edges.prior), nothing, nothing, TRIM)
    return Pairing(
        edges.prior,
        ratio(forecast, edges.prior),
        ratio(edges.high, edges.prior),
        ratio(edges.prior, edges.low),
        TRIM,
    )


def _shown(
    trials: Values, tail: Index, partner: Index, rng: np.random.Generator
) -> tuple[Array, Array]:
    drawn = np.flatnonzero(partner >= 0)
    rows = tail[drawn]
    ahead = trials.score[rows, trials.own[rows]] - trials.score[rows, partner[drawn]]
    truth = np.where(rng.random(rows.size) < 0.5, 1.0, -1.0)
    return ahead * truth, truth


def stated(proof: ValueProof) -> tuple[Bound, ...]:
    """The bound of the bets, and those of the pairs."""
    rule, priors = proof.rule, proof.priors
    exact = priors.assumption == EXACT
    words = (INDEPENDENT, priors.assumption)
    bounds = [
        Bound(
            parameter="epsilon",
            delta=0.0,
            value=priors.proved_epsilon(proof.bet.epsilon),
            confidence=1.0 - proof.each,
            method="betting",
            theorem=BET_THEOREM,
            assumptions=words,
            correction="none" if exact else "prior",
            headline=True,
            standing="proved" if exact else "estimated",
        )
    ]
    found: dict[float | None, float] = {None: priors.proved_mu(proof.count_bound(None))}
    found |= {d: priors.proved_epsilon(proof.count_bound(d)) for d in rule.deltas}
    bounds += [
        Bound(
            parameter="mu" if delta is None else "epsilon",
            delta=delta,
            value=value,
            confidence=1.0 - proof.each,
            method="recursion",
            theorem=f"{THEOREMS['recursion']}; {PAIRED}{combination(rule, 'draws of pairs')}",
            assumptions=(*words, HONEST_GUESSES),
            correction="none" if exact else "balanced",
            headline=True,
            standing=choice.standing(delta) if exact else "estimated",
        )
        for delta, value in found.items()
    ]
    return tuple(bounds)


def combination(rule: Rule, what: str) -> str:
    """How several draws are combined, in words; nothing for one."""
    if rule.repetitions == 1:
        return ""
    return f"; twice the mean p-value of {rule.repetitions} {what}, exchangeable form"
