"""Gradient boosting over quantile bins, weighted: the trees of scikit-learn, sooner.

scikit-learn's histogram boosting looks for 254 weighted quantiles one after the other, and spends
most of its time between two splits. Here the bins come from one cumulative sum per column, and the
trees from ``compiled_trees.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from divulge.types import Array, Index

BINS = 255
"""As many as scikit-learn has by default."""
Bytes = npt.NDArray[np.uint8]
_FAR = np.finfo(np.float64).max / 4.0
SQUARED, LOGISTIC, CLASSES = 0, 1, 2


@dataclass(frozen=True)
class Trees:
    """How many trees there are, and of which size."""

    rounds: int
    rate: float
    leaves: int
    least: int
    """Rows of a leaf."""
    penalty: float


@dataclass(frozen=True)
class Boosted:
    """Trees grown on columns of bins."""

    start: Array
    nodes: npt.NDArray[np.int64] = field(repr=False)
    values: Array = field(repr=False)

    def margins(self, bins: Bytes) -> Array:
        """A column for each class, or one: the mean of a target, or the log-odds of an outcome."""
        from divulge.bounds.compiled_trees import margins

        columns = np.ascontiguousarray(_some(bins).T)
        return np.asarray(margins(columns, self.start, self.nodes, self.values))


def boosted(
    bins: Bytes, target: Array, weight: Array | None, loss: int, trees: Trees, width: int = BINS
) -> Boosted:
    """Grow trees on columns whose bins are below ``width``; a column of targets for each margin."""
    from divulge.bounds.compiled_trees import boost

    target = np.asarray(target, dtype=float).reshape(len(bins), -1)
    mass = np.ones(len(bins)) if weight is None else np.asarray(weight, dtype=float)
    bins = _some(bins)
    assert bins.max() < width, "compiled code checks no bounds"
    assert np.isfinite(target).all()
    assert 0.0 < mass.sum() < np.inf
    found = boost(
        np.ascontiguousarray(bins),
        target,
        mass,
        loss,
        trees.rounds,
        trees.rate,
        trees.leaves,
        trees.least,
        trees.penalty,
        width,
    )
    return Boosted(*found)


def _some(bins: Bytes) -> Bytes:
    """The columns, or, where there are none, one that says nothing."""
    return bins if bins.shape[1] else np.zeros((len(bins), 1), np.uint8)


def edges(column: Array, weight: Array) -> Array:
    """Upper ends of the bins: weighted quantiles, or midpoints where every value is a bin.

    All are finite: infinities are as far as half a sum can be, and what is missing does not count.
    """
    counts = (weight != 0.0) & ~np.isnan(column)
    column, weight = np.clip(column[counts], -_FAR, _FAR), weight[counts]
    values = np.unique(column)
    if values.size <= BINS:
        return np.asarray((values[1:] + values[:-1]) / 2.0)
    order = np.argsort(column)
    value, mass = column[order], np.cumsum(weight[order])
    rank = np.linspace(0.0, 100.0, BINS + 1)[1:-1] / 100.0 * mass[-1]
    at = np.minimum(np.searchsorted(mass, rank), value.size - 1)
    after = np.minimum(at + 1, value.size - 1)
    between = mass[at] - rank <= np.finfo(float).eps
    return np.unique(np.where(between, (value[at] + value[after]) / 2.0, value[at]))


def binned(x: Array, ends: Sequence[Array]) -> Bytes:
    """The bin of every entry; what is missing is in the last one."""
    out = np.empty(x.shape, dtype=np.uint8)
    for j, own in enumerate(ends):
        out[:, j] = np.searchsorted(own, x[:, j])
    return out


@dataclass(frozen=True)
class BoostedClasses:
    """A boosting of two classes or more, as scikit-learn's are asked; no value is missing."""

    classes_: npt.NDArray[Any]
    ends: tuple[Array, ...] = field(repr=False)
    trees: Boosted = field(repr=False)

    def decision_function(self, x: Array) -> Array:
        """Log-odds of the second of two classes; a column for each of several."""
        found = self.trees.margins(binned(x, self.ends))
        return found[:, 0] if self.classes_.size == 2 else found

    def predict_proba(self, x: Array) -> Array:
        """A column for each class."""
        margin = self.decision_function(x)
        if self.classes_.size == 2:
            return np.stack([expit(-margin), expit(margin)], axis=1)
        return np.asarray(softmax(margin, axis=1))


def boosted_classifier(
    x: Array, classes: npt.NDArray[Any], weight: Array | None, trees: Trees
) -> BoostedClasses:
    """Boosting of the classes that occur, two at least, on columns of numbers."""
    found, codes = np.unique(classes, return_inverse=True)
    mass = np.ones(len(x)) if weight is None else weight
    ends = tuple(edges(column, mass) for column in x.T)
    two = found.size == 2
    target = codes.astype(float) if two else _one_hot(codes, found.size)
    loss = LOGISTIC if two else CLASSES
    return BoostedClasses(found, ends, boosted(binned(x, ends), target, weight, loss, trees))


def _one_hot(codes: Index, classes: int) -> Array:
    return np.eye(classes)[codes]
