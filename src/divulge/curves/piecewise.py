"""Curves through points: from a sampled ROC or from an accountant's privacy-loss distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from divulge.curves.families import Curve, require_unit
from divulge.errors import require
from divulge.types import Array


@dataclass(frozen=True)
class PiecewiseLinear(Curve):
    """A convex curve through given vertices; build it with from_roc or from_privacy_loss."""

    alpha: Array = field(repr=False)
    beta: Array = field(repr=False)

    def __call__(self, alpha: npt.ArrayLike) -> Array:
        return np.asarray(np.interp(require_unit(alpha), self.alpha, self.beta), dtype=float)

    def delta(self, epsilon: float) -> float:
        """The supremum of a linear function over a polygon is at a vertex."""
        return float(max(0.0, np.max(1.0 - self.beta - math.exp(epsilon) * self.alpha)))

    def mu(self) -> float:
        """``G_mu`` is convex, so it lies below the polygon iff it does at the vertices."""
        if self.beta[0] < 1.0 or self.alpha[self.beta <= 0.0].min(initial=1.0) < 1.0:
            return math.inf
        inner = (self.alpha > 0.0) & (self.beta > 0.0)
        gap = -ndtri(self.alpha[inner]) - ndtri(self.beta[inner])
        return float(max(0.0, gap.max(initial=0.0)))


def from_roc(fpr: npt.ArrayLike, tpr: npt.ArrayLike) -> PiecewiseLinear:
    """The lower convex hull of a sampled ROC and of its mirror image.

    What one attack achieved on one sample: an estimate, neither a guarantee nor a bound.
    """
    a = np.asarray(fpr, dtype=float).ravel()
    b = 1.0 - np.asarray(tpr, dtype=float).ravel()
    require(a.size > 0 and a.size == b.size, "fpr and tpr must have the same, non-zero length.")
    require(
        bool(np.all((a >= 0) & (a <= 1) & (b >= 0) & (b <= 1))),
        "fpr and tpr must lie in [0, 1] and must not be NaN.",
    )
    corners = np.array([0.0, 1.0])
    points_a = np.concatenate([a, b, 1.0 - b, 1.0 - a, corners])
    points_b = np.concatenate([b, a, 1.0 - a, 1.0 - b, corners[::-1]])
    return PiecewiseLinear(*_lower_hull(points_a, points_b))


def from_scores(scores: npt.ArrayLike, truths: npt.ArrayLike) -> PiecewiseLinear:
    """from_roc of the scores of members (truth +1 or True) and non-members."""
    from sklearn.metrics import roc_curve

    fpr, tpr, _ = roc_curve(np.asarray(truths) > 0, np.asarray(scores, dtype=float))
    return from_roc(fpr, tpr)


def from_privacy_loss(
    distribution: Any, epsilons: Sequence[float] | Array | None = None
) -> PiecewiseLinear:
    """The curve of a dp-accounting PrivacyLossDistribution.

    ``f = sup_eps f_{eps, delta(eps)}`` over a grid of epsilons. A sup over fewer epsilons is
    smaller, and dp-accounting rounds delta up by default: the curve promises no more privacy than
    the mechanism has.
    """
    get: Callable[..., Any] = distribution.get_delta_for_epsilon
    if epsilons is None:
        grid = np.concatenate([np.linspace(0.0, 1.0, 201), np.geomspace(1.0, 60.0, 600)[1:]])
    else:
        grid = np.unique(np.asarray(epsilons, dtype=float))
        require(grid.size > 0 and grid[0] >= 0.0, "epsilons must be non-empty and at least 0.")
    deltas = np.asarray(get(list(grid)), dtype=float)
    slopes = np.concatenate([-np.exp(grid[::-1]), -np.exp(-grid)])
    offsets = np.concatenate([(1.0 - deltas)[::-1], np.exp(-grid) * (1.0 - deltas)])
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = (offsets[:-1] - offsets[1:]) / (slopes[1:] - slopes[:-1])
    crossings = crossings[np.isfinite(crossings) & (crossings > 0.0) & (crossings < 1.0)]
    reaches_zero = 1.0 - deltas[-1]  # where the flattest line of the envelope meets 0
    alpha = np.unique(np.concatenate([[0.0, reaches_zero, 1.0], crossings]))
    beta = np.array([max(0.0, float(np.max(offsets + slopes * a))) for a in alpha])
    beta[-1] = 0.0
    return PiecewiseLinear(*_lower_hull(alpha, np.minimum(beta, 1.0 - alpha)))


def _lower_hull(a: Array, b: Array) -> tuple[Array, Array]:
    """Vertices of the lower convex hull, from left to right (Andrew's monotone chain)."""
    order = np.lexsort((b, a))
    hull: list[tuple[float, float]] = []
    for x, y in zip(a[order].tolist(), b[order].tolist(), strict=True):
        if hull and x == hull[-1][0]:
            continue
        while len(hull) > 1:
            (x1, y1), (x2, y2) = hull[-2], hull[-1]
            if (x2 - x1) * (y - y1) - (y2 - y1) * (x - x1) > 0.0:
                break
            hull.pop()
        hull.append((x, y))
    points = np.array(hull, dtype=float)
    return points[:, 0], points[:, 1]
