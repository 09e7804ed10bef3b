"""Every source of propensities under its guards, and epsilon at delta as Theorem 5.1.1 has it.

The tables leak nothing; their score follows the very features that differ between the groups. The
propensities are wrong in the ways a user's are: one learner that is blind to the shift, held-out
records that are few or of another population, given ones that ignore the shift. A claim counts if
a headline rests on it; "cannot conclude" claims nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from divulge.data.features import Features
from divulge.games.membership.play import Pools, audit_pools
from divulge.mechanisms import (
    GaussianMechanism,
    Mechanism,
    Null,
    RandomisedResponse,
    RareDisclosure,
    Shifted,
)
from divulge.proof.rule import Rule
from divulge.selftest.case import Case
from divulge.selftest.procedures import DELTA, LARGER_DELTA
from divulge.selftest.readings import Claims, Reading, by_name
from divulge.shift import propensity, tampered

ROWS = 6000
SHARE = 0.1
_STEEPER = 0.8


@dataclass(frozen=True)
class Guarded:
    """One membership audit whose propensities come from ``source``."""

    table: Shifted
    rows: int
    source: str

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        drawn = self.table.sample(2 * self.rows, rng)
        x, truth = drawn.features, drawn.truth
        here, there = slice(self.rows), slice(self.rows, None)
        known = heldout = None
        estimator = "auto"
        match self.source.split(", "):
            case ["held-out", "another population"]:
                other = expit(drawn.log_odds[there] + _STEEPER * x[there, 1])
                heldout = x[there], np.where(rng.random(self.rows) < other, 1.0, -1.0)
            case ["held-out", "few"]:
                few = slice(self.rows, self.rows + self.rows // 8)
                heldout = x[few], truth[few]
            case ["held-out", estimator]:
                heldout = x[there], truth[there]
            case ["given", "even odds"]:
                known = np.full(self.rows, 0.5)
            case ["given", learner]:
                fit = propensity.fit_log_odds(x[there], truth[there], learner=learner, rng=rng)
                known = expit(fit(x[here]))
            case [estimator]:
                pass
        pools = Pools(
            truth=truth[here],
            score=drawn.score[here, None],
            features=Features(x[here], tuple(f"x_{j}" for j in range(x.shape[1]))),
            reference=None,
            propensity=known,
            score_names=("score",),
            inputs=(),
            heldout=heldout,
        )
        result = audit_pools(
            pools,
            # half of the error goes to bets and half to counts
            Rule(
                error=2.0 * error,
                corrections=("balanced", "prior"),
                estimator=estimator,
                brief=True,
            ),
            seed=int(rng.integers(2**31)),
        )
        return by_name(result.headline())


@dataclass(frozen=True)
class Tampered:
    """Epsilon at delta from guesses by the exact posterior, tampered with for each epsilon."""

    mechanism: Mechanism
    trials: int
    shift: float
    delta: float
    signed: bool

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        prior = self.shift * rng.standard_normal(self.trials)
        game = self.mechanism.sample(self.trials, rng, prior)
        evidence = np.asarray(self.mechanism.evidence(game.score), dtype=float)
        uniforms = rng.random(self.trials)
        return tampered.proved(
            evidence, game.truth, prior, uniforms, self.delta, error, rng, signed=self.signed
        )


GUARDED = (
    ("variance", "held-out, auto"),
    ("cluster", "held-out, auto"),
    ("interaction", "held-out, few"),
    ("variance", "held-out, another population"),
    ("variance", "held-out, logistic"),
    ("interaction", "logistic"),
    ("interaction", "boosting"),
    ("variance", "given, even odds"),
    ("interaction", "given, logistic"),
)


def cases() -> Iterator[Case]:
    """Null audits of every source, and the theorem where it is tight and where it is not."""
    for kind, source in GUARDED:
        table = Shifted(kind)
        for correction, parameter, delta in (("balanced", "mu", None), ("prior", "epsilon", 0.0)):
            yield Case(
                bound=f"membership, {correction}, {source}",
                parameter=parameter,
                delta=delta,
                mechanism=table.name,
                setting=f"{ROWS} rows",
                play=Reading(Guarded(table, ROWS, source), (parameter, delta)),
                truth=0.0,
                share=SHARE,
            )
    for signed in (False, True):
        for mechanism, trials, shift, delta in (
            (Null(), 1000, 2.0, DELTA),
            (RandomisedResponse(1.0), 1000, 0.0, DELTA),
            (RandomisedResponse(1.0), 1000, 1.0, DELTA),
            (RandomisedResponse(4.0), 2000, 1.0, DELTA),
            (GaussianMechanism(1.0), 2000, 1.0, DELTA),
            (RareDisclosure(0.5, LARGER_DELTA, 0.01), 1000, 0.0, LARGER_DELTA),
            (RareDisclosure(0.5, LARGER_DELTA, 0.01), 1000, 1.0, LARGER_DELTA),
        ):
            name = "signed" if signed else "conditional"
            yield Case(
                bound=f"{name}, theorem 5.1.1",
                parameter="epsilon",
                delta=delta,
                mechanism=mechanism.name,
                setting=f"m={trials}" + (f", shift sd {shift:g}" if shift else ""),
                play=Tampered(mechanism, trials, shift, delta, signed),
                truth=mechanism.curve.epsilon(delta),
                quick=shift > 0.0 and trials == 1000 and not isinstance(mechanism, Null),
            )
