"""Which rows are used where not all fit? A random subset by the rows' content, in one pass.

Every record (equal rows are one record) draws a number from the seed and its content, never from a
truth, and the records with the smallest numbers stay. All their rows are counted, for a record that
stays has been below the limit since it first appeared. If these rows are still too many, because
some records stand in the table many times, as many as needed are left out at random, truths unseen:
equal rows are interchangeable, so only how many of each stay is drawn. Without equal rows this is a
uniform sample without replacement, and so it is where all distinct records fit.

No choice looks at a truth, so among the rows of a record members and non-members keep their odds,
but for chance: what is left is the game of a smaller table. Nor does the order of the rows matter,
or how they are cut into files and batches. At most a few times as many rows as may stay are held.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.data import content
from divulge.data.content import Keys

Counts = npt.NDArray[np.int64]
_STREAM = 0x726F7773
_HELD = 4
"""Rows are made groups when this many times as many are held as may stay."""
_MOST_DRAWN = 900_000_000
"""numpy draws from fewer than 10^9 rows."""


@dataclass(frozen=True)
class Groups:
    """Equal rows with equal truths: an example, its row in the whole table, and how many."""

    table: Any = field(repr=False)
    """An Arrow table of the examples; None where the whole table is in memory."""
    uniforms: Keys = field(repr=False)
    """The number that the record drew."""
    truth: npt.NDArray[np.int8] = field(repr=False)
    rows: npt.NDArray[np.int64] = field(repr=False)
    count: Counts = field(repr=False)

    @classmethod
    def of(
        cls,
        table: Any,
        truth: npt.NDArray[np.int8],
        first: int,
        *,
        record: Collection[str],
        seed: int,
    ) -> Groups:
        """Every row a group of its own; ``first`` is the number of the first row."""
        import pyarrow as pa

        uniforms = content.mixed(content.keys(table, record), _STREAM + seed)
        rows = np.arange(first, first + uniforms.size)
        held = table if isinstance(table, pa.Table) else None
        return cls(held, uniforms, truth, rows, np.ones(uniforms.size, dtype=np.int64))

    @classmethod
    def joined(cls, parts: Sequence[Groups]) -> Groups:
        """One below the other."""
        import pyarrow as pa

        batches = [b for part in parts for b in part.table.to_batches()]
        table = pa.Table.from_batches(batches, parts[0].table.schema).unify_dictionaries()
        arrays = ("uniforms", "truth", "rows", "count")
        return cls(table, *(np.concatenate([getattr(p, a) for p in parts]) for a in arrays))

    def __len__(self) -> int:
        return int(self.uniforms.size)

    def take(self, at: npt.NDArray[np.integer[Any]]) -> Groups:
        """Some of the groups."""
        import pyarrow as pa

        arrays = (self.uniforms[at], self.truth[at], self.rows[at], self.count[at])
        return Groups(None if self.table is None else self.table.take(pa.array(at)), *arrays)

    def lowest(self, most: int) -> Groups:
        """The ``most`` records with the smallest numbers, equal rows made one group, in order."""
        order = np.lexsort((self.rows, self.truth, self.uniforms))
        uniforms, truth = self.uniforms[order], self.truth[order]
        new = (uniforms[1:] != uniforms[:-1]) | (truth[1:] != truth[:-1])
        firsts = np.flatnonzero(np.concatenate([[True], new]))
        count = np.add.reduceat(self.count[order], firsts)
        uniforms = uniforms[firsts]
        record = np.cumsum(np.concatenate([[False], uniforms[1:] != uniforms[:-1]]))
        stay = record < most
        kept = self.take(order[firsts[stay]])
        return Groups(kept.table, kept.uniforms, kept.truth, kept.rows, count[stay])


class Sample:
    """Rows that may stay, gathered batch by batch."""

    def __init__(self, most: int, seed: int, record: Collection[str]) -> None:
        self.most, self.seed, self.record = most, seed, record
        self.total = 0
        self.limit = np.uint64(2**64 - 1)
        self.held: list[Groups] = []

    def add(self, table: Any, truth: npt.NDArray[np.int8]) -> None:
        """The next rows, as an Arrow table."""
        found = Groups.of(table, truth, self.total, record=self.record, seed=self.seed)
        self.total += len(found)
        stay = np.flatnonzero(found.uniforms <= self.limit)
        if stay.size:
            self.held.append(found if stay.size == len(found) else found.take(stay))
        if sum(len(part) for part in self.held) > _HELD * self.most:
            self.held = [Groups.joined(self.held).lowest(self.most)]
            if np.unique(self.held[0].uniforms).size == self.most:
                self.limit = self.held[0].uniforms.max()

    def groups(self) -> Groups:
        """All that is held; every row, in order, where no more came than may stay."""
        return Groups.joined(self.held)


def drawn(parts: Sequence[Groups], most: int, seed: int) -> list[Groups]:
    """How many rows of each group are used, ``most`` in all, out of several tables together."""
    parts = [part.lowest(most) for part in parts]
    source = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    uniforms = np.concatenate([part.uniforms for part in parts])
    low = np.unique(uniforms)[:most]
    at = np.flatnonzero(uniforms <= low[-1])
    truth, count = (
        np.concatenate([getattr(part, name) for part in parts])[at] for name in ("truth", "count")
    )
    order = np.lexsort((truth, uniforms[at]))  # the same in whatever order the rows came
    at, count = at[order], count[order]
    if count.sum() > most:
        rng = np.random.default_rng([_STREAM, seed])
        if count.sum() > _MOST_DRAWN:
            count = rng.binomial(count, _MOST_DRAWN / count.sum())
        count = rng.multivariate_hypergeometric(count, most, method="marginals")
    out = []
    first = 0
    for k, part in enumerate(parts):
        own = source[at] == k
        out.append(part.take(np.repeat(at[own] - first, count[own])))
        first += len(part)
    return out
