"""Measures of an attack, which describe and prove nothing: AUC, TPR at a FPR, a thinned ROC."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.curves import Gaussian
from divulge.result import Bound, floor_to

Array = npt.NDArray[np.float64]
FPRS = (0.001, 0.01, 0.1)


def thin_roc(score: Array, truth: Array, points: int = 300) -> tuple[Array, Array]:
    """False and true positive rates at a few hundred places, dense where few are accused."""
    from sklearn.metrics import roc_curve

    fpr, tpr, _ = roc_curve(truth > 0, score)
    grid = np.concatenate([[0.0], np.geomspace(max(1.0 / score.size, 1e-6), 1.0, points)])
    at = np.searchsorted(fpr, grid, side="right") - 1
    return grid, tpr[at]


def auc(score: Array, truth: Array) -> float:
    """Area under the ROC; NaN with one kind of truth only."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth > 0, score)) if np.unique(truth).size == 2 else math.nan


def tpr_at(score: Array, truth: Array, fpr: float) -> float:
    """True positive rate at the largest false positive rate that is not above ``fpr``."""
    from sklearn.metrics import roc_curve

    rates, hits, _ = roc_curve(truth > 0, score)
    return float(hits[np.searchsorted(rates, fpr, side="right") - 1])


def roc(score: Array, truth: Array, bounds: Sequence[Bound]) -> dict[str, Any]:
    """The ROC of the score as given, and the curve that the headline mu proves."""
    fpr, tpr = thin_roc(score, truth)
    out: dict[str, Any] = {"fpr": fpr, "tpr": tpr, "auc": auc(score, truth)}
    mu = next((b.value for b in bounds if b.headline and b.parameter == "mu"), 0.0)
    if mu > 0.0:
        grid = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 120)])
        label = f"mu at least {floor_to(mu, 3):.3f}"
        out["proven"] = {"fpr": grid, "tpr": Gaussian(mu).tpr(grid), "label": label}
    return out
