"""Every bound on every mechanism: trials of a known truth, one claimed number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from divulge.mechanisms import (
    Disclosing,
    GaussianMechanism,
    LaplaceMechanism,
    Mechanism,
    MixedExposure,
    NoisySum,
    Null,
    ProxyError,
    RandomisedResponse,
    RareDisclosure,
    SubsampledGaussianMechanism,
    Tied,
)
from divulge.selftest.case import Case
from divulge.selftest.procedures import LARGE_DELTA, LARGER_DELTA, PROCEDURES, TAU, Procedure, Run


@dataclass(frozen=True)
class GameSize:
    """The game around the mechanism: how many trials, and what the record gives away."""

    trials: int
    members: float = 0.5
    shift: float = 0.0
    """Standard deviation of the prior log-odds around that share."""

    @property
    def name(self) -> str:
        words = [f"m={self.trials}"]
        if self.members != 0.5:
            words.append(f"{self.members:.0%} members")
        if self.shift:
            words.append(f"shift sd {self.shift:g}")
        return ", ".join(words)

    @property
    def fair(self) -> bool:
        return self.members == 0.5 and self.shift == 0.0

    def log_odds(self, rng: np.random.Generator) -> np.ndarray | float:
        centre = float(logit(self.members))
        if not self.shift:
            return centre
        return centre + self.shift * rng.standard_normal(self.trials)


@dataclass(frozen=True)
class Play:
    """One game of a procedure against a mechanism."""

    run: Run
    mechanism: Mechanism
    setting: GameSize

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        trials = self.mechanism.sample(self.setting.trials, rng, self.setting.log_odds(rng))
        return self.run(trials, self.mechanism, error, rng)


def case(
    procedure: Procedure, mechanism: Mechanism, setting: GameSize, *, quick: bool = False
) -> Case:
    """The row of a procedure, a mechanism and a setting."""
    return Case(
        bound=procedure.name,
        parameter=procedure.parameter,
        delta=procedure.delta,
        mechanism=mechanism.name,
        setting=setting.name,
        play=Play(procedure.run, mechanism, setting),
        truth=procedure.truth(mechanism),
        quick=quick,
    )


NULL = Null()
RESPONSE = RandomisedResponse(1.0)
GAUSSIAN = GaussianMechanism(1.0)
TIED = Tied(GaussianMechanism(1.0))
MAIN: tuple[Mechanism, ...] = (NULL, RESPONSE, GAUSSIAN, TIED)
OTHERS: tuple[Mechanism, ...] = (
    LaplaceMechanism(1.0),
    RandomisedResponse(2.0, 5),
    MixedExposure(),
    SubsampledGaussianMechanism(2.0, 0.5),
    NoisySum(0.66, 200),
)
SMALL, MEDIUM, LARGE = GameSize(10), GameSize(1000), GameSize(10_000)
PRIORS = (GameSize(1000, 0.6), GameSize(1000, 0.9), GameSize(1000, shift=2.0))

SPECIAL: dict[str, tuple[tuple[Mechanism, GameSize], ...]] = {
    "recursion mu, tau": (
        (ProxyError(TAU), GameSize(100)),
        (ProxyError(TAU), MEDIUM),
        (ProxyError(TAU), LARGE),
        (RESPONSE, MEDIUM),
    ),
    "recursion, large delta": (
        (Disclosing(0.5, LARGE_DELTA), SMALL),
        (Disclosing(0.5, LARGE_DELTA, together=True), SMALL),
        (Disclosing(0.5, LARGE_DELTA, together=True), MEDIUM),
        (Disclosing(2.0, LARGE_DELTA), LARGE),
    ),
    "calibrated, larger delta": (
        (RareDisclosure(0.5, LARGER_DELTA, 0.01), MEDIUM),
        (RareDisclosure(0.5, LARGER_DELTA, 0.045), LARGE),
        (RareDisclosure(0.1, LARGER_DELTA, 0.02), LARGE),
        (RandomisedResponse(0.5), LARGE),
    ),
    **{
        name: (
            (RareDisclosure(0.5, LARGER_DELTA, 0.01), MEDIUM),
            (RareDisclosure(0.5, LARGER_DELTA, 0.045), LARGE),
            (Disclosing(0.5, LARGER_DELTA), MEDIUM),
            (Disclosing(0.5, LARGER_DELTA, together=True), MEDIUM),
            (RandomisedResponse(0.5), LARGE),
        )
        for name in ("weighted, larger delta", "weighted, exact evidence", "betting, larger delta")
    },
    "betting, noise columns": ((NULL, GameSize(200)), (RESPONSE, GameSize(200)), (NULL, MEDIUM)),
    "betting, coarse grid": (
        (RandomisedResponse(0.9), MEDIUM),
        (RandomisedResponse(0.4), LARGE),
    ),
}


def cases() -> Iterator[Case]:
    """Every procedure on every mechanism."""
    for procedure in PROCEDURES.values():
        if procedure.name in SPECIAL:
            for mechanism, setting in SPECIAL[procedure.name]:
                yield case(procedure, mechanism, setting, quick=setting.trials <= 1000)
            continue
        for mechanism in MAIN:
            quick = mechanism in (NULL, RESPONSE)
            yield case(procedure, mechanism, MEDIUM, quick=quick)
            yield case(procedure, mechanism, SMALL, quick=mechanism is NULL)
        for mechanism in MAIN[:2]:
            yield case(procedure, mechanism, GameSize(100))
            yield case(procedure, mechanism, LARGE)
        for mechanism in OTHERS:
            yield case(procedure, mechanism, MEDIUM)
        if procedure.prior:
            for setting in PRIORS:
                for mechanism in MAIN:
                    quick = mechanism in (NULL, RESPONSE)
                    yield case(procedure, mechanism, setting, quick=quick)
