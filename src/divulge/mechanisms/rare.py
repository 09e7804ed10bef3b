"""A mechanism that now and then discloses, and shows in its output that it does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from divulge import curves
from divulge.errors import require
from divulge.mechanisms.base import draw_truths
from divulge.trials import Trials
from divulge.types import Array

_SURE = 50.0


@dataclass(frozen=True)
class RareDisclosure:
    """Randomised response; but with probability ``chance``, for the whole game, plain disclosure.

    Then every record is disclosed with probability ``delta / chance``, and nothing is said of the
    others. This is exactly (epsilon, delta)-DP. Few guesses are best when it discloses, many when
    it does not, so a number of guesses chosen from its scores is a number that it chose.
    """

    epsilon: float
    delta: float
    chance: float

    def __post_init__(self) -> None:
        require(0.0 < self.delta <= self.chance < 1.0, "Must hold: 0 < delta <= chance < 1.")

    @property
    def name(self) -> str:
        return f"rare disclosure eps={self.epsilon:g} delta={self.delta:g} chance={self.chance:g}"

    @property
    def curve(self) -> curves.Curve:
        """No smaller epsilon holds at ``delta``, no smaller delta at ``epsilon``."""
        return curves.ApproximateDP(self.epsilon, self.delta)

    def sample(
        self, trials: int, rng: np.random.Generator, log_odds: npt.ArrayLike = 0.0
    ) -> Trials:
        truth, prior = draw_truths(trials, rng, log_odds)
        uniforms = rng.random(trials)
        if rng.random() < self.chance:
            score = np.where(uniforms < self.delta / self.chance, _SURE * truth, 0.0)
        else:
            score = np.where(uniforms < expit(self.epsilon), truth, -truth)
        return Trials(score, truth, prior)

    def evidence(self, score: Array) -> Array:
        return np.where(np.abs(score) == _SURE, score, self.epsilon * np.sign(score))
