"""Shapes of a score in which members and others may differ though nothing leaks: not only the mean.

A score whose spread or whose tails depend on x differs between shifted groups even where its mean
was removed, so what both nuisance models missed is looked for in all of them.
"""

from __future__ import annotations

import numpy as np

from divulge.types import Array

SHAPES = ("mean", "square", "upper tail", "lower tail")
SHAPE_MARGIN = 3.5
"""Standard errors from which a covariance with any shape but the mean is charged."""
_SIGNS = {"mean": 1.0, "square": 0.0, "upper tail": 1.0, "lower tail": -1.0}
"""Which sign of a covariance goes with higher scores of members; the square has none."""
_TAIL = 0.1
_LARGEST = 4.0


def shapes_of(left: Array, membership: Array) -> Array:
    """One column per shape of a score's surprise, of mean 0 and variance 1.

    What a leak alone adds is taken out by the slope on the membership's surprise.
    """
    left = left - left.mean()
    left = np.clip(left / max(float(left.std()), 1e-12), -_LARGEST, _LARGEST)
    low, high = np.quantile(left, [_TAIL, 1.0 - _TAIL])
    columns = np.stack([left, left * left, left > high, left < low], axis=1).astype(float)
    surprise = membership - membership.mean()
    total = max(float(surprise @ surprise), 1e-12)
    columns -= columns.mean(axis=0)
    columns -= surprise[:, None] * (surprise @ columns / total)
    return np.asarray(columns / np.maximum(columns.std(axis=0), 1e-12))


def explaining(value: float, shape: str, leak: float) -> float:
    """The size of a covariance that could explain a leak of this sign, 0 if it works against it.

    Where a model remembers a record, equal ones with other labels get worse scores: such a trace of
    the leak itself has the opposite sign.
    """
    sign = _SIGNS[shape] * (1.0 if leak >= 0.0 else -1.0)
    return abs(value) if sign == 0.0 else max(sign * value, 0.0)
