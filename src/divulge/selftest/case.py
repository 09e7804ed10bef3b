"""One row of the self-test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Case:
    """One row of the self-test: a bound, a mechanism and a game."""

    bound: str
    parameter: str
    delta: float | None
    mechanism: str
    setting: str
    play: Callable[[float, np.random.Generator], float] = field(repr=False)
    """``play(error, rng)``: one game, and the lower bound that it claims."""
    truth: float
    """The exact value that the claim must not exceed."""
    quick: bool = False
    """Whether it is part of the quick form."""
    share: float = 1.0
    """Share of the repetitions it gets: slow games are played less often."""

    @property
    def label(self) -> str:
        """Its name for --only, and the source of its seed."""
        return f"{self.bound} | {self.mechanism} | {self.setting}"
