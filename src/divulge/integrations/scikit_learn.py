"""What a classifier gives away about its training folds, as a scorer of scikit-learn.

In a shuffled cross-validation the folds differ by chance alone: records of the training folds are
members, those of the test fold are not, and no shift has to be removed. The score is minus the
lower bound on epsilon at delta 0, so that larger is better, as scikit-learn wants it. Folds that
are not drawn at random (in time, by groups) need ``divulge.membership`` with features.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.data import tables
from divulge.errors import InputError, require
from divulge.games.membership.play import membership
from divulge.models.base import SMALLEST, foreign
from divulge.result import Result


@dataclass(frozen=True)
class PrivacyScorer:
    """``cross_validate(model, X, y, scoring={"privacy": PrivacyScorer(X, y)})``."""

    x: Any = field(repr=False)
    y: Any = field(repr=False)
    parameter: str = "epsilon"
    error: float = 0.05
    seed: int = 0

    def __call__(self, estimator: Any, x: Any, y: Any) -> float:
        """Minus the bound of one fold; 0 where nothing is found or can be concluded."""
        stated = self.audit(estimator, x).headline()
        return -max((b.value for b in stated), default=0.0)

    def audit(self, estimator: Any, x: Any) -> Result:
        """The audit of one fold: everything that is not among the test records is a member."""
        require(self.parameter in ("epsilon", "mu"), "parameter is epsilon or mu.")
        outside = np.isin(_rows(self.x), _rows(x))
        if not outside.any() or outside.all():
            raise InputError("The test fold must hold some, not all, of the records in X.")
        loss = _losses(estimator, self.x, np.asarray(self.y))
        return membership(
            {"member": ~outside, "loss": loss},
            score="loss",
            headline=self.parameter,
            error=self.error,
            seed=self.seed,
        )


def _losses(estimator: Any, x: Any, y: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Minus the logarithm of the probability that the model gives to each record's label."""
    p = np.asarray(foreign(estimator.predict_proba, x), dtype=float)
    index = {value: j for j, value in enumerate(np.asarray(estimator.classes_).tolist())}
    codes = np.array([index.get(value, -1) for value in y.tolist()])
    chosen = np.where(codes < 0, 0.0, p[np.arange(y.size), codes])
    return np.asarray(-np.log(np.clip(chosen, SMALLEST, 1.0)))


def _rows(x: Any) -> npt.NDArray[np.int64]:
    """Every record as one number."""
    if isinstance(x, np.ndarray):
        return np.array([hash(row.tobytes()) for row in np.ascontiguousarray(x)])
    found = tables.read(x)
    columns = [found[c].to_list() for c in found.columns]
    return np.array([hash(row) for row in zip(*columns, strict=True)])
