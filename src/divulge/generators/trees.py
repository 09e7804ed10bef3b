"""Sequential forests: every column given the ones before it, as synthpop does with single trees.

Nowok, Raab and Dibben, synthpop: bespoke creation of synthetic data in R (2016), draw a column from
the leaf of a regression tree on the columns already drawn. Here a record follows a tree drawn at
random from a small forest, another one for every column, which is sampling from the forest's
conditional distribution (Meinshausen, Quantile regression forests, 2006): smoother than one tree,
and a record is not led back to the same few donors. A value is taken over from a donor and, if it
occurs only once, smeared between its neighbours. Needs scikit-learn only.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.errors import require
from divulge.generators.columns import Column, Index, columns_of, rebuild, smear, table_of
from divulge.tables import Frame

Floats = npt.NDArray[np.float32]

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
        columns = columns_of(records)
        donors = self.donors(columns, count, rng)
        arrays = {}
        for column, rows in zip(columns, donors, strict=True):
            values = smear(column, column.codes[rows], rng) if column.kind == "number" else None
            arrays[column.name] = rebuild(column, rows, values)
        return table_of(records, arrays)

    def donors(self, columns: list[Column], count: int, rng: np.random.Generator) -> list[Index]:
        """For every column the rows of the records whose values the new records take over."""
        size = len(columns[0])
        real, made = np.zeros((size, 0), np.float32), np.zeros((count, 0), np.float32)
        found = []
        for column in columns:
            if real.shape[1] == 0 or np.unique(column.codes).size == 1:
                rows = rng.integers(0, size, count)
            else:
                rows = self._column_donors(outcome(column), real, made, rng)
            found.append(rows)
            block = predictors(column)
            real, made = np.hstack([real, block]), np.hstack([made, block[rows]])
        return found

    def _column_donors(
        self, target: Any, real: Floats, made: Floats, rng: np.random.Generator
    ) -> Index:
        """A tree per bootstrap sample of the records; new records are dealt out to the trees."""
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        make = DecisionTreeClassifier if target.ndim == 1 else DecisionTreeRegressor
        follow = rng.integers(0, self.trees, len(made))
        rows = np.empty(len(made), dtype=np.intp)
        for number in range(self.trees):
            chosen = np.flatnonzero(follow == number)
            sample, seed = rng.integers(0, len(real), len(real)), int(rng.integers(2**31))
            if not chosen.size:
                continue
            tree = make(min_samples_leaf=self.leaf, random_state=seed)
            tree.fit(real[sample], target[sample])
            rows[chosen] = draw(tree.apply(real), tree.apply(made[chosen]), rng)
        return rows


def draw(real: Index, made: Index, rng: np.random.Generator) -> Index:
    """For every new record one of the records in its leaf, all equally likely."""
    order = np.argsort(real, kind="stable")
    counts = np.bincount(real, minlength=int(max(real.max(), made.max())) + 1)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    picked: Index = order[starts[made] + (rng.random(made.size) * counts[made]).astype(np.intp)]
    return picked


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
