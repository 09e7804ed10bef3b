"""Measures of an attack, which describe and prove nothing: AUC, TPR at a FPR, a thinned ROC."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.curves import Gaussian
from divulge.result import Bound, shared
from divulge.text.rounding import at_least
from divulge.types import Array, index_type, slices

FPRS = (0.001, 0.01, 0.1)


@dataclass(frozen=True)
class Roc:
    """Non-members and members above each threshold, from the highest; no corner is left out."""

    false: npt.NDArray[np.integer[Any]] = field(repr=False)
    true: npt.NDArray[np.integer[Any]] = field(repr=False)

    def area(self) -> float:
        """Area under the curve by the trapezoidal rule."""
        total = 0.0
        for part in slices(max(0, self.false.size - 1)):
            here = slice(part.start, part.stop + 1)
            total += float(np.trapezoid(self._tpr(here), self._fpr(here)))
        return total

    def tpr(self, fpr: npt.ArrayLike) -> Array:
        """True positive rate at the largest false positive rate that is not above ``fpr``."""
        at = np.searchsorted(self._fpr(slice(None)), fpr, side="right") - 1
        return np.asarray(self._tpr(at), dtype=float)

    def _fpr(self, at: Any) -> Array:
        return np.asarray(self.false[at] / self.false[-1], dtype=float)

    def _tpr(self, at: Any) -> Array:
        return np.asarray(self.true[at] / self.true[-1], dtype=float)


def roc_counts(score: npt.NDArray[Any], truth: npt.NDArray[Any]) -> Roc:
    """The ROC by one sort of each group; both must be there."""
    from divulge.bounds import compiled

    members, others = np.sort(score[truth > 0]), np.sort(score[truth < 0])
    false, true = np.zeros((2, score.size + 1), dtype=index_type(score.size + 1))
    points = compiled.roc_corners(members, others, false, true)
    return Roc(false[:points], true[:points])


def auc(score: npt.NDArray[Any], truth: npt.NDArray[Any]) -> float:
    """Area under the ROC; NaN with one kind of truth only."""
    both = bool((truth > 0).any() and (truth < 0).any())
    return roc_counts(score, truth).area() if both else math.nan


def tpr_at(score: npt.NDArray[Any], truth: npt.NDArray[Any], fpr: float) -> float:
    """True positive rate at the largest false positive rate that is not above ``fpr``."""
    return float(roc_counts(score, truth).tpr(fpr))


def roc(
    score: npt.NDArray[Any], truth: npt.NDArray[Any], bounds: Sequence[Bound]
) -> shared.RocRecord:
    """The ROC of the score as given, and the curve that the headline mu proves."""
    return drawn_roc(roc_counts(score, truth), score.size, bounds)


def drawn_roc(
    counts: Roc, trials: int, bounds: Sequence[Bound], points: int = 300
) -> shared.RocRecord:
    """The same from counts: a few hundred places, dense where few are accused."""
    fpr = np.concatenate([[0.0], np.geomspace(max(1.0 / trials, 1e-6), 1.0, points)])
    proven = None
    mu = next((b.value for b in bounds if b.headline and b.parameter == "mu"), 0.0)
    if mu > 0.0:
        grid = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 120)])
        label = f"mu at least {at_least(mu)}"
        tpr = Gaussian(mu).tpr(grid).tolist()
        proven = shared.CurveRecord(fpr=grid.tolist(), tpr=tpr, label=label)
    tpr = counts.tpr(fpr).tolist()
    return shared.RocRecord(fpr=fpr.tolist(), tpr=tpr, auc=counts.area(), proven=proven)
