"""Trials with several alternatives: a record with its own value, or with one drawn from a proxy.

Half of the error goes to the bets (epsilon at delta 0), half to the counts, whose bounds fail
together. Replays are combined by their e-values and p-values (``bounds/repeated.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from divulge.bounds import repeated
from divulge.bounds.statement import HONEST_GUESSES, THEOREMS
from divulge.proof import replay
from divulge.proof.corrections import BET_THEOREM
from divulge.proof.rule import Rule
from divulge.result import Bound
from divulge.shift.value_prior import EXACT, Priors
from divulge.types import Array, Index, Progress

INDEPENDENT = "the values of the records are independent given what the records show"


@dataclass(frozen=True)
class Alternatives:
    """What a game with values yields: scores of every value, the own one, and what is known."""

    score: Array = field(repr=False)
    """Per record and value."""
    own: Index = field(repr=False)
    priors: Priors = field(repr=False)
    """What the record alone says of each value, and which records are learned from."""
    beyond: Array | None = field(default=None, repr=False)
    """Scores of held-out records, if there are any."""


@dataclass(frozen=True)
class Replayed:
    """What replays of the coin flips prove, and how it came about."""

    trials: Alternatives = field(repr=False)
    plan: replay.Stakes = field(repr=False)
    played: replay.Replays = field(repr=False)
    epsilon: float
    """From the bets of all replays, before any deduction."""
    epsilon_alone: Array = field(repr=False)
    rule: Rule
    bounds: tuple[Bound, ...] = ()
    """What the verdict rests on comes first."""

    @property
    def priors(self) -> Priors:
        """What the record alone says."""
        return self.trials.priors

    @property
    def shown(self) -> tuple[Array, Array]:
        """Score and truth of the values that the first replay shows."""
        first = self.played.replays[0]
        score = self.trials.score[self.priors.tail, first.shown]
        return score, np.where(first.true, 1.0, -1.0)

    def count_bound(self, delta: float | None, tau: float = 0.0) -> float:
        """Mu or epsilon at delta from the counts of all replays."""
        return repeated.count_bound(
            self.played.counts,
            delta=delta,
            error=self.rule.half,
            tau=tau,
            beside=self.rule.deltas,
        )

    def alone_bound(self, replay: int, delta: float | None, tau: float = 0.0) -> float:
        """The same from one replay, at the whole error of the counts."""
        return repeated.alone_bound(
            self.played.counts[replay], delta=delta, error=self.rule.half, tau=tau
        )


def replayed(
    trials: Alternatives, rule: Rule, rng: np.random.Generator, progress: Progress | None
) -> Replayed:
    """Learn on the head, flip the coins over the tail, bet and count."""
    plan = replay.plan(
        trials.own,
        trials.score,
        trials.priors,
        error=rule.half,
        rng=rng,
        tau=rule.tau or 0.0,
        beyond=trials.beyond,
    )
    if plan.strangers is not None:
        known = {"known_share": float(plan.strangers.shares.min())}
        quality = {**trials.priors.quality, **known}
        trials = replace(trials, priors=replace(trials.priors, quality=quality))
    played = replay.play(plan, rule.repetitions, rng, progress)

    def advance(done: int, of: int) -> None:
        if progress is not None:
            progress("bets", done - 1, of)

    epsilon, alone = repeated.bet_epsilon(
        plan.bets, played.replays, error=rule.half, progress=advance
    )
    return Replayed(trials, plan, played, epsilon, alone, rule)


def stated(proof: Replayed) -> tuple[Bound, ...]:
    """All bounds, the headline ones first: with a tau only what is allowed for it is one."""
    tau = proof.rule.tau
    bounds = [] if tau is None else _with_tau(proof, tau)
    counted, betted = ("none",) * 2 if proof.priors.assumption == EXACT else ("balanced", "prior")
    return (*bounds, *_of_replays(proof, counted, betted, headline=tau is None))


def _of_replays(proof: Replayed, counted: str, betted: str, *, headline: bool) -> list[Bound]:
    rule, priors = proof.rule, proof.priors
    words = (INDEPENDENT, priors.assumption)
    out = [
        Bound(
            parameter="epsilon",
            delta=0.0,
            value=priors.proved_epsilon(proof.epsilon),
            confidence=1.0 - rule.half,
            method="betting",
            theorem=f"{BET_THEOREM}{_combination(rule, 'e-value')}",
            assumptions=words,
            correction=betted,
            headline=headline,
        )
    ]
    mu = priors.proved_mu(proof.count_bound(None))
    out.append(_counted("mu", None, mu, rule, counted, words, headline))
    for delta in rule.deltas:
        value = priors.proved_epsilon(proof.count_bound(delta))
        out.append(_counted("epsilon", delta, value, rule, counted, words, headline))
    return out


def _with_tau(proof: Replayed, tau: float) -> list[Bound]:
    rule = proof.rule
    words = (INDEPENDENT, f"the proxy is within {tau:g} of the truth in total variation")
    out = [_counted("mu", None, proof.count_bound(None, tau), rule, "tau", words, True)]
    for delta in (0.0, *rule.deltas):
        value = proof.count_bound(delta, tau)
        out.append(_counted("epsilon", delta, value, rule, "tau", words, True))
    return out


def _counted(
    parameter: str,
    delta: float | None,
    value: float,
    rule: Rule,
    correction: str,
    words: tuple[str, ...],
    headline: bool,
) -> Bound:
    source = {
        "none": "Observational auditing, Theorem 5 with tau = 0",
        "tau": "Observational auditing, Theorem 5",
        "balanced": "balancing: kept truths are fair coins",
    }[correction]
    return Bound(
        parameter=parameter,
        delta=delta,
        value=value,
        confidence=1.0 - rule.half,
        method="recursion",
        theorem=f"{THEOREMS['recursion']}; {source}{_combination(rule, 'p-value')}",
        assumptions=(*words, HONEST_GUESSES),
        correction=correction,
        headline=headline,
    )


def _combination(rule: Rule, kind: str) -> str:
    if rule.repetitions == 1:
        return ""
    many = f"{rule.repetitions} replays"
    if kind == "e-value":
        return f"; largest running mean of the e-values of {many}"
    return f"; twice the mean p-value of {many}, exchangeable form"
