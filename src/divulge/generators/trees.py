"""Sequential forests: every column given the ones before it, as synthpop does with single trees.

Nowok, Raab and Dibben, synthpop: bespoke creation of synthetic data in R (2016), draw a column from
the leaf of a regression tree on the columns already drawn. Here a record follows a tree drawn at
random from a small forest, another one for every column, which is sampling from the forest's
conditional distribution (Meinshausen, Quantile regression forests, 2006): smoother than one tree,
and a record is not led back to the same few donors. A value is taken over from a donor and, if it
occurs only once, smeared between its neighbours. Needs scikit-learn only.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.data.tables import Frame
from divulge.errors import require
from divulge.generators.base import Training
from divulge.generators.encoding import Column, columns_of, rebuild, smear, table_of
from divulge.generators.forests import Floats, deals, follow, grow
from divulge.types import Index
from divulge.work.pieces import Arrays, digest

FEW = 40
"""Numbers of so many distinct values are predicted as classes."""
HOT = 20
"""The most frequent levels of a category that get a column of their own."""


@dataclass(frozen=True)
class SequentialTrees:
    """A forest per column. ``leaf``: records in a leaf at least; ``trees``: in each forest."""

    trees: int = 10
    leaf: int = 10

    def __post_init__(self) -> None:
        require(self.trees >= 1, f"trees must be at least 1. Found {self.trees}.")
        require(self.leaf >= 1, f"leaf must be at least 1. Found {self.leaf}.")

    @property
    def name(self) -> str:
        return "trees"

    @property
    def settings(self) -> dict[str, Any]:
        return asdict(self)

    def generate(self, records: Frame, count: int, rng: np.random.Generator) -> Frame:
        return self.generate_in_pieces(records, count, rng, Training())

    def generate_in_pieces(
        self, records: Frame, count: int, rng: np.random.Generator, training: Training
    ) -> Frame:
        """The forest of a column is a piece."""
        columns = columns_of(records)
        donors = self.donors(columns, count, rng, training)
        arrays = {}
        for column, rows in zip(columns, donors, strict=True):
            values = smear(column, column.codes[rows], rng) if column.kind == "number" else None
            arrays[column.name] = rebuild(column, rows, values)
        return table_of(records, arrays)

    def donors(
        self, columns: list[Column], count: int, rng: np.random.Generator, training: Training
    ) -> list[Index]:
        """For every column the rows of the records whose values the new records take over.

        The forests are grown on the records, wherever that is; the new records then go through
        them here, column after column.
        """
        size = len(columns[0])
        learned = [k for k, c in enumerate(columns) if k > 0 and np.unique(c.codes).size > 1]
        starts = []
        for k in range(len(columns)):
            starts.append(copy.deepcopy(rng))
            if k not in learned:
                rng.integers(0, size, count)
                continue
            for _ in deals(self.trees, size, count, rng):  # played ahead: the next start
                pass
        forests = iter(
            training.engine.run(
                Grow(self, [replace(c, values=None) for c in columns], starts, count),
                learned,
                keep=training.pieces.tasks("forest", self._inputs(columns, starts, count)),
                progress=training.tell("forests"),
            )
        )
        made, found = np.zeros((count, 0), np.float32), []
        for k, (column, start) in enumerate(zip(columns, starts, strict=True)):
            if k in learned:
                rows = follow(next(forests), made, deals(self.trees, size, count, start))
            else:
                rows = start.integers(0, size, count)
            found.append(rows)
            made = np.hstack([made, predictors(column)[rows]])
        return found

    def _inputs(
        self, columns: list[Column], starts: list[np.random.Generator], count: int
    ) -> Callable[[int], dict[str, Any]]:
        """What names the forest of a column: the columns up to it, and where chance stood."""
        seen = [digest(c.kind, c.codes, c.counts) for c in columns]

        def inputs(place: int) -> dict[str, Any]:
            return {
                **self.settings,
                "columns": digest(tuple(seen[: place + 1])),
                "rng": repr(starts[place].bit_generator.state),
                "count": count,
            }

        return inputs


@dataclass(frozen=True)
class Grow:
    """Grow the forest of one column on those before it."""

    generator: SequentialTrees
    columns: list[Column]
    starts: list[np.random.Generator]
    count: int

    def __call__(self, place: int) -> Arrays:
        real = np.hstack([predictors(c) for c in self.columns[:place]])
        start = copy.deepcopy(self.starts[place])
        dealt = deals(self.generator.trees, len(real), self.count, start)
        return grow(outcome(self.columns[place]), real, self.generator.leaf, dealt)


def predictors(column: Column) -> Floats:
    """What later columns see of this one: ranks of numbers, frequent levels one by one."""
    if column.kind == "number":
        return column.codes[:, None].astype(np.float32)
    ranks = np.argsort(-column.counts, kind="stable")
    place = np.full(column.levels + 1, -1.0)
    place[ranks] = np.arange(column.levels)
    states = column.states
    hot = [states == level for level in ranks[:HOT]] if column.levels > 2 else []
    return np.column_stack([place[states], *hot]).astype(np.float32)


def outcome(column: Column) -> npt.NDArray[Any]:
    """What a tree predicts: classes, or for many numbers rank, missing value and point masses."""
    if column.kind == "category" or column.levels <= FEW:
        return column.states
    known = column.codes >= 0
    below = np.concatenate([[0], np.cumsum(column.counts)])
    middle = (below[1:] + below[:-1]) / 2.0 / max(1, int(known.sum()))
    rank = np.where(known, middle[np.maximum(column.codes, 0)], 0.5)
    masses = [column.codes == level for level in np.flatnonzero(column.spikes)[:HOT]]
    flags = [~known, *masses] if not known.all() else masses
    return np.column_stack([np.sqrt(12.0) * rank, *flags]).astype(float)
