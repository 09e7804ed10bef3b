"""Symmetric trade-off curves in closed form, and their conversions.

A curve is a trade-off function ``f``: ``f(alpha)`` is the least type II error of any test of
"record in" against "record out" whose type I error is ``alpha`` (Dong, Roth and Su, Gaussian
differential privacy). A guarantee covers both directions, so every curve here is symmetric
(``f`` is its own inverse), convex, non-increasing, and ``f(alpha) <= 1 - alpha``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr, ndtr, ndtri

from divulge.errors import InputError, require, require_probability
from divulge.types import Array

_MU_MAX = 75.0  # beyond this, exp(mu^2 / 2) leaves the range of a float


class Curve(ABC):
    """A symmetric trade-off function ``f``."""

    @abstractmethod
    def __call__(self, alpha: npt.ArrayLike) -> Array:
        """``f(alpha)``: least type II error at type I error alpha."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Least delta at which the curve is (epsilon, delta)-DP: ``sup_a 1 - f(a) - e^eps a``."""

    def inverse(self, power: npt.ArrayLike) -> Array:
        """``fbar^-1(power)``, ``fbar = 1 - f``: least type I error at which ``power`` is reached.

        By symmetry ``fbar^-1(y) = f(1 - y)``.
        """
        return self(1.0 - np.asarray(power, dtype=float))

    def tpr(self, fpr: npt.ArrayLike) -> Array:
        """Largest true-positive rate of any attack at this false-positive rate."""
        return np.asarray(1.0 - self(fpr), dtype=float)

    def advantage(self) -> float:
        """Largest TPR minus FPR of any attack; the total variation distance, ``delta(0)``."""
        return self.delta(0.0)

    def epsilon(self, delta: float) -> float:
        """Least epsilon at which the curve is (epsilon, delta)-DP; infinite if there is none."""
        require(0.0 <= delta < 1.0, f"delta must lie in [0, 1). Found {delta!r}.")
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta(high) > delta:
            low, high = high, 2.0 * high
            if high > 700.0:
                return math.inf
        while high - low > 1e-12 * (1.0 + high):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high

    @abstractmethod
    def mu(self) -> float:
        """Least mu with ``G_mu <= f``, so that the curve is mu-GDP; infinite if there is none."""

    def compose(self, other: Curve) -> Curve:
        """Composition where it has a closed form; raises InputError elsewhere."""
        for first, second in ((self, other), (other, self)):
            closed = first._compose(second)
            if closed is not None:
                return closed
        raise InputError(
            f"No closed form for the composition of {type(self).__name__} and "
            f"{type(other).__name__}. Compose their privacy-loss distributions with "
            "dp-accounting and read the result with divulge.curves.from_privacy_loss."
        )

    def _compose(self, other: Curve) -> Curve | None:
        """``f * f_{0,d}`` is ``(1-d) f(a / (1-d))`` for every f (000, equation 5)."""
        if isinstance(other, ApproximateDP) and other.epsilon_ == 0.0:
            return WithFailure(self, other.delta_) if other.delta_ > 0.0 else self
        return None


def require_unit(alpha: npt.ArrayLike) -> Array:
    """An array of numbers in [0, 1]; NaN is refused."""
    a = np.asarray(alpha, dtype=float)
    if not np.all((a >= 0.0) & (a <= 1.0)):
        raise InputError("A type I error must lie in [0, 1].")
    return a


@dataclass(frozen=True)
class ApproximateDP(Curve):
    """``f_{eps,delta}(a) = max(0, 1 - delta - e^eps a, e^-eps (1 - delta - a))``."""

    epsilon_: float
    delta_: float = 0.0

    def __post_init__(self) -> None:
        require(self.epsilon_ >= 0.0, f"epsilon must be at least 0. Found {self.epsilon_!r}.")
        require(0.0 <= self.delta_ <= 1.0, f"delta must lie in [0, 1]. Found {self.delta_!r}.")

    def __call__(self, alpha: npt.ArrayLike) -> Array:
        a = require_unit(alpha)
        if math.isinf(self.epsilon_):
            return np.asarray(np.where(a > 0.0, 0.0, 1.0 - self.delta_), dtype=float)
        left = 1.0 - self.delta_ - np.exp(min(self.epsilon_, 700.0)) * a
        right = np.exp(-self.epsilon_) * (1.0 - self.delta_ - a)
        return np.asarray(np.maximum(0.0, np.maximum(left, right)), dtype=float)

    def inverse(self, power: npt.ArrayLike) -> Array:
        y = require_unit(power)
        left = (y - self.delta_) * np.exp(-self.epsilon_)
        right = 1.0 - self.delta_ - (1.0 - y) * np.exp(min(self.epsilon_, 700.0))
        return np.asarray(np.clip(np.maximum(left, right), 0.0, 1.0), dtype=float)

    def delta(self, epsilon: float) -> float:
        if epsilon >= self.epsilon_:
            return self.delta_
        # the two slopes meet at a = (1 - delta) / (1 + e^eps); the supremum is at a vertex
        corner = (1.0 - self.delta_) * float(expit(-self.epsilon_))
        return float(max(self.delta_, 1.0 - corner - math.exp(epsilon) * corner))

    def mu(self) -> float:
        if self.delta_ > 0.0 or math.isinf(self.epsilon_):
            return math.inf
        return mu_from_pure_epsilon(self.epsilon_)

    def _compose(self, other: Curve) -> Curve | None:
        if isinstance(other, ApproximateDP):
            survive = (1.0 - self.delta_) * (1.0 - other.delta_)
            return ApproximateDP(self.epsilon_ + other.epsilon_, 1.0 - survive)
        return super()._compose(other)


@dataclass(frozen=True)
class Gaussian(Curve):
    """``G_mu(a) = Phi(Phi^-1(1 - a) - mu)``: N(0,1) against N(mu,1)."""

    mu_: float

    def __post_init__(self) -> None:
        require(self.mu_ >= 0.0, f"mu must be at least 0. Found {self.mu_!r}.")

    def __call__(self, alpha: npt.ArrayLike) -> Array:
        return np.asarray(ndtr(-ndtri(require_unit(alpha)) - self.mu_), dtype=float)

    def inverse(self, power: npt.ArrayLike) -> Array:
        return np.asarray(ndtr(ndtri(require_unit(power)) - self.mu_), dtype=float)

    def delta(self, epsilon: float) -> float:
        """``Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2)`` (Dong et al., Corollary 1)."""
        return gaussian_delta(self.mu_, epsilon)

    def epsilon(self, delta: float) -> float:
        if delta == 0.0 and self.mu_ > 0.0:
            return math.inf  # delta(epsilon) is positive everywhere, though it underflows
        return super().epsilon(delta)

    def mu(self) -> float:
        return self.mu_

    def _compose(self, other: Curve) -> Curve | None:
        if isinstance(other, Gaussian):
            return Gaussian(math.hypot(self.mu_, other.mu_))
        return super()._compose(other)


@dataclass(frozen=True)
class Laplace(Curve):
    """Laplace(0, 1) against Laplace(epsilon, 1), epsilon = sensitivity over scale."""

    epsilon_: float

    def __post_init__(self) -> None:
        require(self.epsilon_ >= 0.0, f"epsilon must be at least 0. Found {self.epsilon_!r}.")

    def __call__(self, alpha: npt.ArrayLike) -> Array:
        a = require_unit(alpha)
        e = math.exp(-self.epsilon_)
        with np.errstate(divide="ignore"):
            middle = e / (4.0 * a)
        steep, flat = 1.0 - a / e, e * (1.0 - a)
        return np.where(a < e / 2.0, steep, np.where(a <= 0.5, middle, flat))

    def inverse(self, power: npt.ArrayLike) -> Array:
        y = require_unit(power)
        e = math.exp(-self.epsilon_)
        with np.errstate(divide="ignore"):
            middle = e / (4.0 * (1.0 - y))
        low, high = e * y, 1.0 - (1.0 - y) / e
        return np.where(y < 0.5, low, np.where(1.0 - y >= e / 2.0, middle, high))

    def delta(self, epsilon: float) -> float:
        if epsilon >= self.epsilon_:
            return 0.0
        return -math.expm1((epsilon - self.epsilon_) / 2.0)

    def epsilon(self, delta: float) -> float:
        require_probability("delta", delta, zero=True)
        return max(0.0, self.epsilon_ + 2.0 * math.log1p(-delta))

    def mu(self) -> float:
        """The gap to the Gaussian is widest where a = f(a) = e^(-eps/2) / 2."""
        return float(max(-2.0 * ndtri(math.exp(-self.epsilon_ / 2.0) / 2.0), 0.0))


@dataclass(frozen=True)
class SubsampledGaussian(Curve):
    """A Gaussian whose record takes part with probability ``rate`` (theory of 004, corrected).

    One direction is ``1 - TPR`` with ``TPR(a) = (1-rate) a + rate Phi(Phi^-1(a) + mu)``; the curve
    is the largest symmetric convex function below it and its inverse (Dong et al., C_p(f)).
    """

    mu_: float
    rate: float

    def __post_init__(self) -> None:
        require(self.mu_ >= 0.0, f"mu must be at least 0. Found {self.mu_!r}.")
        require(0.0 < self.rate <= 1.0, f"rate must lie in (0, 1]. Found {self.rate!r}.")

    def _one_direction(self, alpha: Array) -> Array:
        power = (1.0 - self.rate) * alpha + self.rate * ndtr(ndtri(alpha) + self.mu_)
        return np.asarray(1.0 - power, dtype=float)

    def __call__(self, alpha: npt.ArrayLike) -> Array:
        a = np.atleast_1d(require_unit(alpha))
        touch = float(ndtr(-self.mu_ / 2.0))  # here the slope is -1
        mirror = float(self._one_direction(np.array([touch]))[0])
        out = touch + mirror - a
        low = a < touch
        out[low] = self._one_direction(a[low])
        high = a > mirror
        out[high] = self._inverse_direction(a[high])
        return np.clip(out, 0.0, 1.0).reshape(np.shape(alpha))

    def _inverse_direction(self, alpha: Array) -> Array:
        low, high = np.zeros_like(alpha), np.ones_like(alpha)
        for _ in range(60):
            mid = 0.5 * (low + high)
            above = self._one_direction(mid) > alpha
            low, high = np.where(above, mid, low), np.where(above, high, mid)
        return 0.5 * (low + high)

    def inverse(self, power: npt.ArrayLike) -> Array:
        """Without ``1 - y``, which would round away a small power; never above the true value."""
        y = np.atleast_1d(require_unit(power))
        touch = float(ndtr(-self.mu_ / 2.0))
        reached = 1.0 - float(self._one_direction(np.array([touch]))[0])
        out = touch + (y - reached)
        small = y < reached  # the type I error at which the direct branch has this power
        low, high = np.zeros(int(small.sum())), np.full(int(small.sum()), touch)
        for _ in range(200):
            mid = np.where(low > 0.0, np.sqrt(low * high), high * 1e-3)
            below = (1.0 - self.rate) * mid + self.rate * ndtr(ndtri(mid) + self.mu_) <= y[small]
            low, high = np.where(below, mid, low), np.where(below, high, mid)
        out[small] = low
        large = y > 1.0 - touch
        out[large] = self._one_direction(1.0 - y[large])
        return np.clip(out, 0.0, 1.0).reshape(np.shape(power))

    def delta(self, epsilon: float) -> float:
        """The larger of ``delta(H1|H0)`` and ``delta(H0|H1)`` of the mixture (004, corrected)."""
        rate, grown = self.rate, math.exp(epsilon)
        forward = rate * gaussian_delta(self.mu_, math.log1p(math.expm1(epsilon) / rate))
        weight = 1.0 - (1.0 - rate) * grown
        backward = 0.0
        if weight > 0.0:
            backward = weight * gaussian_delta(self.mu_, math.log(rate * grown / weight))
        return max(forward, backward)

    def epsilon(self, delta: float) -> float:
        if delta == 0.0 and self.mu_ > 0.0:
            return math.inf
        return super().epsilon(delta)

    def mu(self) -> float:
        """In the far tail the curve approaches ``G_mu``: no smaller Gaussian lies below it."""
        return self.mu_


@dataclass(frozen=True)
class WithFailure(Curve):
    """``f * f_{0,d}``: the curve holds but for an event of probability ``failure``."""

    curve: Curve
    failure: float

    def __post_init__(self) -> None:
        require_probability("failure", self.failure, zero=True)

    def __call__(self, alpha: npt.ArrayLike) -> Array:
        keep = 1.0 - self.failure
        a = require_unit(alpha) / keep
        return np.where(a <= 1.0, keep * self.curve(np.minimum(a, 1.0)), 0.0)

    def inverse(self, power: npt.ArrayLike) -> Array:
        keep = 1.0 - self.failure
        y = np.clip((require_unit(power) - self.failure) / keep, 0.0, 1.0)
        return np.asarray(keep * self.curve.inverse(y), dtype=float)

    def delta(self, epsilon: float) -> float:
        return 1.0 - (1.0 - self.failure) * (1.0 - self.curve.delta(epsilon))

    def mu(self) -> float:
        return math.inf if self.failure > 0.0 else self.curve.mu()


def gaussian_delta(mu: float, epsilon: float) -> float:
    """delta(epsilon) of ``G_mu``, stable in the tails (logarithms of the normal cdf)."""
    if mu <= 0.0:
        return max(0.0, -math.expm1(epsilon)) if epsilon < 0.0 else 0.0
    first = float(log_ndtr(-epsilon / mu + mu / 2.0))
    second = epsilon + float(log_ndtr(-epsilon / mu - mu / 2.0))
    return max(0.0, -math.exp(first) * math.expm1(min(0.0, second - first)))


def epsilon_from_mu(mu: float, delta: float) -> float:
    """The epsilon at delta of a mechanism whose curve is exactly ``G_mu``.

    For any other mechanism this is NOT a lower bound, even when mu is one.
    """
    return Gaussian(mu).epsilon(delta)


def mu_from_epsilon(epsilon: float, delta: float) -> float:
    """The mu at which ``G_mu`` is exactly (epsilon, delta)-DP."""
    require(epsilon >= 0.0, f"epsilon must be at least 0. Found {epsilon!r}.")
    require_probability("delta", delta)
    if gaussian_delta(_MU_MAX, epsilon) <= delta:
        return _MU_MAX
    return float(brentq(lambda mu: gaussian_delta(mu, epsilon) - delta, 0.0, _MU_MAX, xtol=1e-12))


def mu_from_pure_epsilon(epsilon: float) -> float:
    """eps-DP implies mu-GDP with ``mu = 2 Phi^-1(e^eps / (1 + e^eps))``, and no smaller mu."""
    require(epsilon >= 0.0, f"epsilon must be at least 0. Found {epsilon!r}.")
    return float(-2.0 * ndtri(expit(-epsilon)))
