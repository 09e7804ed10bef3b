"""Which noise, or which sampling rate, brings most records below a chosen advantage.

Solved, not guessed. Advantage falls with noise and grows with the rate for every record (with noise
too: a mean of fewer records shifts more, but never by enough), so that a record once below stays
below. Bisection therefore only asks again about records that are not yet decided.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from divulge.errors import require
from divulge.exposure import exposed as scores_
from divulge.exposure.covariance import Covariance
from divulge.exposure.exposed import Release, leakage_at, leakage_scores
from divulge.types import Array

Rows = npt.NDArray[np.intp]
TOLERANCE = 1e-3
"""Relative width of the last bracket; its safe end is returned."""
_PILOT = 2_000
_MARGIN = 1.05
_EXACT = 10_000


def allowed_above(records: int, percentile: float) -> int:
    """How many records may lie above, if this percentage must not."""
    require(0.0 < percentile <= 100.0, f"percentile must lie in (0, 100]. Found {percentile!r}.")
    return math.floor(records * (100.0 - percentile) / 100.0 + 1e-9)


def solve_noise(
    records: npt.ArrayLike,
    covariance: Covariance,
    release: Release,
    *,
    advantage: float,
    percentile: float = 99.0,
    leakage: Array | None = None,
) -> float:
    """Least standard deviation of noise on the mean, within 0.1% and on the safe side.

    0 if the records are below the advantage without noise. The noise already in ``release`` does
    not count; its rate does. ``leakage`` may hold the scores without noise, so that they are not
    computed again.
    """
    rows = _matrix(records)
    limit = leakage_at(advantage, release.rate)
    bare = replace(release, noise=0.0)
    known = leakage_scores(rows, covariance, bare) if leakage is None else leakage
    if math.isinf(limit):
        return 0.0

    def above(noise: float, index: Rows) -> npt.NDArray[np.bool_]:
        if noise == 0.0:
            return np.asarray(known[index] > limit)
        part = replace(bare, noise=noise)
        return np.asarray(leakage_scores(rows[index], covariance, part) > limit)

    start = math.sqrt(float(np.mean(covariance.variances)) / release.behind)
    return _least(above, known, allowed_above(rows.shape[0], percentile), start)


def solve_rate(
    records: npt.ArrayLike,
    covariance: Covariance,
    release: Release,
    *,
    advantage: float,
    percentile: float = 99.0,
) -> float:
    """Largest sampling rate at which few enough records lie above; 0 if there is none.

    A whole number of records over ``release.size``, on the safe side: exact below 10,000 records,
    within 0.1% above. The noise in ``release`` stays as it is; its rate does not count.
    """
    rows = _matrix(records)
    size = release.size
    allowed = allowed_above(rows.shape[0], percentile)
    everything: Rows = np.arange(rows.shape[0])
    leakage_at(advantage)  # checks it
    known = leakage_scores(rows, covariance, replace(release, noise=0.0, rate=1.0))

    def above(inverse: float, index: Rows) -> npt.NDArray[np.bool_]:
        part = replace(release, rate=max(1.0 / (1.0 + inverse), 1.0 / size))
        scores = leakage_scores(rows[index], covariance, part) if part.noisy else known[index]
        return np.asarray(scores_.advantage(scores, part.rate) > advantage)

    def enough(behind: int) -> bool:
        return int(above(size / behind - 1.0, everything).sum()) <= allowed

    if not enough(1):
        return 0.0
    behind = max(1, math.floor(size / (1.0 + _least(above, known, allowed, 1.0)) + 1e-9))
    while size <= _EXACT and behind < size and enough(behind + 1):
        behind += 1
    return behind / size


def _matrix(records: npt.ArrayLike) -> npt.NDArray[np.generic]:
    rows = np.asarray(records)
    require(rows.ndim == 2 and rows.shape[0] > 0, "Records must form a 2-d array with rows.")
    return rows


def _least(
    above: Callable[[float, Rows], npt.NDArray[np.bool_]], known: Array, allowed: int, start: float
) -> float:
    """Least value at which at most ``allowed`` rows are above; ``above`` falls with the value.

    A pilot on rows spread over the ranks finds the neighbourhood, so that few rows are asked twice.
    """
    rows: Rows = np.arange(known.size)
    if known.size > 2 * _PILOT:
        order = np.argsort(known, kind="stable")
        pilot = order[np.linspace(0, known.size - 1, _PILOT).astype(np.intp)]
        share = math.floor(allowed * _PILOT / known.size)
        near = _search(above, pilot, share, start)
        if near > 0.0:
            return _search(above, rows, allowed, near / _MARGIN, near * _MARGIN)
    return _search(above, rows, allowed, start)


def _search(
    above: Callable[[float, Rows], npt.NDArray[np.bool_]], rows: Rows, allowed: int, *starts: float
) -> float:
    undecided = rows[above(0.0, rows)]
    if undecided.size <= allowed:
        return 0.0
    low, high, settled = 0.0, math.inf, 0
    tried = list(starts)
    while not math.isfinite(high) or high - low > TOLERANCE * high:
        if tried:
            value = tried.pop(0)
        elif math.isfinite(high):
            value = math.sqrt(low * high) if low > 0.0 else high / 4.0
        else:
            value = 4.0 * low
        if not low < value < high:
            continue
        over = above(value, undecided)
        if settled + int(over.sum()) <= allowed:
            high = value
            settled += int(over.sum())
            undecided = undecided[~over]
        else:
            low = value
            undecided = undecided[over]
        if high < 1e-12 * starts[0]:
            break
    return high
