"""Headlines that were named: the whole way of an audit, where the named bound has all of the error.

A mechanism that is at the edge of what is named, and nothing that leaks. Those under independent
scores are played on mechanisms that keep to it. Few trials, and those of a loaded coin, are tested
otherwise: by the binomial tail, the recursion or the bet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from divulge.errors import CannotConclude
from divulge.mechanisms import (
    Disclosing,
    GaussianMechanism,
    Mechanism,
    MixedExposure,
    Null,
    RandomisedResponse,
    RareDisclosure,
)
from divulge.proof.prove import prove
from divulge.proof.rule import Named, Rule
from divulge.selftest.case import Case
from divulge.trials import Trials

DELTA, LARGER = 1e-5, 3e-4
_ANY: tuple[Mechanism, ...] = (Null(), RandomisedResponse(1.0), GaussianMechanism(1.0))
_AT_DELTA: tuple[Mechanism, ...] = (
    Disclosing(0.5, LARGER, together=True),
    RareDisclosure(0.5, LARGER, 0.02),
    RandomisedResponse(0.5),
)
_ALONE: tuple[Mechanism, ...] = (Disclosing(0.5, LARGER), RandomisedResponse(0.5), MixedExposure())
ROWS: tuple[tuple[str, tuple[Mechanism, ...], tuple[int, ...]], ...] = (
    ("mu", _ANY, (1000,)),
    ("epsilon", _ANY, (1000,)),
    (f"epsilon@{DELTA:g}", _ANY, (1000,)),
    (f"epsilon@{LARGER:g}", _AT_DELTA, (1000, 4000)),
    ("independent:mu", _ANY, (1000,)),
    (f"independent:epsilon@{LARGER:g}", _ALONE, (1000, 4000)),
)


FEW: tuple[tuple[int, float], ...] = ((60, 0.5), (95, 0.5), (500, 0.95))
"""Trials and coins that leave too little to learn weights from."""


@dataclass(frozen=True)
class PlayNamed:
    """One audit of trials whose coin is all that is known of them."""

    name: str
    mechanism: Mechanism
    trials: int
    heads: float = 0.5
    """How often the coin falls on a member."""

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        coin = float(logit(self.heads))
        drawn = self.mechanism.sample(self.trials, rng, coin)
        rule = Rule((), error, ("balanced",), headline=Named.of(self.name))
        try:
            proof = prove(Trials(drawn.score, drawn.truth, coin=coin), rule, rng)
        except CannotConclude:
            return 0.0
        (bound,) = (b for b in proof.bounds if b.headline)
        return bound.value


def cases() -> Iterator[Case]:
    """Every name on its mechanisms, and those of epsilon on few trials."""
    yield from _few()
    for name, mechanisms, sizes in ROWS:
        named = Named.of(name)
        assert named is not None
        for mechanism in mechanisms:
            curve = mechanism.curve
            truth = curve.mu() if named.delta is None else curve.epsilon(named.delta)
            for trials in sizes:
                yield Case(
                    bound=f"headline {name}",
                    parameter=named.parameter,
                    delta=named.delta,
                    mechanism=mechanism.name,
                    setting=f"m={trials}",
                    play=PlayNamed(name, mechanism, trials),
                    truth=truth,
                    quick=trials == 1000 and mechanism is mechanisms[0],
                )


def _few() -> Iterator[Case]:
    for name in ("epsilon", f"epsilon@{LARGER:g}"):
        named = Named.of(name)
        assert named is not None
        for mechanism in (Null(), RandomisedResponse(1.0)):
            for trials, heads in FEW:
                yield Case(
                    bound=f"headline {name} of few",
                    parameter=named.parameter,
                    delta=named.delta,
                    mechanism=mechanism.name,
                    setting=f"m={trials}, coin={heads:g}",
                    play=PlayNamed(name, mechanism, trials, heads),
                    truth=mechanism.curve.epsilon(named.delta or 0.0),
                    quick=trials != 95 and isinstance(mechanism, Null),
                )
