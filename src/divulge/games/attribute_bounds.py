"""What the attribute game proves: one table of bounds, with and without correction of the proxy.

Half of the error goes to the bets (epsilon at delta 0), half to the counts, whose bounds fail
together. Replays are combined by their e-values and p-values (``bounds/repeated.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.attacks.difficulty import difficulty_calibration
from divulge.attacks.rmia import offline_rmia
from divulge.attacks.values import LIKELIHOOD_RATIO, value_score
from divulge.bounds import repeated
from divulge.bounds.statement import HONEST_GUESSES, THEOREMS
from divulge.games import measures, replay
from divulge.games.membership import Pools, audit_pools
from divulge.games.values import Records
from divulge.result import Bound
from divulge.shift.features import Features
from divulge.shift.values import EXACT, Priors

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]
Progress = Callable[[str, int, int], None]

INDEPENDENT = "the values of the records are independent given what the records show"
_BET_THEOREM = "Ville's inequality for the wealth of bets within l +- epsilon"
_MOST_COMPARED = 50_000
_LEAST_COMPARED = 50


@dataclass(frozen=True)
class Rule:
    """What was fixed before any coin was flipped."""

    score: str
    power: float
    repetitions: int
    deltas: tuple[float, ...]
    error: float
    tau: float | None

    @property
    def half(self) -> float:
        """The error of the bets, and that of the counts."""
        return self.error / 2.0


@dataclass(frozen=True)
class Game:
    """One way to correct the proxy, played."""

    priors: Priors = field(repr=False)
    score: Array = field(repr=False)
    """Per record and value."""
    plan: replay.Plan = field(repr=False)
    played: replay.Played = field(repr=False)
    epsilon: float
    """From the bets of all replays, before any deduction."""
    epsilon_alone: Array = field(repr=False)


def play_game(
    codes: Index,
    log_target: Array,
    priors: Priors,
    rule: Rule,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Game:
    """Learn on the head, flip the coins over the tail, bet."""
    records = codes.size
    score = value_score(
        rule.score, log_target[:records], priors.expected, priors.log_proxy, rule.power
    )
    beyond = None
    if priors.beyond is not None:
        said, rest = log_target[records:], priors.beyond
        beyond = value_score(rule.score, said, rest.expected, rest.log_proxy, rule.power)
    plan = replay.plan(
        codes, score, priors, error=rule.half, rng=rng, tau=rule.tau or 0.0, beyond=beyond
    )
    played = replay.play(plan, rule.repetitions, rng, progress)
    if plan.strangers is not None:
        known = {"known_share": float(plan.strangers.shares.min())}
        priors = replace(priors, quality={**priors.quality, **known})

    def advance(done: int, of: int) -> None:
        if progress is not None:
            progress("bets", done - 1, of)

    epsilon, alone = repeated.bet_epsilon(
        plan.bets, played.replays, error=rule.half, progress=advance
    )
    return Game(priors, score, plan, played, epsilon, alone)


def stated(plain: Game, corrected: Game | None, rule: Rule, *, exact: bool) -> tuple[Bound, ...]:
    """All bounds, the headline ones first."""
    bounds: list[Bound] = []
    if corrected is not None:
        bounds += _of_game(corrected, rule, "balanced", "prior", headline=True)
    if rule.tau is not None:
        bounds += _of_tau(plain, rule, rule.tau)
    bounds += _of_game(plain, rule, "none", "none", headline=exact)
    return tuple(sorted(bounds, key=lambda b: not b.headline))


def count_bound(game: Game, delta: float | None, rule: Rule, tau: float = 0.0) -> float:
    """Mu or epsilon at delta from the counts of all replays."""
    return repeated.count_bound(
        game.played.counts, delta=delta, error=rule.half, tau=tau, beside=rule.deltas
    )


def _of_game(game: Game, rule: Rule, counted: str, betted: str, *, headline: bool) -> list[Bound]:
    words = (INDEPENDENT, game.priors.assumption)
    how = _combination(rule, "e-value")
    out = [
        Bound(
            parameter="epsilon",
            delta=0.0,
            value=game.priors.proved_epsilon(game.epsilon),
            confidence=1.0 - rule.half,
            method="betting",
            theorem=f"{_BET_THEOREM}{how}",
            assumptions=words,
            correction=betted,
            headline=headline,
        )
    ]
    mu = game.priors.proved_mu(count_bound(game, None, rule))
    out.append(_counted("mu", None, mu, rule, counted, words, headline))
    for delta in rule.deltas:
        value = game.priors.proved_epsilon(count_bound(game, delta, rule))
        out.append(_counted("epsilon", delta, value, rule, counted, words, headline))
    return out


def _of_tau(game: Game, rule: Rule, tau: float) -> list[Bound]:
    words = (INDEPENDENT, f"the proxy is within {tau:g} of the truth in total variation")
    out = [_counted("mu", None, count_bound(game, None, rule, tau), rule, "tau", words, True)]
    for delta in (0.0, *rule.deltas):
        value = count_bound(game, delta, rule, tau)
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


def compared(
    records: Records,
    log_target: Array,
    log_proxy: Array,
    game: Game,
    rule: Rule,
    other: str,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Other attacks on the same records, for comparison only: each has its own error."""
    codes = records.codes[: records.training]
    second = play_game(
        codes,
        log_target,
        game.priors,
        Rule(other, rule.power, 1, (), rule.error, None),
        rng,
        progress,
    )
    shown = {True: "log-likelihood ratio", False: f"score of the paper (t = {rule.power:g})"}
    out = [
        _described(shown[name == LIKELIHOOD_RATIO], g, rule)
        for name, g in ((rule.score, game), (other, second))
    ]
    if records.heldout_target and records.outside.size >= _LEAST_COMPARED:
        out += _membership(records, log_target, log_proxy, rule, rng)
    return out


def _described(name: str, game: Game, rule: Rule) -> dict[str, Any]:
    first = game.played.replays[0]
    rows = game.priors.tail
    score = game.score[rows, first.shown]
    note = "" if game.priors.assumption == EXACT else "corrected"
    return {
        "attack": name,
        "auc": measures.auc(score, np.where(first.true, 1.0, -1.0)),
        "epsilon": game.priors.proved_epsilon(float(game.epsilon_alone[0])),
        "mu": game.priors.proved_mu(
            repeated.alone_bound(game.played.counts[0], delta=None, error=rule.half)
        ),
        "note": f"one replay{', ' if note else ''}{note}",
    }


def _membership(
    records: Records, log_target: Array, log_proxy: Array, rule: Rule, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """The membership attacks of the paper: training against held-out records, by their labels."""
    inside = rng.permutation(records.training)[:_MOST_COMPARED]
    outside = rng.permutation(records.outside)[:_MOST_COMPARED]
    population, outside = outside[: outside.size // 2], outside[outside.size // 2 :]
    rows = np.concatenate([inside, outside])
    truth = np.concatenate([np.ones(inside.size), -np.ones(outside.size)])
    own = np.take_along_axis(log_target, records.codes[:, None], axis=1)[:, 0]
    reference = np.take_along_axis(log_proxy, records.codes[:, None], axis=1)[:, 0]
    scores = {
        "difficulty calibration (membership)": difficulty_calibration(own[rows], reference[rows]),
        "offline RMIA (membership)": offline_rmia(
            own[rows], reference[rows], own[population], reference[population]
        ),
    }
    out = []
    for name, score in scores.items():
        pools = Pools(
            truth, score[:, None], Features(np.zeros((rows.size, 0)), ()), None, None, (name,), ()
        )
        audit = audit_pools(
            pools,
            deltas=(),
            error=rule.error,
            corrections=("balanced", "prior"),
            seed=int(rng.integers(2**31)),
        )
        found = {b.parameter: b.value for b in audit.headline()}
        out.append(
            {
                "attack": name,
                "auc": measures.auc(score, truth),
                "epsilon": found.get("epsilon", 0.0),
                "mu": found.get("mu", 0.0),
                "note": "membership, not the value; held-out records as non-members, assumed alike",
            }
        )
    return out


def tau_curve(game: Game, rule: Rule, taus: Sequence[float]) -> list[dict[str, float]]:
    """The bounds of Theorem 5 against the total-variation budget, from the first replay."""
    delta = rule.deltas[0] if rule.deltas else 0.0
    first = game.played.counts[0]
    return [
        {
            "tau": tau,
            "epsilon": repeated.alone_bound(first, delta=delta, error=rule.half, tau=tau),
            "mu": repeated.alone_bound(first, delta=None, error=rule.half, tau=tau),
        }
        for tau in taus
    ]
