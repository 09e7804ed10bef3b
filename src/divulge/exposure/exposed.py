"""What one record leaks through a released mean: score, power, advantage, both privacy curves.

The model (004, Theorems 3.1, 4.1 and 4.5): the mean of n records, with or without Gaussian noise,
is close to normal, and taking one record in moves it by ``(z - mu) / n``. Then
``m* = |z - mu|^2_{C^-1} / n`` is all there is to know of the record: it is told apart as two bell
curves whose centres lie ``sqrt(m*)`` standard deviations apart. Noise adds to C.

Sub-sampling does NOT scale ``m*`` as Theorem 4.3 of 004 says. Whether the record was sampled is
shared by all columns, so that the mean is a mixture: with probability ``rate`` the record is in,
and then stands among ``rate n`` records, a shift of ``sqrt(m* / rate)``; otherwise nothing
happened. Every function takes ``leakage`` (m* of the whole table, noise included) and ``rate``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr, ndtri

from divulge.curves import Curve, Gaussian, SubsampledGaussian
from divulge.errors import require, require_probability
from divulge.exposure.covariance import Covariance
from divulge.types import Array

GRID = 20_000
"""Beyond so many records epsilon is computed on a grid of m* and joined by lines."""
LARGEST = 600.0
"""An epsilon beyond which nothing is told apart from infinity."""


@dataclass(frozen=True)
class Release:
    """What is published: the mean of ``size`` records, or of a random share, with noise or not."""

    size: int
    """Records in the table, n."""
    noise: float | tuple[float, ...] = 0.0
    """Standard deviation of the Gaussian noise on every column of the released mean, or on each."""
    rate: float = 1.0
    """Share of the records behind the mean, drawn without replacement."""

    def __post_init__(self) -> None:
        require(self.size >= 2, f"A mean needs at least 2 records. Found {self.size!r}.")
        loud = np.atleast_1d(np.asarray(self.noise, dtype=float))
        wrong = np.flatnonzero(~(np.isfinite(loud) & (loud >= 0.0)))
        require(
            loud.size > 0 and wrong.size == 0,
            "noise must be finite and at least 0. Found "
            f"{loud[wrong[0]] if wrong.size else self.noise!r}.",
        )
        require(0.0 < self.rate <= 1.0, f"rate must lie in (0, 1]. Found {self.rate!r}.")
        require(
            self.rate * self.size >= 1.0,
            f"rate {self.rate!r} of {self.size} records is less than one record.",
        )

    @property
    def noisy(self) -> bool:
        """Whether there is noise on any column."""
        return bool(np.any(self.variance > 0.0))

    @property
    def variance(self) -> Array:
        """The variance of the noise: one number, or one for each column."""
        return np.asarray(self.noise, dtype=float) ** 2

    @property
    def behind(self) -> float:
        """Records behind the mean, k."""
        return self.rate * self.size

    def covariance(self, covariance: Covariance) -> Covariance:
        """The covariance with the noise in it: as if every record had its share of the noise."""
        return covariance.with_noise(self.behind * self.variance) if self.noisy else covariance


def leakage_scores(records: npt.ArrayLike, covariance: Covariance, release: Release) -> Array:
    """``m*`` of a record, or of every row."""
    return np.asarray(release.covariance(covariance).mahalanobis(records) / release.size)


def strength(leakage: npt.ArrayLike, rate: float = 1.0) -> Array:
    """``sqrt(m* / rate)``: how far the two bell curves lie apart if the record was sampled."""
    m = np.asarray(leakage, dtype=float)
    require(bool(np.all(m >= 0.0)), "A leakage must be at least 0 and must not be NaN.")
    require(0.0 < rate <= 1.0, f"rate must lie in (0, 1]. Found {rate!r}.")
    return np.sqrt(m / rate)


def power(leakage: npt.ArrayLike, fpr: npt.ArrayLike, rate: float = 1.0) -> Array:
    """Largest true-positive rate of an attack that says "in", at a false-positive rate."""
    alpha = np.asarray(fpr, dtype=float)
    require(bool(np.all((alpha >= 0.0) & (alpha <= 1.0))), "A false-positive rate is in [0, 1].")
    sampled = ndtr(ndtri(alpha) + strength(leakage, rate))
    return np.asarray((1.0 - rate) * alpha + rate * sampled)


def advantage(leakage: npt.ArrayLike, rate: float = 1.0) -> Array:
    """Largest true-positive rate less false-positive rate; the total variation distance."""
    return np.asarray(rate * (2.0 * ndtr(strength(leakage, rate) / 2.0) - 1.0))


def delta_in(leakage: npt.ArrayLike, epsilon: float, rate: float = 1.0) -> Array:
    """``delta(H1|H0) = sup_A P(A | in) - e^eps P(A | out)``."""
    require(epsilon >= 0.0, f"epsilon must be at least 0. Found {epsilon!r}.")
    inner = np.log1p(np.expm1(min(epsilon, LARGEST)) / rate)
    return np.asarray(rate * _gaussian_delta(strength(leakage, rate), np.asarray(inner)))


def delta_out(leakage: npt.ArrayLike, epsilon: float, rate: float = 1.0) -> Array:
    """``delta(H0|H1) = sup_A P(A | out) - e^eps P(A | in)``; 0 once ``(1-rate) e^eps >= 1``."""
    require(epsilon >= 0.0, f"epsilon must be at least 0. Found {epsilon!r}.")
    mu = strength(leakage, rate)
    grown = math.exp(min(epsilon, LARGEST))
    weight = 1.0 - (1.0 - rate) * grown
    if weight <= 0.0:
        return np.zeros(mu.shape)
    inner = math.log(rate / weight) + min(epsilon, LARGEST)
    return np.asarray(weight * _gaussian_delta(mu, np.asarray(inner)))


def epsilon(leakage: npt.ArrayLike, delta: float, rate: float = 1.0) -> Array:
    """Least epsilon at which both directions are (epsilon, delta)-indistinguishable.

    Bisected to the larger end; infinite where there is none below LARGEST. For many records,
    straight lines between exact values on a fine grid of ``sqrt(m*)``.
    """
    require_probability("delta", delta)
    m = np.atleast_1d(np.asarray(leakage, dtype=float))
    strength(m, rate)
    flat = m.ravel()
    if flat.size > GRID:
        root = np.sqrt(flat)
        grid = np.linspace(root.min(), root.max(), GRID)
        known = _bisected(grid**2, delta, rate)
        beyond = np.searchsorted(grid, root, side="left")
        joined = np.interp(root, grid, np.where(np.isfinite(known), known, 0.0))
        out = np.where(np.isfinite(known[np.minimum(beyond, GRID - 1)]), joined, np.inf)
    else:
        out = _bisected(flat, delta, rate)
    return np.asarray(out.reshape(np.shape(leakage)))


def _bisected(m: Array, delta: float, rate: float) -> Array:
    mu = strength(m, rate)

    def larger(eps: Array) -> Array:
        inner = np.log1p(np.expm1(eps) / rate)
        first = rate * _gaussian_delta(mu, inner)
        weight = 1.0 - (1.0 - rate) * np.exp(eps)
        some = weight > 0.0
        safe = np.where(some, weight, 1.0)
        second = safe * _gaussian_delta(mu, np.log(rate / safe) + eps)
        return np.maximum(first, np.where(some, second, 0.0))

    # epsilon of G_mu at delta is at most mu^2 / 2 + mu sqrt(2 log(1 / delta)), and both directions
    # of the mixture are below the one that was always sampled.
    high = np.minimum(mu**2 / 2.0 + mu * math.sqrt(2.0 * math.log(1.0 / delta)), LARGEST)
    low = np.zeros_like(high)
    out_of_reach = larger(high) > delta
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = larger(middle) > delta
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    nothing = larger(np.zeros_like(high)) <= delta
    return np.where(out_of_reach, np.inf, np.where(nothing, 0.0, high))


def _gaussian_delta(mu: Array, epsilon: Array) -> Array:
    """delta(epsilon) of ``G_mu`` for arrays, stable in the tails; divulge.curves has the scalar."""
    safe = np.where(mu > 0.0, mu, 1.0)
    first = log_ndtr(-epsilon / safe + safe / 2.0)
    second = epsilon + log_ndtr(-epsilon / safe - safe / 2.0)
    apart = -np.exp(first) * np.expm1(np.minimum(0.0, second - first))
    same = np.maximum(0.0, -np.expm1(np.minimum(epsilon, 0.0)))
    return np.asarray(np.where(mu > 0.0, np.maximum(apart, 0.0), same))


def curve(leakage: float, rate: float = 1.0) -> Curve:
    """The symmetric trade-off curve of one record: both directions at once."""
    mu = float(strength(leakage, rate))
    return Gaussian(mu) if rate == 1.0 else SubsampledGaussian(mu, rate)


def published_power(leakage: npt.ArrayLike, fpr: npt.ArrayLike, rate: float) -> Array:
    """Equation 16 of 004, which is wrong: kept to be compared with. Use power."""
    alpha = np.asarray(fpr, dtype=float)
    return np.asarray(ndtr(ndtri(alpha) + np.sqrt(rate * np.asarray(leakage, dtype=float))))


@dataclass(frozen=True)
class Misspecified:
    """An attack on a record with another one in hand (004, Theorem 4.5)."""

    target: Array
    """``m_targ``: the leakage of the record in hand."""
    product: Array
    """``m_scal = (z_targ - mu)' C^-1 (z - mu) / n``."""

    @property
    def effective(self) -> Array:
        """``m_scal^2 / m_targ``: takes the place of m* in every formula."""
        safe = np.where(self.target > 0.0, self.target, 1.0)
        return np.asarray(np.where(self.target > 0.0, self.product**2 / safe, 0.0))

    @property
    def threshold(self) -> Array:
        """Where the likelihood ratio is cut for the largest advantage."""
        return np.asarray((self.product - self.target) / 2.0)


def misspecified(
    records: npt.ArrayLike, targets: npt.ArrayLike, covariance: Covariance, release: Release
) -> Misspecified:
    """How much each record (row) leaks to somebody who holds the target of the same row."""
    model = release.covariance(covariance)
    z = np.asarray(records, dtype=float) - model.mean
    held = np.asarray(targets, dtype=float)
    return Misspecified(
        np.asarray(model.mahalanobis(held) / release.size),
        np.asarray(model.inner(held - model.mean, z) / release.size),
    )


def leakage_at(advantage_: float, rate: float = 1.0) -> float:
    """The m* at which the advantage is reached; infinite if no record ever reaches it."""
    require_probability("advantage", advantage_)
    if advantage_ >= rate:
        return math.inf
    return float(rate * (2.0 * ndtri((1.0 + advantage_ / rate) / 2.0)) ** 2)
