"""Columns of records built on demand, so that a million rows never sit in memory as terms.

`Records` holds the features, their geometry and one byte per entry for the trees. A `Design` adds
further inputs (such as prognostic scores) and hands out *views* of chosen rows; predictions go
through it in chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from divulge.shift.levels import Codes
from divulge.shift.terms import CLIP, SAMPLE, Geometry, describe
from divulge.types import Array, Index

Bytes = npt.NDArray[np.uint8]

FIT_ROWS = 40_000
"""Rows that a nuisance model is fitted on, at most."""
CHUNK = 20_000
BINS = 48


def quantile_edges(columns: Array) -> list[Array]:
    """Inner edges of 48 bins of about equal counts per column, from at most 20,000 rows."""
    sample = columns if columns.shape[0] <= SAMPLE else columns[:: columns.shape[0] // SAMPLE]
    edges = np.quantile(sample, np.linspace(0.0, 1.0, BINS + 1)[1:-1], axis=0)
    return [np.unique(edges[:, j]) for j in range(columns.shape[1])]


def encode_bins(columns: Array, edges: Sequence[Array]) -> Bytes:
    """The bin of every entry: trees see the same order with few distinct values, which is fast."""
    out = np.empty(columns.shape, dtype=np.uint8)
    for j, edge in enumerate(edges):
        out[:, j] = np.searchsorted(edge, columns[:, j])
    return out


@dataclass(frozen=True)
class Rows:
    """The features of all trials, and what x alone says about them."""

    features: Array = field(repr=False)
    geometry: Geometry
    bins: Bytes = field(repr=False)
    wide: bool
    """Whether some entry is beyond the clip: linear models then get both forms."""
    levels: Codes | None = field(default=None, repr=False)
    """Levels of categories that have more of them than columns of their own."""

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def clipped(self, rows: Index) -> Array:
        """Standardised and clipped columns of some rows."""
        return self.geometry.clipped(self.features[rows])

    def some(self, rows: Index) -> Rows:
        """These rows only, described as before."""
        levels = None if self.levels is None else self.levels[rows]
        return Rows(self.features[rows], self.geometry, self.bins[rows], self.wide, levels)


def read_records(features: Array, rng: np.random.Generator, levels: Codes | None = None) -> Rows:
    """Describe the records from x alone."""
    bins = encode_bins(features, quantile_edges(features))
    wide = bool(max(float(features.max()), -float(features.min())) > CLIP)
    return Rows(features, describe(features, rng), bins, wide, levels)


@dataclass(frozen=True)
class View:
    """Columns of some rows."""

    linear: Array = field(repr=False)
    """Inputs of the linear models."""
    clipped: Array = field(repr=False)
    """Standardised, clipped features: what non-linear terms are made of."""
    always: Array = field(repr=False)
    """Non-linear columns that every model gets."""
    bins: Bytes = field(repr=False)
    """Inputs of the trees."""


Model: TypeAlias = Callable[[View], Array]
"""From the view of n rows to an (n, learners) matrix of predictions."""


@dataclass(frozen=True)
class Further:
    """Columns per trial beyond the features: inputs of linear models and trees, always-in ones."""

    linear: Array = field(repr=False)
    always: Array = field(repr=False)
    bins: Bytes = field(repr=False)


@dataclass(frozen=True)
class Design:
    """Records, and further columns of theirs if there are any."""

    records: Rows
    more: Further | None = None

    def view(self, rows: Index) -> View:
        """The columns of these rows."""
        features = self.records.features[rows]
        clipped = self.records.geometry.clipped(features)
        linear = [features, clipped] if self.records.wide else [features]
        always = [self.records.geometry.always(clipped)]
        bins = [self.records.bins[rows]]
        if self.more is not None:
            linear.append(self.more.linear[rows])
            always.append(self.more.always[rows])
            bins.append(self.more.bins[rows])
        return View(
            np.concatenate(linear, axis=1),
            clipped,
            np.concatenate(always, axis=1),
            np.concatenate(bins, axis=1),
        )

    def predict(self, models: Sequence[Model], rows: Index, learners: int) -> Array:
        """Predictions of these rows in chunks, averaged over the models."""
        out = np.zeros((rows.size, learners))
        for start in range(0, rows.size, CHUNK):
            view = self.view(rows[start : start + CHUNK])
            for model in models:
                out[start : start + CHUNK] += model(view)
        out /= len(models)
        return out


def extended(records: Rows, linear: Array, always: Array) -> Design:
    """A design with further inputs."""
    return Design(records, Further(linear, always, encode_bins(linear, quantile_edges(linear))))


def at_most(rows: Index, most: int, rng: np.random.Generator) -> Index:
    """A random choice of the rows if there are too many."""
    return rows if rows.size <= most else rng.choice(rows, most, replace=False)
