"""One row of the self-test: games that are played, or a probability that is computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from divulge.errors import require


@dataclass(frozen=True)
class _Named:
    bound: str
    parameter: str
    delta: float | None
    mechanism: str
    setting: str

    @property
    def label(self) -> str:
        """Its name for --only, and the source of its seed."""
        return f"{self.bound} | {self.mechanism} | {self.setting}"

    @property
    def family(self) -> str:
        """The first word of the bound: rows of one family are also judged together."""
        return self.bound.replace(",", "").split()[0]


@dataclass(frozen=True)
class Case(_Named):
    """A bound, a mechanism and a game, to be played many times."""

    play: Callable[[float, np.random.Generator], float] = field(repr=False)
    """``play(error, rng)``: one game, and the lower bound that it claims."""
    truth: float
    """The exact value that the claim must not exceed."""
    quick: bool = False
    """Whether it is part of the quick form."""
    share: float = 1.0
    """Share of the repetitions it gets: slow games are played less often."""


@dataclass(frozen=True)
class Check(_Named):
    """What is computed instead of simulated: probabilities at the edge of what a bound allows.

    ``compute(error)`` gives one value for each edge, for instance the exact probability of a false
    claim if the truth lies just below what a count proves. None may be above the limit, by default
    the stated error; and where the mechanism attains the bound none may be below the share
    ``attained`` of it, or the bound is needlessly low.
    """

    compute: Callable[[float], npt.ArrayLike] = field(repr=False)
    quantity: str = "probability of a false claim"
    limit: float | None = None
    attained: float = 0.0
    quick: bool = True


def require_different(cases: Iterable[_Named]) -> None:
    """Games are dealt and told apart by the labels of their rows."""
    twice = [label for label, count in Counter(c.label for c in cases).items() if count > 1]
    require(not twice, f"Two rows have the name {', '.join(twice[:1])}.")
