"""Neighbourhoods in x: soft clusters and a kernel at random landmarks, on weighted columns.

Columns come with a relevance in [0, 1]; those below 0.1 are left out of the distance, so that it is
about what matters. Both give columns for linear models to weigh.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from divulge.types import Array

LEAST_RELEVANCE = 0.1
LANDMARKS = 200
CLUSTERS = 16
_CLUSTER_ROWS = 4000
_MOST_MOVED, _MOST_TRIED = 2000, 800
"""Rows that move the centres of clusters, and of those the ones among which they start."""
_LEAST_GAIN = 1e-3
_TINY = 1e-6


def squared_distances(rows: Array, points: Array) -> Array:
    """Squared Euclidean distances, up to rounding, never negative."""
    out = rows @ (-2.0 * points.T)
    out += np.einsum("ij,ij->i", rows, rows)[:, None]
    out += np.einsum("ij,ij->i", points, points)
    return np.maximum(out, 0.0, out=out)


def soft_membership(rows: Array, centres: Array, variance: float) -> Array:
    """Posterior of equal spherical normals at the centres: non-negative, sums to one."""
    out = rows @ centres.T
    out -= 0.5 * np.einsum("ij,ij->i", centres, centres)
    out -= out.max(axis=1, keepdims=True)
    out /= variance
    np.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)
    return out


def k_means(
    rows: Array, clusters: int, seed: int, *, starts: int = 2, rounds: int = 12
) -> tuple[Array, float]:
    """Centres of the clusters, and the mean squared distance to the nearest one.

    Lloyd's algorithm on some of the rows, from the best of a few starts. Nuisance models want
    clusters by the dozen and none of them perfect: this takes half the time of a general one.
    """
    rng = np.random.default_rng(seed)
    some = rows
    if rows.shape[0] > _MOST_MOVED:
        some = rows[rng.choice(rows.shape[0], _MOST_MOVED, replace=False)]
    tried = [_scattered(some[:_MOST_TRIED], clusters, rng) for _ in range(starts)]
    centres, _ = min(tried, key=lambda start: start[1])
    last, own = math.inf, np.arange(some.shape[0])
    for _ in range(rounds):
        away = squared_distances(some, centres)
        nearest = away.argmin(axis=1)
        spread = float(away[own, nearest].mean())
        if spread >= last * (1.0 - _LEAST_GAIN):
            break
        last = spread
        belongs = np.zeros((clusters, own.size))
        belongs[nearest, own] = 1.0
        count = belongs.sum(axis=1, keepdims=True)
        centres = np.where(count > 0.0, belongs @ some / np.maximum(count, 1.0), centres)
    return centres, float(squared_distances(rows, centres).min(axis=1).mean())


def _scattered(rows: Array, clusters: int, rng: np.random.Generator) -> tuple[Array, float]:
    """Rows far from each other (greedy k-means++), and the mean squared distance to the nearest."""
    candidates = 2 + int(math.log(clusters))
    chosen = [int(rng.integers(rows.shape[0]))]
    away = squared_distances(rows, rows[chosen])[:, 0]
    while len(chosen) < clusters:
        summed = np.cumsum(away)
        drawn = np.searchsorted(summed, rng.random(candidates) * summed[-1])
        drawn = np.minimum(drawn, rows.shape[0] - 1)
        closer = np.minimum(squared_distances(rows, rows[drawn]), away[:, None])
        best = int(closer.sum(axis=0).argmin())
        chosen.append(int(drawn[best]))
        away = closer[:, best]
    return rows[chosen], float(away.mean())


@dataclass(frozen=True)
class Clusters:
    """Soft assignment to clusters found in the relevant columns."""

    used: npt.NDArray[np.intp] = field(repr=False)
    weights: Array = field(repr=False)
    centres: Array = field(repr=False)
    variance: float

    def __call__(self, clipped: Array) -> Array:
        return soft_membership(clipped[:, self.used] * self.weights, self.centres, self.variance)


def fit_clusters(clipped: Array, relevance: Array, seed: int) -> Clusters:
    """Clusters of the first 4,000 rows (which come in random order)."""
    used = np.flatnonzero(relevance >= LEAST_RELEVANCE)
    weights = relevance[used]
    rows = clipped[:_CLUSTER_ROWS, used] * weights
    count = min(CLUSTERS, max(2, rows.shape[0] // 20))
    centres, spread = k_means(rows, count, seed)
    return Clusters(used, weights, centres, max(spread / used.size, _TINY))


@dataclass(frozen=True)
class Kernel:
    """Gaussian bumps at landmarks, which are records."""

    used: npt.NDArray[np.intp] = field(repr=False)
    weights: Array = field(repr=False)
    landmarks: Array = field(repr=False)
    rate: float

    def __call__(self, clipped: Array) -> Array:
        out = squared_distances(clipped[:, self.used] * self.weights, self.landmarks)
        out *= -self.rate
        return np.exp(out, out=out)


def fit_kernel(clipped: Array, relevance: Array, seed: int, landmarks: int = LANDMARKS) -> Kernel:
    """Random landmarks; the width is the median distance between them."""
    rng = np.random.default_rng(seed)
    used = np.flatnonzero(relevance >= LEAST_RELEVANCE)
    weights = relevance[used]
    count = min(landmarks, max(clipped.shape[0] // 4, 2))
    chosen = rng.choice(clipped.shape[0], count, replace=False)
    points = clipped[chosen][:, used] * weights
    between = squared_distances(points[:60], points[:60])
    typical = float(np.median(between)) or float(between.mean())
    return Kernel(used, weights, points, 1.0 / max(typical, _TINY))
