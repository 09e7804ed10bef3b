"""A noisy sum of records on the unit sphere: the synthetic experiment of 000, Section F."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from divulge import curves
from divulge.errors import require
from divulge.mechanisms.base import draw_truths
from divulge.trials import Trials
from divulge.types import Array


@dataclass(frozen=True)
class NoisySum:
    """``theta = sum of members + N(0, I / mu^2)`` in d dimensions, records of norm 1.

    Adding or removing one record moves the sum by 1, so the release is exactly mu-GDP; the score of
    a record is its inner product with theta. Members lean towards a common direction by ``bias``,
    non-members by ``decay * bias``: with decay 1 there is no shift. One release serves all trials,
    as in an audit of one model.
    """

    mu: float = 0.66
    dimension: int = 1000
    bias: float = 0.0
    decay: float = 1.0

    def __post_init__(self) -> None:
        require(self.mu > 0.0, f"mu must be above 0. Found {self.mu!r}.")
        require(self.dimension >= 2, f"dimension must be at least 2. Found {self.dimension}.")

    @property
    def name(self) -> str:
        return f"noisy sum mu={self.mu:g} d={self.dimension}"

    @property
    def curve(self) -> curves.Curve:
        return curves.Gaussian(self.mu)

    def records(self, truth: Array, rng: np.random.Generator) -> Array:
        """One record per truth: ``N(gamma v, I)`` projected onto the unit sphere.

        The common direction v is the first axis; by rotation this loses no generality.
        """
        x = rng.standard_normal((truth.size, self.dimension))
        x[:, 0] += np.where(truth > 0.0, self.bias, self.decay * self.bias)
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True), dtype=float)

    def release(self, members: Array, rng: np.random.Generator) -> Array:
        """The private sum of the member records."""
        noise = rng.standard_normal(self.dimension) / self.mu
        return np.asarray(members.sum(axis=0) + noise, dtype=float)

    def sample(
        self, trials: int, rng: np.random.Generator, log_odds: npt.ArrayLike = 0.0
    ) -> Trials:
        """Trials of one release; only without shift are the given log-odds the whole prior."""
        require(
            self.decay == 1.0 or self.bias == 0.0,
            "With a shift the prior depends on the record: use records() and release().",
        )
        truth, prior = draw_truths(trials, rng, log_odds)
        x = self.records(truth, rng)
        theta = self.release(x[truth > 0.0], rng)
        return Trials(x @ theta, truth, prior)

    def evidence(self, score: Array) -> Array:
        """The score is centred and scaled: against the noise of the other members it is
        N(1, v) for members and N(0, v), ``v = 1/mu^2 + sum of squared overlaps``; the overlap of
        the others is unknown here, so this is a direction, not an exact ratio.
        """
        return self.mu**2 * (np.asarray(score, dtype=float) - 0.5)
