"""Correlated counts once more, by other means: the cross-check of ``correlated.py``.

The likelihood of one row under eq. 7 of MCMC-DP-Est is a double integral over the error rates in
``R(eps, delta)`` without ``R(s eps, s delta)``. With the deviations of the counts in standard units
as variables, ``zx = (X - N0 x) / sqrt(N0 V x (1 - x))`` and zy alike, the density is that of a
standard bivariate normal, and nothing is infinite at a rate of 0. Strength, tau and c are drawn
from their priors by scrambled Sobol points, epsilon from its prior and around delta in equal parts,
so that no mode is missed. Nothing is shared with the boundary integrals of ``segments.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.special import logsumexp, ndtr, ndtri
from scipy.stats import qmc

from divulge.bounds.checks import check_delta, check_error_counts
from divulge.posterior.priors import EpsilonPrior
from divulge.types import Array

_FAR = 7.5
_OUTER, _INNER = np.polynomial.legendre.leggauss(4), np.polynomial.legendre.leggauss(6)
_PANEL = 0.5


@njit(cache=True)
def _rate(z: float, count: float, n: float, v: float) -> float:
    """The rate whose standardised deviation from the count is z."""
    a, b = n + z * z * v, 2.0 * count + z * z * v
    root = math.sqrt(max(b * b - 4.0 * a * count * count / n, 0.0))
    return (b - root) / (2.0 * a) if z > 0.0 else (b + root) / (2.0 * a)


@njit(cache=True)
def _deviation(rate: float, count: float, n: float, v: float) -> float:
    """The standardised deviation of a count from a rate, falling in the rate."""
    if rate <= 0.0:
        return _FAR * 10.0 if count > 0.0 else 0.0
    if rate >= 1.0:
        return -_FAR * 10.0 if count < n else 0.0
    return (count - n * rate) / math.sqrt(n * v * rate * (1.0 - rate))


@njit(cache=True)
def _stretch(rate: float, count: float, n: float) -> float:
    """Density per unit of rate times the width of a unit of z: ``dx / dz / sd``."""
    left = rate * (1.0 - rate)
    if left <= 0.0:
        return 2.0 / n
    return left / (n * left + 0.5 * (count - n * rate) * (1.0 - 2.0 * rate))


@njit(cache=True)
def _least(x: float, growth: float, d: float) -> float:
    """The least type II error that R(e, d) allows at the type I error x, with growth = exp(e)."""
    return max(1.0 - d - growth * x, (1.0 - d - x) / growth, 0.0)


@njit(cache=True)
def _between(
    low: float, high: float, zx: float, y: float, n: float, v: float, c: float,
    nodes: np.ndarray, weights: np.ndarray,
) -> float:  # fmt: skip
    """The conditional mass of the second error rate between two rates."""
    if high <= low:
        return 0.0
    rest = math.sqrt(1.0 - c * c)
    t1 = max((_deviation(high, y, n, v) - c * zx) / rest, -_FAR)
    t2 = min((_deviation(low, y, n, v) - c * zx) / rest, _FAR)
    if t2 <= t1:
        return 0.0
    panels = max(1, math.ceil((t2 - t1) / 1.5))
    half = 0.5 * (t2 - t1) / panels
    total = 0.0
    for p in range(panels):
        for i in range(nodes.size):
            t = t1 + half * (2 * p + 1 + nodes[i])
            total += (
                weights[i] * math.exp(-0.5 * t * t)
                * _stretch(_rate(c * zx + rest * t, y, n, v), y, n)
            )  # fmt: skip
    return total * half / math.sqrt(2.0 * math.pi)


@njit(cache=True)
def row_likelihood(
    row: np.ndarray, delta: float, e: float, s: float, tau: float, c: float,
    outer: np.ndarray, outer_weights: np.ndarray, inner: np.ndarray, inner_weights: np.ndarray,
) -> float:  # fmt: skip
    """The mean of the normal density of eq. 7 over the region, for one row of counts."""
    x_count, n0, y_count, n1 = row
    v0, v1 = 1.0 + (n0 - 1.0) * tau, 1.0 + (n1 - 1.0) * tau
    wide, narrow = math.exp(e), math.exp(s * e)
    area = 2.0 * ((1.0 - s * delta) ** 2 / (1.0 + narrow) - (1.0 - delta) ** 2 / (1.0 + wide))
    z1, z2 = (
        max(_deviation(1.0, x_count, n0, v0), -_FAR),
        min(_deviation(0.0, x_count, n0, v0), _FAR),
    )
    panels = math.ceil((z2 - z1) / min(_PANEL, 0.75 * math.sqrt(1.0 - c * c)))
    half = 0.5 * (z2 - z1) / panels
    total = 0.0
    for p in range(panels):
        for i in range(outer.size):
            zx = z1 + half * (2 * p + 1 + outer[i])
            x = _rate(zx, x_count, n0, v0)
            low, high = _least(x, wide, delta), 1.0 - _least(1.0 - x, wide, delta)
            low_in = _least(x, narrow, s * delta)
            high_in = 1.0 - _least(1.0 - x, narrow, s * delta)
            mass = _between(low, low_in, zx, y_count, n1, v1, c, inner, inner_weights)
            mass += _between(high_in, high, zx, y_count, n1, v1, c, inner, inner_weights)
            weight = outer_weights[i] * math.exp(-0.5 * zx * zx) / math.sqrt(2.0 * math.pi)
            total += weight * _stretch(x, x_count, n0) * mass
    return total * half / area


@njit(cache=True)
def _all(
    counts: np.ndarray, delta: float, points: np.ndarray,
    outer: np.ndarray, outer_weights: np.ndarray, inner: np.ndarray, inner_weights: np.ndarray,
) -> np.ndarray:  # fmt: skip
    out = np.zeros(points.shape[0])
    for i in range(points.shape[0]):
        e, s, tau, c = points[i]
        for row in counts:
            value = row_likelihood(
                row, delta, e, s, tau, c, outer, outer_weights, inner, inner_weights
            )
            if value <= 0.0:
                out[i] = -np.inf
                break
            out[i] += math.log(value)
    return out


def log_likelihood(counts: npt.ArrayLike, delta: float, points: Array) -> Array:
    """The logarithm of the likelihood of all rows at each (eps, s, tau, c)."""
    return np.asarray(
        _all(check_error_counts(counts), check_delta(delta), points, *_OUTER, *_INNER)
    )


@dataclass(frozen=True)
class Weighted:
    """Weighted draws of epsilon from several independent scrambles, one row each."""

    epsilon: Array
    weight: Array

    def below(self, epsilon: float) -> tuple[float, float]:
        """The posterior mass below an epsilon, and its standard error over the scrambles."""
        under = np.sum(self.weight * (self.epsilon <= epsilon), axis=1)
        share, total = float(under.sum() / self.weight.sum()), self.weight.sum(axis=1)
        apart = (under - share * total) / total.mean()
        return share, float(np.std(apart, ddof=1) / np.sqrt(apart.size))

    def quantile(self, q: npt.ArrayLike, above: float = 0.0) -> Array:
        """Quantiles of epsilon, of the part above ``above`` only."""
        use = self.epsilon > above
        order = np.argsort(self.epsilon[use])
        cdf = np.cumsum(self.weight[use][order])
        return np.asarray(np.interp(np.asarray(q) * cdf[-1], cdf, self.epsilon[use][order]))


def sample_weighted(
    counts: npt.ArrayLike,
    delta: float,
    *,
    sigma_tau: float,
    points: int = 4096,
    scrambles: int = 8,
    rng: np.random.Generator | int | None = None,
) -> Weighted:
    """The published priors as proposal; half of the points have their epsilon near delta."""
    table, prior = check_error_counts(counts), EpsilonPrior()
    near = max(check_delta(delta), 1e-4)
    generator = np.random.default_rng(rng)
    lowest, highest = ndtr(np.array([-1.0 / (table[:, 1::2].max() - 1.0), 1.0]) / sigma_tau)
    epsilons, logs = [], []
    for _ in range(scrambles):
        u = qmc.Sobol(4, rng=generator).random(points)
        first = np.arange(points) < points // 2
        u[:, 0] = np.clip(u[:, 0], 1e-12, 1.0 - 1e-9)
        e = np.where(first, prior.quantile(u[:, 0]), near * u[:, 0] / (1.0 - u[:, 0]))
        tau = sigma_tau * ndtri(lowest + (highest - lowest) * u[:, 2])
        at = np.column_stack([e, u[:, 1], tau, 2.0 * u[:, 3] - 1.0])
        plain = prior.log_density(e)
        mixed = np.logaddexp(plain, np.log(near) - 2.0 * np.log(near + e)) - np.log(2.0)
        epsilons.append(e)
        logs.append(log_likelihood(table, delta, at) + plain - mixed)
    log_weight = np.stack(logs)
    return Weighted(np.stack(epsilons), np.exp(log_weight - logsumexp(log_weight)))
