"""Is the released mean close to normal? What the reference records say, column by column.

The first term of Edgeworth's expansion moves the distribution function of a standardised mean by up
to ``skewness / (6 sqrt(n)) * 0.4``: 0.02 at ``skewness / sqrt(n) = 0.3``. For 0/1 columns the old
rule of expected counts is checked as well: with fewer than five of the rarer value behind the mean,
its count is a handful of whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from divulge.exposure.binary import binary_columns
from divulge.exposure.exposed import Release
from divulge.types import Array

MOST_SKEWED = 0.3
"""Largest skewness over the root of the number of records behind the mean."""
LEAST_COUNT = 5.0
"""Fewest expected records behind the mean that have the rarer value of a 0/1 column."""
_ROWS = 2**22


@dataclass(frozen=True)
class Doubt:
    """A column whose mean is not close to normal."""

    column: str
    skewness: float
    """Of a record's value over the root of the number of records, less where noise is added."""
    expected: float | None
    """Records behind the mean that are expected to have the rarer value; for 0/1 columns."""


def doubts(reference: Array, names: Sequence[str], release: Release) -> list[Doubt]:
    """Columns whose mean is doubtful, the most skewed first."""
    skewness = _skewness(reference, release)
    share = reference.mean(axis=0)
    rarer = release.behind * np.minimum(share, 1.0 - share)
    counted = binary_columns(reference) & (release.variance == 0.0)
    odd = (np.abs(skewness) > MOST_SKEWED) | (counted & (rarer < LEAST_COUNT))
    found = np.flatnonzero(odd)
    return [
        Doubt(names[j], float(skewness[j]), float(rarer[j]) if counted[j] else None)
        for j in found[np.argsort(-np.abs(skewness[found]), kind="stable")]
    ]


def _skewness(reference: Array, release: Release) -> Array:
    """Third moment of the mean over its standard deviation, noise included, to the third."""
    centre = reference.mean(axis=0)
    second, third = np.zeros_like(centre), np.zeros_like(centre)
    step = max(1, _ROWS // max(1, centre.size))
    for start in range(0, len(reference), step):
        apart = reference[start : start + step] - centre
        second += (apart**2).sum(axis=0)
        third += (apart**3).sum(axis=0)
    variance = second / len(reference) + release.behind * release.variance
    spread = np.where(variance > 0.0, variance, 1.0) ** 1.5
    return np.asarray(third / len(reference) / spread / np.sqrt(release.behind))
