"""A generator with a known closeness, and a model with a known epsilon on top (002, Section 4).

A record falls into one of three cells. In the first the data are exactly ``e^c`` times as dense as
the generator; in the last, of mass gamma, the generator never goes: it is (c, gamma)-close and no
better. The model's answer is randomised response on "real or generated" with epsilon, and with
probability delta it says the truth in the open. The best baseline and the best attack are known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from divulge.errors import require, require_probability
from divulge.types import Array

CERTAIN = 50.0
"""Log-odds that stand for certainty."""


@dataclass(frozen=True)
class ShownRecords:
    """Trials of the game: truth, and the log-odds of being real by either view."""

    truth: Array = field(repr=False)
    baseline: Array = field(repr=False)
    """By the cell alone."""
    attack: Array = field(repr=False)
    """By the cell and the model's answer."""


@dataclass(frozen=True)
class KnownGenerator:
    """``share``: mass of the data in the cell that gives most away."""

    c: float = 1.0
    epsilon: float = 0.0
    gamma: float = 0.0
    delta: float = 0.0
    share: float = 0.5

    def __post_init__(self) -> None:
        require(self.c >= 0.0 and self.epsilon >= 0.0, "c and epsilon must not be negative.")
        for name in ("gamma", "delta"):
            require_probability(name, getattr(self, name), zero=True)
        require(self.share + self.gamma < 1.0, "share and gamma must leave a third cell.")

    @property
    def name(self) -> str:
        """For tables."""
        parts = [f"c={self.c:g}", f"epsilon={self.epsilon:g}"]
        parts += [f"{k}={v:g}" for k, v in (("gamma", self.gamma), ("delta", self.delta)) if v]
        return f"known generator ({', '.join(parts)})"

    def sample(self, trials: int, rng: np.random.Generator) -> ShownRecords:
        """Fair coins, one record each, and the model's answer."""
        truth = np.where(rng.random(trials) < 0.5, 1.0, -1.0)
        dense = self.share * math.exp(-self.c)
        data = np.array([self.share, 1.0 - self.share - self.gamma, self.gamma])
        made = np.array([dense, 1.0 - dense, 0.0])
        cell = np.where(truth > 0.0, *(rng.choice(3, trials, p=p) for p in (data, made)))
        log_odds = np.array([self.c, math.log(data[1] / made[1]), CERTAIN])
        honest = rng.random(trials) < 1.0 / (1.0 + math.exp(-self.epsilon))
        answer = np.where(honest, truth, -truth) * self.epsilon
        open_ = rng.random(trials) < self.delta
        answer = np.where(open_, truth * CERTAIN, answer)
        baseline = log_odds[cell]
        return ShownRecords(truth, baseline, baseline + answer)
