"""Shallow, shrunk gradient boosting, as all nuisance models use it."""

from __future__ import annotations

from typing import Any

from divulge.shift.design import BINS, Bytes
from divulge.types import Array
from divulge.work.threads import Sized


def most_bins(columns: Bytes | Array) -> int:
    """Columns that are binned already need no more histogram than that: the same trees, sooner."""
    return BINS if columns.dtype == "uint8" else 255


def boosted_regressor(bins: Bytes | Array, target: Array, seed: int, rounds: int = 50) -> Any:
    """Shallow, shrunk gradient boosting on binned columns."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(
        max_iter=rounds,
        learning_rate=0.12,
        max_leaf_nodes=8,
        min_samples_leaf=20,
        l2_regularization=5.0,
        early_stopping=False,
        random_state=seed,
        max_bins=most_bins(bins),
    )
    return Sized(model).fit(bins, target)
