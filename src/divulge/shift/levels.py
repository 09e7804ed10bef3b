"""Categories with many levels, as columns that the nuisance models can learn from.

A level's column is the mean of an outcome over the other records of the level, shrunken towards the
mean of all by as much as the levels' own spread asks for (empirical Bayes), so that a level with
few records says little. No record's own outcome is in its column: the records of a fold get means
of the other folds, and where a fold is left out for fitting, means without that one either.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from divulge.types import Array, Index

Codes = npt.NDArray[np.int32]
_LEAST_PRIOR, _LARGEST_PRIOR = 0.5, 1e6


def shrunken_means(codes: npt.NDArray[np.integer], outcome: Array, count: int) -> Array:
    """Per level the mean of the outcome, less that of all, shrunken; 0 for a level never seen.

    The prior counts as many records as the variance within levels is times the one between them,
    both estimated by the analysis of variance.
    """
    size = np.bincount(codes, minlength=count).astype(float)
    centre = float(outcome.mean()) if outcome.size else 0.0
    sums = np.bincount(codes, weights=outcome - centre, minlength=count)
    seen = size > 0.0
    groups, total = int(seen.sum()), float(size.sum())
    if groups < 2 or total <= groups:
        return np.zeros(count)
    among = float(np.sum(sums[seen] ** 2 / size[seen]))
    within = max(float(np.sum((outcome - centre) ** 2)) - among, 0.0) / (total - groups)
    spread = (among - (groups - 1) * within) / (total - float(np.sum(size**2)) / total)
    prior = _LARGEST_PRIOR if spread <= 0.0 else within / spread
    return np.asarray(sums / (size + np.clip(prior, _LEAST_PRIOR, _LARGEST_PRIOR)))


def level_columns(levels: Codes, fitted: Index, outcomes: Array) -> Array:
    """One column per category and outcome for all records, learned from the ``fitted`` ones."""
    out = np.empty((levels.shape[0], levels.shape[1] * outcomes.shape[1]))
    at = 0
    for column in levels.T:
        count = int(column.max(initial=0)) + 1
        for outcome in outcomes.T:
            out[:, at] = shrunken_means(column[fitted], outcome, count)[column]
            at += 1
    return out


def without_fold(
    levels: Codes, fitted: Index, outcomes: Array, fold: Index, left_out: int
) -> Array:
    """Columns for fitting without one fold: ``fold`` and ``outcomes`` are per fitted record.

    The left-out fold, and records that are not fitted on, get means of all other folds; each other
    fold gets means of the rest.
    """
    rest = fold != left_out
    out = level_columns(levels, fitted[rest], outcomes[rest])
    for k in np.unique(fold[rest]):
        use, own = rest & (fold != k), fitted[fold == k]
        if use.any():
            out[own] = _some(levels, own, fitted[use], outcomes[use])
    return out


def _some(levels: Codes, rows: Index, fitted: Index, outcomes: Array) -> Array:
    both = np.concatenate([rows, fitted])
    found = level_columns(levels[both], np.arange(rows.size, both.size), outcomes)
    return np.asarray(found[: rows.size])
