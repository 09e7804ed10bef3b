"""Other attacks on the same records, and the bounds against the budget of a proxy's error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from divulge.attacks.difficulty import difficulty_calibration
from divulge.attacks.rmia import offline_rmia
from divulge.attacks.shown_value import LIKELIHOOD_RATIO, PUBLISHED, value_score
from divulge.errors import CannotConclude
from divulge.games.attribute.read import Records
from divulge.proof import measures
from divulge.proof.draw import draw
from divulge.proof.prove import prove
from divulge.proof.published import CoinProof, Coins
from divulge.proof.rule import Rule
from divulge.proof.values import ValueProof, Values
from divulge.result.of_values import Budget
from divulge.result.shared import Compared
from divulge.shift.value_prior import EXACT, Priors
from divulge.trials import Trials
from divulge.types import Array, Index, Progress

_MOST_COMPARED = 50_000
_LEAST_COMPARED = 50


@dataclass(frozen=True)
class ValueAttack:
    """How a value shown is scored."""

    score: str = LIKELIHOOD_RATIO
    power: float = 2.0
    """The t of the published score."""

    @property
    def other(self) -> ValueAttack:
        """The score that it is compared with."""
        name = PUBLISHED if self.score == LIKELIHOOD_RATIO else LIKELIHOOD_RATIO
        return replace(self, score=name)

    def __str__(self) -> str:
        if self.score == LIKELIHOOD_RATIO:
            return "log-likelihood ratio"
        return f"score of the paper (t = {self.power:g})"

    def values(self, codes: Index, log_target: Array, priors: Priors) -> Values:
        """The scores of every value of the training records."""
        score = self._of(log_target[: codes.size], priors)
        if priors.beyond is None:
            return Values(score, codes, priors)
        beyond = self._of(log_target[codes.size :], priors.beyond)
        return Values(score, codes, priors, beyond)

    def coins(self, codes: Index, log_target: Array, priors: Priors, vouched: bool) -> Coins:
        """The same for the published game, which compares the target with the proxy."""
        score = self._of(log_target[: codes.size], replace(priors, expected=priors.log_proxy))
        return Coins(score, codes, priors.proxy, priors.head, priors.tail, vouched)

    def _of(self, log_target: Array, priors: Priors) -> Array:
        return value_score(self.score, log_target, priors.expected, priors.log_proxy, self.power)


def compared(
    records: Records,
    log_target: Array,
    log_proxy: Array,
    proof: ValueProof,
    attack: ValueAttack,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> list[Compared]:
    """Other attacks on the same records, for comparison only: each has its own error."""
    codes = records.codes[: records.training]
    once = replace(proof.rule, repetitions=1, deltas=(), tau=None)
    second = prove(attack.other.values(codes, log_target, proof.priors), once, rng, progress)
    out = [_described(str(attack), proof), _described(str(attack.other), second)]
    if records.heldout_target and records.outside.size >= _LEAST_COMPARED:
        out += _membership(records, log_target, log_proxy, proof.rule.error, rng)
    return out


def _described(name: str, proof: ValueProof) -> Compared:
    found = {(b.parameter, b.delta): b.value for b in proof.bounds}
    return Compared(
        attack=name,
        auc=measures.auc(*proof.shown),
        epsilon=found["epsilon", 0.0],
        mu=found["mu", None],
        note=None if proof.priors.assumption == EXACT else "corrected",
    )


def published_beside(proof: CoinProof, attack: ValueAttack) -> Compared:
    """The published game, its proxy taken to be exact, and its counts alone."""
    return Compared(
        attack=f"{attack}, published game",
        auc=measures.auc(*proof.shown),
        epsilon=proof.count_bound(0.0),
        mu=proof.count_bound(None),
        note="coins, counted; the proxy is taken to be exact",
    )


def _membership(
    records: Records, log_target: Array, log_proxy: Array, error: float, rng: np.random.Generator
) -> list[Compared]:
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
        found = _proved(score, truth, error, np.random.default_rng(int(rng.integers(2**31))))
        out.append(
            Compared(
                attack=name,
                auc=measures.auc(score, truth),
                epsilon=found.get("epsilon", 0.0),
                mu=found.get("mu", 0.0),
                note=(
                    "membership, not the value; held-out records as non-members, assuming no shift"
                ),
            )
        )
    return out


def _proved(score: Array, truth: Array, error: float, rng: np.random.Generator) -> dict[str, float]:
    """The headline bounds of a membership game without features."""
    drawn = draw(truth, rng)
    trials = Trials(score[drawn.rows], drawn.truth, coin=drawn.log_odds)
    try:
        proof = prove(trials, Rule((), error, ("balanced", "prior")), rng)
    except CannotConclude:
        return {}
    return {b.parameter: b.value for b in proof.bounds if b.headline}


def tau_curve(proof: CoinProof, taus: Sequence[float]) -> tuple[Budget, ...]:
    """The bounds of Theorem 5 against the total-variation budget, from the first replay."""
    delta = proof.rule.deltas[0] if proof.rule.deltas else 0.0
    return tuple(
        Budget(
            tau=tau,
            epsilon=proof.alone_bound(0, delta, tau),
            mu=proof.alone_bound(0, None, tau),
        )
        for tau in taus
    )
