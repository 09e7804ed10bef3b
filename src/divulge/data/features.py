"""Records as numbers: what the nuisance models see of a record. Uses x alone, never a truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge.data import meanings, tables
from divulge.data.content import stirred
from divulge.data.meanings import Codes, Meanings
from divulge.data.tables import Frame
from divulge.errors import InputError
from divulge.types import Array, slices

HOT_LEVELS = 50
"""Levels of one category with a column of their own, at most."""
HOT_RECORDS = 30
"""A level has a column of its own if it has so many records."""
FEW_LEVELS = 20
"""A category with no more levels has a column for each of them."""
RARE = 5
"""A level with fewer records than that says nothing that could be learned: it is folded away."""
COMPONENTS = 50
"""An embedding (a column of lists) is reduced to so many components."""


@dataclass(frozen=True)
class Features:
    """A matrix of standardised columns and their names, and categories that it does not hold."""

    matrix: Array = field(repr=False)
    names: tuple[str, ...]
    origin: tuple[str, ...] = ()
    """The column of the table that each column of the matrix comes from."""
    levels: Codes | None = field(default=None, repr=False)
    """Of each category with more levels than columns of their own: the level of every record."""
    categories: tuple[str, ...] = ()
    """The names of these categories."""
    derived: tuple[str, ...] = ()
    """Those of them that are read off other columns (``meanings.py``)."""
    folded: tuple[str, ...] = ()
    """What neither the matrix nor the levels tell, in words."""

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def rows(self, index: npt.NDArray[np.integer[Any]]) -> Features:
        """The features of some rows."""
        levels = None if self.levels is None else self.levels[index]
        return replace(self, matrix=self.matrix[index], levels=levels)

    def beside(self, matrix: Array, names: Sequence[str]) -> Features:
        """With further columns, each its own origin."""
        own = self.origin or self.names
        return replace(
            self,
            matrix=np.column_stack([self.matrix, matrix]),
            names=(*self.names, *names),
            origin=(*own, *names),
        )

    @property
    def whole(self) -> bool:
        """Whether the matrix alone tells all: no further level of a category, nothing folded."""
        return len(self.categories) == len(self.derived) and not self.folded


@dataclass(frozen=True)
class _Encoded:
    """One column of the table as columns of the matrix."""

    block: Array
    names: list[str]
    levels: Codes | None = None
    folded: str = ""
    meanings: Meanings = ()


def encode(frame: Frame, columns: Sequence[str], where: str = "the table") -> Features:
    """Numbers as they are, categories one-hot and by their levels, embeddings by components.

    A missing number becomes the column's mean and a flag of its own; a missing category is a level.
    A level with at least 30 records has a column of its own, up to 50 of a category; a category
    with others also gets the logarithm of its levels' frequencies, and its levels as they are, for
    models that learn from them. Levels with fewer than 5 records are one. A list of more than 50
    numbers is reduced to 50 principal components. What is lost is said (``folded``). Dates, time
    stamps and codes also have levels for what they mean (``meanings.py``). Nothing depends on a
    column's name.
    """
    parts = [_encode_column(frame, name, where) for name in columns]
    if not parts:
        return Features(np.zeros((len(frame), 0)), ())
    matrix = np.column_stack([part.block for part in parts])
    names = [name for part in parts for name in part.names]
    origin = [c for c, part in zip(columns, parts, strict=True) for _ in part.names]
    scale = matrix.std(axis=0)
    keep = scale > 1e-12
    matrix = (matrix[:, keep] - matrix[:, keep].mean(axis=0)) / scale[keep]
    both = list(zip(columns, parts, strict=True))
    coded = [(c, part.levels) for c, part in both if part.levels is not None]
    read = [(f"{c}, {what}", codes) for c, part in both for what, codes in part.meanings]
    levels = [codes for _, codes in (*coded, *read)]
    return Features(
        matrix,
        tuple(n for n, k in zip(names, keep, strict=True) if k),
        tuple(n for n, k in zip(origin, keep, strict=True) if k),
        np.stack(levels, axis=1) if levels else None,
        tuple(c for c, _ in (*coded, *read)),
        tuple(c for c, _ in read),
        tuple(part.folded for part in parts if part.folded),
    )


def _encode_column(frame: Frame, name: str, where: str) -> _Encoded:
    column = frame[name]
    kind = column.dtype
    if int(column.null_count()) == len(column):
        raise InputError(f"Feature {name!r} of {where} has no value in any row. Leave it out.")
    if isinstance(kind, nw.List | nw.Array):
        return _embedding(frame, name, where)
    if kind.is_numeric() or kind == nw.Boolean:
        return _number(tables.filled(column), name, where)
    if isinstance(kind, nw.Struct | nw.Binary | nw.Time | nw.Duration):
        raise InputError(
            f"Feature {name!r} of {where} holds {kind}. A feature is a column of numbers, dates, "
            "words or lists of numbers: change it into one, or leave it out."
        )
    if kind.is_temporal():
        days = column if isinstance(kind, nw.Datetime) else column.cast(nw.Datetime("us"))
        return _date(tables.filled(days.dt.timestamp("us")) / 1e6, name, where)
    values = column.to_list()
    dates = meanings.seconds_of([v if v is None else str(v) for v in values])
    return _category(values, name) if dates is None else _date(dates, name, where)


def _date(seconds: Array, name: str, where: str) -> _Encoded:
    """A number, and what a calendar says of it; a missing date is in no week."""
    known = ~np.isnan(seconds)
    found = meanings.of_time(seconds[known])
    return replace(_number(seconds, name, where), meanings=_among(found, known))


def _among(found: Meanings, known: npt.NDArray[np.bool_]) -> Meanings:
    """What is read off known values, with one more level for the missing ones."""
    codes = []
    for what, own in found:
        every = np.full(known.size, own.max() + 1, dtype=np.int32)
        every[known] = own
        codes.append((what, every))
    return tuple(codes)


def _number(values: Array, name: str, where: str) -> _Encoded:
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise InputError(f"Feature {name!r} of {where} is infinite in row {row}.")
    missing = np.isnan(values)
    if missing.all():
        raise InputError(f"Feature {name!r} of {where} is NaN in every row. Leave it out.")
    tables.require_moderate(values, name, where)
    if not missing.any():
        return _Encoded(values[:, None], [name], meanings=meanings.of_numbers(values))
    filled = np.where(missing, values[~missing].mean(), values)
    read = _among(meanings.of_numbers(values[~missing]), ~missing)
    return _Encoded(np.column_stack([filled, missing]), [name, f"{name} is missing"], meanings=read)


def _category(values: list[object], name: str) -> _Encoded:
    words = np.array(["(missing)" if v is None else str(v) for v in values])
    levels, codes, counts = np.unique(words, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    frequent = order[counts[order] >= HOT_RECORDS][:HOT_LEVELS]
    if levels.size <= FEW_LEVELS:
        frequent = order
    hot = (codes[:, None] == frequent[None, :]).astype(float)
    names = [f"{name} = {levels[k]}" for k in frequent]
    if frequent.size == levels.size:
        return _Encoded(hot, names)
    block = np.column_stack([hot, np.log(counts[codes])])
    rare = counts < RARE
    place = np.where(rare, 0, np.cumsum(~rare) - (not rare.any()))
    folded = ""
    if rare.any():
        folded = (
            f"{int(rare.sum()):,} levels of {name!r} with fewer than {RARE} records each "
            f"({counts[rare].sum() / codes.size:.1%} of the rows) count as one"
        )
    coded = place[codes].astype(np.int32)
    parts = meanings.of_words(words) if rare.any() else ()
    return _Encoded(block, [*names, f"{name}, log frequency"], coded, folded, parts)


def _embedding(frame: Frame, name: str, where: str) -> _Encoded:
    matrix = tables.lists(frame, name, where)
    width = matrix.shape[1]
    if width <= COMPONENTS:
        return _Encoded(matrix, [f"{name}[{j}]" for j in range(width)])
    from sklearn.decomposition import PCA

    pca = PCA(COMPONENTS, svd_solver="randomized", random_state=0)
    sample = matrix if len(matrix) <= 50_000 else matrix[:: len(matrix) // 50_000]
    block = pca.fit(sample).transform(matrix)
    share = float(pca.explained_variance_ratio_.sum())
    folded = (
        f"{name!r}, {width} numbers, is reduced to {COMPONENTS} components ({share:.1%} of its "
        "variance)"
    )
    return _Encoded(block, [f"{name} component {k + 1}" for k in range(COMPONENTS)], None, folded)


def duplicates(features: Features, truth: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Rows of non-members whose features equal those of some member."""
    return shared_rows(row_keys(features.matrix), truth)


def row_keys(matrix: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.uint64]:
    """One number per row, equal for equal rows: its only value, or a hash of them all."""
    first = np.ascontiguousarray(matrix[:, 0], dtype=float).view(np.uint64)
    if matrix.shape[1] == 1:
        return first
    keys = stirred(first)
    for j in range(1, matrix.shape[1]):
        keys = stirred(keys ^ np.ascontiguousarray(matrix[:, j], dtype=float).view(np.uint64))
    return keys


def shared_rows(keys: npt.NDArray[np.uint64], truth: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Rows of non-members whose key some member has."""
    outside = np.flatnonzero(truth < 0)
    members, others = np.sort(keys[truth > 0]), np.sort(keys[outside])
    if members.size == 0:
        return np.zeros(0, dtype=np.intp)
    common = np.unique(others[in_sorted(others, members)])
    if common.size == 0:
        return np.zeros(0, dtype=np.intp)
    return outside[in_sorted(keys[outside], common)]


def in_sorted(
    values: npt.NDArray[np.uint64], those: npt.NDArray[np.uint64]
) -> npt.NDArray[np.bool_]:
    """Which values are among those, which are sorted."""
    out = np.empty(values.size, dtype=bool)
    for part in slices(values.size):
        at = np.minimum(np.searchsorted(those, values[part]), those.size - 1)
        out[part] = those[at] == values[part]
    return out
