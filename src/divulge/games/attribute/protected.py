"""What a record keeps to itself: one column of any kind, or several of them taken together.

A number or a date with many values stands in bins, by quantiles; of words with many levels the most
frequent ones are audited, and records with another value are left out. That is a rule on the value
alone: among the values that are left the prior and the posterior keep their proportions.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge.data import tables
from divulge.data.given import Given
from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.types import Array

MOST = 50
"""Values that are posed to the model, at most: each is a pass over all records."""
MANY, BINS = 20, 4
"""A number or a date with more values than that stands in so many bins, unless said otherwise."""
_JOINED = ", "


def word(value: Any) -> str:
    """How a class is written: 1, 1.0 and True as their integer, text as it is."""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


@dataclass(frozen=True)
class ProtectedColumn:
    """One column, in bins between these edges or value by value."""

    name: str
    edges: Array | None = field(default=None, repr=False)

    @classmethod
    def of(cls, frame: Frame, name: str, bins: int | None, posed: bool) -> ProtectedColumn:
        """In ``bins``, or in a few where a number or a date that is posed has many values.

        A column with no more values than that is taken value by value.
        """
        require(
            not frame.schema[name].is_nested(),
            f"Column {name!r} holds lists, and what is audited is one value per record: name a "
            "column of numbers, dates or words.",
        )
        values = frame[name].n_unique()
        if bins is None and posed and _ordered(frame, name) and values > MANY:
            bins = BINS
        if bins is None or (posed and 2 <= values <= bins):
            return cls(name)
        return cls(name, _edges(frame, name, bins))

    def words(self, source: Given) -> list[str]:
        """The class of every record."""
        column = source.frame[self.name]
        missing = int(column.null_count())
        require(
            missing == 0, f"Column {self.name!r} of {source.where} has {missing} missing values."
        )
        if self.edges is None:
            return [word(v) for v in column.to_list()]
        number = _numbers(source.frame, self.name, source.where)
        names = [
            f"{low} to {high}" for low, high in itertools.pairwise(self._written(source.frame))
        ]
        place = np.searchsorted(self.edges, number, "right") - 1
        return [names[i] for i in np.clip(place, 0, len(names) - 1)]

    def _written(self, frame: Frame) -> list[str]:
        """The edges with as few digits, from six on, as tell them apart: they name classes."""
        assert self.edges is not None
        if frame.schema[self.name].is_temporal():
            return [str(np.datetime64(int(e), "us"))[:19] for e in self.edges]
        for digits in range(6, 17):
            words = [f"{edge:.{digits}g}" for edge in self.edges]
            if len(set(words)) == len(words):
                return words
        return [repr(float(edge)) for edge in self.edges]

    def stands_for(self, frame: Frame, words: Sequence[str]) -> dict[str, Any]:
        """A value to pose for each class: itself, or the median of its bin."""
        values = frame[self.name].to_list()
        if self.edges is None:
            return dict(sorted(dict(zip(words, values, strict=True)).items()))
        number, bin_of = _numbers(frame, self.name, "the table"), np.asarray(words)
        out: dict[str, Any] = {}
        for w in dict.fromkeys(sorted(words)):
            rows = np.flatnonzero(bin_of == w)
            middle = rows[np.argsort(number[rows], kind="stable")[rows.size // 2]]
            out[w] = values[int(middle)]
        return out


@dataclass(frozen=True)
class Protected:
    """The columns whose value is audited, as one."""

    columns: tuple[ProtectedColumn, ...]

    @classmethod
    def of(cls, frame: Frame, names: Sequence[str], bins: int | None, *, posed: bool) -> Protected:
        """The named columns of a table; ``posed`` if the model is asked with every value."""
        return cls(tuple(ProtectedColumn.of(frame, name, bins, posed) for name in names))

    @property
    def name(self) -> str:
        """What is audited, in words."""
        return _JOINED.join(c.name for c in self.columns)

    def words(self, source: Given) -> list[str]:
        """The class of every record: the column's, or one for every combination."""
        if len(self.columns) == 1:
            return self.columns[0].words(source)
        parts = zip(*(c.words(source) for c in self.columns), strict=True)
        names = [c.name for c in self.columns]
        return [_JOINED.join(f"{n} {w}" for n, w in zip(names, row, strict=True)) for row in parts]

    def stands_for(self, source: Given) -> dict[str, Mapping[str, Any]]:
        """What to pose for each class that occurs: a value for each of the columns."""
        every = [(c.name, c.words(source), c) for c in self.columns]
        posed = {name: c.stands_for(source.frame, words) for name, words, c in every}
        whole = self.words(source)
        first = {w: i for i, w in reversed(list(enumerate(whole)))}
        out = {
            w: {name: posed[name][words[i]] for name, words, _ in every} for w, i in first.items()
        }
        return dict(sorted(out.items()))


def frequent(words: Sequence[Sequence[str]], name: str) -> list[npt.NDArray[np.intp]] | None:
    """Which rows of each table have one of the values that are audited; None: all of them."""
    many = Counter(words[0])
    if len(many) <= MOST:
        return None
    kept = {w for w, _ in sorted(many.items(), key=lambda item: (-item[1], item[0]))[:MOST]}
    rows = [np.flatnonzero([w in kept for w in table]) for table in words]
    if rows[0].size < 0.5 * len(words[0]):
        raise InputError(
            f"Column {name!r} has {len(many)} values, and the {MOST} most frequent ones stand in "
            f"{rows[0].size} of {len(words[0])} records: there is no value that many share. Put "
            "them into groups, or a number in bins."
        )
    return rows


def _ordered(frame: Frame, name: str) -> bool:
    kind = frame.schema[name]
    return bool(kind.is_numeric() or kind.is_temporal())


def _numbers(frame: Frame, name: str, where: str) -> Array:
    kind = frame.schema[name]
    if not kind.is_temporal():
        return tables.numbers(frame, name, where)
    column = frame[name] if isinstance(kind, nw.Datetime) else frame[name].cast(nw.Datetime("us"))
    return tables.filled(column.dt.timestamp("us"))


def _edges(frame: Frame, name: str, bins: int) -> Array:
    require(bins >= 2, f"At least 2 bins are needed. Found {bins}.")
    number = _numbers(frame, name, "the table")
    edges = np.unique(np.quantile(number, np.linspace(0.0, 1.0, bins + 1)))
    require(edges.size >= 3, f"Column {name!r} has too few distinct values for {bins} bins.")
    return edges
