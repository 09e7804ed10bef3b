"""The shape of a mechanism with a known answer."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from divulge.curves import Curve
from divulge.errors import require
from divulge.trials import Trials
from divulge.types import Array


class Mechanism(Protocol):
    """Something that turns truths into scores and whose privacy curve is known exactly."""

    @property
    def name(self) -> str:
        """A short name with its parameter, for tables."""
        ...

    @property
    def curve(self) -> Curve:
        """The exact trade-off curve between truth +1 and truth -1 of one trial."""
        ...

    def sample(
        self, trials: int, rng: np.random.Generator, log_odds: npt.ArrayLike = 0.0
    ) -> Trials:
        """Trials whose truths are independent with these prior log-odds."""
        ...

    def evidence(self, score: Array) -> Array:
        """The exact log-likelihood ratio of truth +1 against -1 at a score."""
        ...


def draw_truths(
    trials: int, rng: np.random.Generator, log_odds: npt.ArrayLike
) -> tuple[Array, Array]:
    """Independent truths with the given prior log-odds, and the log-odds, one per trial."""
    require(trials >= 1, f"trials must be at least 1. Found {trials}.")
    prior = np.broadcast_to(np.asarray(log_odds, dtype=float), (trials,)).copy()
    truth = np.where(rng.random(trials) < expit(prior), 1.0, -1.0)
    return truth, prior
