"""How strong would unmeasured shift have to be? As strong as what was measured, for comparison.

Each column of the table is left out in turn, and the odds of membership without it are compared
with those with it: the standard deviation of the change in log-odds, as an odds ratio. A finding
that a hidden column no stronger than the strongest observed one could explain is not robust
(benchmarking against observed covariates).

For a linear model no fit has to be repeated. Leaving out a block of columns with slopes b changes
the log-odds by the part of it that the others do not explain, whose variance is
``b' ((S^-1)_block)^-1 b`` with S the covariance of all columns (Frisch, Waugh and Lovell).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from divulge.shift.levels import Codes, level_columns
from divulge.shift.linear import logistic_ridge
from divulge.types import Array

MOST = 20_000
"""Trials that are looked at, at most."""
CLIP = 5.0
_DISTINCT = 8
_PENALTY = 2.0
_JITTER = 1e-6


@dataclass(frozen=True)
class LeftOut:
    """What a column of the table alone adds to the odds of membership."""

    feature: str
    odds_ratio: float


def strongest(
    features: Array,
    origin: Sequence[str],
    levels: Codes | None,
    categories: Sequence[str],
    truth: npt.NDArray[np.floating],
    most: int = 10,
) -> tuple[LeftOut, ...]:
    """The columns that matter most, by logistic regression on columns, squares and levels.

    All truths are used: this is a comparison beside the bound, nothing is staked on it.
    """
    rows = np.arange(truth.size)[:: max(1, -(-truth.size // MOST))]
    outcome = (truth[rows] > 0.0).astype(float)
    if min(outcome.sum(), (1.0 - outcome).sum()) < 2.0 or features.shape[1] == 0:
        return ()
    x = np.clip(features[rows], -CLIP, CLIP)
    curved = [j for j in range(x.shape[1]) if np.unique(x[:2000, j]).size > _DISTINCT]
    blocks = [x, x[:, curved] ** 2]
    owner = [*origin, *(origin[j] for j in curved)]
    if levels is not None:
        blocks.append(_rates(levels[rows], outcome))
        owner += list(categories)
    columns = np.concatenate(blocks, axis=1)
    columns = columns - columns.mean(axis=0)
    columns /= np.maximum(columns.std(axis=0), 1e-9)
    slopes = logistic_ridge(columns, outcome, penalty=_PENALTY).slopes
    covariance = columns.T @ columns / len(columns)
    covariance[np.diag_indices_from(covariance)] += _JITTER
    inverse = np.linalg.inv(covariance)
    found = []
    for name in dict.fromkeys(owner):
        block = np.array([j for j, own in enumerate(owner) if own == name])
        own = slopes[block]
        variance = float(own @ np.linalg.solve(inverse[np.ix_(block, block)], own))
        found.append(LeftOut(name, math.exp(math.sqrt(max(variance, 0.0)))))
    return tuple(sorted(found, key=lambda f: (-f.odds_ratio, f.feature))[:most])


def _rates(levels: Codes, outcome: Array) -> Array:
    """Shrunken rates of membership per level, each half by the other."""
    out = np.zeros(levels.shape)
    half = np.arange(outcome.size) % 2
    for k in (0, 1):
        fitted = np.flatnonzero(half != k)
        found = level_columns(levels, fitted, outcome[fitted][:, None])
        out[half == k] = found[half == k]
    return out
