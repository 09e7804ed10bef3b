"""Weighted boosting over quantile bins that are found once per column.

scikit-learn's histogram boosting looks for 254 weighted quantiles one after the other, which takes
several times as long as growing the trees. Here they come from one cumulative sum. The bins, and so
the trees, are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge.types import Array
from divulge.work.threads import Sized

BINS = 255
"""As many as scikit-learn has by default."""


def edges(column: Array, weight: Array) -> Array | None:
    """Upper ends of the bins: weighted quantiles; none where every value is a bin of its own."""
    counts = (weight != 0.0) & ~np.isnan(column)
    column, weight = column[counts], weight[counts]
    if np.unique(column).size <= BINS:
        return None
    order = np.argsort(column)
    value, mass = column[order], np.cumsum(weight[order])
    rank = np.linspace(0.0, 100.0, BINS + 1)[1:-1] / 100.0 * mass[-1]
    at = np.minimum(np.searchsorted(mass, rank), value.size - 1)
    after = np.minimum(at + 1, value.size - 1)
    between = mass[at] - rank <= np.finfo(float).eps
    return np.unique(np.where(between, (value[at] + value[after]) / 2.0, value[at]))


@dataclass
class Binned:
    """A histogram boosting of scikit-learn that is shown the numbers of the bins."""

    model: Any = field(repr=False)
    edges: list[Array | None] = field(default_factory=list, repr=False)

    @property
    def classes_(self) -> Any:
        """The classes it was fitted with."""
        return self.model.classes_

    def fit(self, x: Array, y: Any, sample_weight: Array) -> Binned:
        """Find the bins and fit the boosting; this object stands for it from then on."""
        self.edges = [edges(column, sample_weight) for column in x.T]
        self.model = Sized(self.model).fit(self._binned(x), y, sample_weight=sample_weight)
        return self

    def predict_proba(self, x: Array) -> Any:
        """The boosting's probabilities."""
        return self.model.predict_proba(self._binned(x))

    def decision_function(self, x: Array) -> Any:
        """The boosting's margins."""
        return self.model.decision_function(self._binned(x))

    def _binned(self, x: Array) -> Array:
        """The number of the bin, as a float; a missing value stays one."""
        out = np.array(x, dtype=float)
        for column, ends in zip(out.T, self.edges, strict=True):
            if ends is not None:
                known = ~np.isnan(column)
                column[known] = np.searchsorted(ends, column[known])
        return out
