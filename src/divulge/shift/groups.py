"""Neighbourhoods in x: soft clusters and a kernel at random landmarks, on weighted columns.

Columns come with a relevance in [0, 1]; those below 0.1 are left out of the distance, so that it is
about what matters. Both give columns for linear models to weigh.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from divulge.types import Array

LEAST_RELEVANCE = 0.1
LANDMARKS = 200
CLUSTERS = 16
_CLUSTER_ROWS = 4000
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
    rows: Array, clusters: int, seed: int, *, starts: int, batch: int, rounds: int
) -> tuple[Array, float]:
    """Centres of the clusters, and the mean squared distance to the nearest one."""
    from sklearn.cluster import MiniBatchKMeans

    model = MiniBatchKMeans(
        clusters, n_init=starts, batch_size=batch, max_iter=rounds, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct records than clusters are no problem
        model.fit(rows)
    centres = np.asarray(model.cluster_centers_, dtype=float)
    return centres, float(squared_distances(rows, centres).min(axis=1).mean())


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
    centres, spread = k_means(rows, count, seed, starts=2, batch=512, rounds=25)
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
