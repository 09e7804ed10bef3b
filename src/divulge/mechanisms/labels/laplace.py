"""Laplace noise on the one-hot label, its exact curve, and Bayes' rule for any channel."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import lambertw, logsumexp, ndtri_exp, wrightomega

from divulge.curves import Curve
from divulge.curves.families import require_unit
from divulge.errors import require
from divulge.mechanisms.labels.guarantee import NO_PRIVACY, Guarantee, check_epsilon
from divulge.mechanisms.labels.response import check_codes
from divulge.types import Array


@dataclass(frozen=True)
class LaplacePair(Curve):
    """Two coordinates, each Laplace(0, 1) against Laplace(epsilon/2, 1): exactly epsilon-DP.

    With ``w = eps - e``, conditioning on the loss of one coordinate and integrating Laplace's delta
    over it gives ``delta(e) = 1 - exp(-w/2) (1 + w/4)`` for e in [0, eps]. Its derivative gives the
    vertices of the likelihood-ratio test at threshold e:
    ``a = exp(w/2 - eps) (2 + w) / 8`` and ``f(a) = exp(-w/2) (6 + w) / 8``. The loss has an atom at
    eps, where the curve starts with a straight line, and one at 0, around which it has slope -1.
    """

    epsilon_: float

    def __post_init__(self) -> None:
        require(self.epsilon_ >= 0.0, f"epsilon must be at least 0. Found {self.epsilon_!r}.")

    def _middle(self) -> tuple[float, float]:
        """The ends of the straight line of slope -1: threshold 0, so w = eps."""
        shrink = math.exp(-self.epsilon_ / 2.0) / 8.0
        return shrink * (2.0 + self.epsilon_), shrink * (6.0 + self.epsilon_)

    def __call__(self, alpha: npt.ArrayLike) -> Array:
        a = require_unit(alpha)
        low, high = self._middle()
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # v = 1 + w/2 solves v e^v = 4 a e^(1 + eps) on the left and
            # (2 + v) e^-(2 + v) = 4 a e^-3 on the right
            v = wrightomega(1.0 + self.epsilon_ + np.log(4.0 * a))
            left = np.where(v <= 1.0, 1.0 - np.exp(self.epsilon_) * a, np.exp(1 - v) * (2 + v) / 4)
            v = -lambertw(-4.0 * np.minimum(a, 0.75) * math.exp(-3.0), k=-1).real - 2.0
            right = np.where(a > 0.75, 4.0 * (1.0 - a), np.exp(v - 1.0) * v)
            right = right * math.exp(-self.epsilon_) / 4.0
        left = np.where(a == 0.0, 1.0, left)
        inner = low + high - a
        return np.asarray(np.where(a <= low, left, np.where(a <= high, inner, right)), dtype=float)

    def delta(self, epsilon: float) -> float:
        w = self.epsilon_ - epsilon
        if w <= 0.0:
            return 0.0
        return max(0.0, -math.expm1(-w / 2.0 + math.log1p(w / 4.0)))

    def epsilon(self, delta: float) -> float:
        return min(self.epsilon_, super().epsilon(delta))

    def mu(self) -> float:
        """The widest gap to the Gaussian over the curved part; straight parts lie above it."""
        if self.epsilon_ == 0.0:
            return 0.0

        def gap(w: npt.ArrayLike) -> Array:
            w = np.asarray(w, dtype=float)
            first = w / 2.0 - self.epsilon_ + np.log((2.0 + w) / 8.0)
            second = -w / 2.0 + np.log((6.0 + w) / 8.0)
            return np.asarray(-ndtri_exp(first) - ndtri_exp(second), dtype=float)

        grid = np.linspace(0.0, self.epsilon_, 513)
        best = int(np.argmax(gap(grid)))
        around = (grid[max(best - 1, 0)], grid[min(best + 1, 512)])
        fine = minimize_scalar(lambda w: -float(gap(w)), bounds=around, method="bounded")
        return max(0.0, float(gap(grid[best])), -float(fine.fun))


@dataclass(frozen=True)
class LaplaceChannel:
    """The Laplace mechanism on one-hot labels (Malek et al. 2021): noise of scale 2 / epsilon.

    Replacing a label moves two coordinates by 1, so the L1 sensitivity is 2.
    """

    epsilon: float
    classes: int

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        require(self.classes >= 2, f"A channel needs at least 2 labels. Found {self.classes}.")

    @property
    def scale(self) -> float:
        """The scale of the noise on each coordinate."""
        return 2.0 / self.epsilon

    def sample(self, codes: npt.ArrayLike, rng: np.random.Generator) -> Array:
        """One noisy one-hot row per label code."""
        hot = np.eye(self.classes)[check_codes(codes, self.classes)]
        return np.asarray(hot + rng.laplace(scale=self.scale, size=hot.shape), dtype=float)

    def log_likelihood(self, noisy: npt.ArrayLike) -> Array:
        """One row per record: log density of the noisy row given label y, up to a constant."""
        z = np.asarray(noisy, dtype=float)
        require(
            z.ndim == 2 and z.shape[1] == self.classes,
            f"Noisy labels need one column per class ({self.classes}). Found shape {z.shape}.",
        )
        if math.isinf(self.epsilon):
            return np.where(np.arange(self.classes) == z.argmax(axis=1)[:, None], 0.0, -np.inf)
        return np.asarray((np.abs(z) - np.abs(z - 1.0)) / self.scale, dtype=float)

    @property
    def guarantee(self) -> Guarantee:
        """Exact: any two labels differ in two coordinates."""
        if math.isinf(self.epsilon):
            return NO_PRIVACY
        return Guarantee(
            LaplacePair(self.epsilon),
            "Laplace mechanism with L1 sensitivity 2 (Dwork et al. 2006; Malek et al. 2021).",
            pure=self.epsilon,
        )


def posterior(log_likelihood: Array, prior: Array) -> Array:
    """Bayes' rule, one row per record; where the prior rules everything out, the likelihood."""
    with np.errstate(divide="ignore"):
        joint = log_likelihood + np.log(prior)
    stuck = np.all(np.isneginf(joint), axis=1)
    joint[stuck] = np.broadcast_to(log_likelihood, joint.shape)[stuck]
    return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)), dtype=float)
