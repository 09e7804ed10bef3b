"""DP-SGD in numpy, for logistic regression with any number of classes, and what it guarantees."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax, softmax

from divulge import curves
from divulge.errors import MissingExtra, require
from divulge.types import Array

Labels = npt.NDArray[np.intp]


@dataclass(frozen=True)
class DPSGD:
    """Poisson batches, clipped gradients, Gaussian noise on their sum.

    The parameters are one vector: weights and an intercept per class. The sum is divided by the
    expected batch size ``rate * records``, where ``records`` is a public number, not the count of
    those who happen to be included. Adding or removing one record moves the sum by at most
    ``clip``, so the whole run, every intermediate parameter included, is a composition of
    ``steps`` sub-sampled Gaussian mechanisms.
    """

    noise_multiplier: float
    rate: float
    steps: int
    records: int
    classes: int = 2
    clip: float = 1.0
    learning_rate: float = 0.5

    def __post_init__(self) -> None:
        require(self.noise_multiplier > 0.0, "noise_multiplier must be above 0.")
        require(0.0 < self.rate <= 1.0, f"rate must lie in (0, 1]. Found {self.rate!r}.")
        require(self.classes >= 2, f"classes must be at least 2. Found {self.classes}.")
        for name in ("steps", "records"):
            require(getattr(self, name) >= 1, f"{name} must be at least 1.")
        for name in ("clip", "learning_rate"):
            require(getattr(self, name) > 0.0, f"{name} must be above 0.")

    @property
    def name(self) -> str:
        """A short name with its parameters, for tables."""
        return f"dp-sgd sigma={self.noise_multiplier:g} q={self.rate:g} T={self.steps}"

    @property
    def batch(self) -> float:
        """The expected batch size."""
        return self.rate * self.records

    @property
    def curve(self) -> curves.Curve:
        """Its trade-off curve: exactly Gaussian at rate 1, else from the package dp-accounting."""
        if self.rate == 1.0:
            return curves.Gaussian(math.sqrt(self.steps) / self.noise_multiplier)
        return curves.from_privacy_loss(self._privacy_loss())

    def epsilon(self, delta: float) -> float:
        """The epsilon that it guarantees at delta (an upper bound, rounded up)."""
        if self.rate == 1.0:
            return self.curve.epsilon(delta)
        return float(self._privacy_loss().get_epsilon_for_delta(delta))

    def _privacy_loss(self) -> Any:
        try:
            from dp_accounting.pld import privacy_loss_distribution
        except ImportError:
            raise MissingExtra("dp-accounting", "accounting") from None
        one = privacy_loss_distribution.from_gaussian_mechanism(
            self.noise_multiplier, sampling_prob=self.rate
        )
        return one.self_compose(self.steps)

    def start(self, columns: int) -> Array:
        """The parameters before any step."""
        return np.zeros(self.classes * (columns + 1))

    def losses(self, theta: Array, x: Array, y: Labels) -> Array:
        """Cross-entropy per record."""
        return np.asarray(-log_softmax(self._logits(theta, x), axis=1)[np.arange(y.size), y])

    def gradients(self, theta: Array, x: Array, y: Labels) -> Array:
        """Clipped gradients, one row per record."""
        pull, records = self._pull(theta, x, y)
        outer = pull[:, :, None] * records[:, None, :]
        return np.asarray(outer.reshape(y.size, -1))

    def train(
        self,
        x: Array,
        y: Labels,
        rng: np.random.Generator,
        insert: Callable[[Array], Array] | None = None,
    ) -> Iterator[tuple[Array, Array]]:
        """One run; yields the parameters before and after each step.

        ``insert`` may add gradient canaries to the sum of clipped gradients, before the noise.
        """
        theta = self.start(x.shape[1])
        for _ in range(self.steps):
            taken = rng.random(y.size) < self.rate
            pull, records = self._pull(theta, x[taken], y[taken])
            total = (pull.T @ records).ravel()
            if insert is not None:
                total = insert(total)
            noise = self.noise_multiplier * self.clip * rng.standard_normal(theta.size)
            after = theta - self.learning_rate * (total + noise) / self.batch
            yield theta, after
            theta = after

    def _logits(self, theta: Array, x: Array) -> Array:
        weights = theta.reshape(self.classes, -1)
        return np.asarray(x @ weights[:, :-1].T + weights[:, -1])

    def _pull(self, theta: Array, x: Array, y: Labels) -> tuple[Array, Array]:
        """A gradient is an outer product, so its norm is a product: clipping needs no gradient."""
        pull = softmax(self._logits(theta, x), axis=1)
        pull[np.arange(y.size), y] -= 1.0
        records = np.column_stack([x, np.ones(y.size)])
        length = np.linalg.norm(pull, axis=1) * np.linalg.norm(records, axis=1)
        pull *= np.minimum(1.0, self.clip / np.maximum(length, 1e-300))[:, None]
        return pull, records
