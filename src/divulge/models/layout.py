"""The columns of a table in the order that a model stores, and as the array that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge.data import tables
from divulge.data.tables import Frame
from divulge.errors import require
from divulge.models.base import matrix

LISTS = (nw.List, nw.Array)
CELLS = 1 << 21
"""Numbers read at once, where records are small."""


def ordered(
    records: Frame, names: Sequence[str] | None, model: str, *, made_up: bool = False
) -> Frame:
    """The columns by the names that a model stores; by position where it stores none.

    ``made_up`` says that the library counted the columns for want of names (``Column_0``, ...).
    """
    if names is None:
        return records
    if made_up and not set(names) <= set(records.columns):
        require_width(model, len(names), len(records.columns))
        return records
    tables.require_columns(records, names, f"{model} was trained on other columns: the features")
    return records.select(*names)


def require_width(model: str, expected: int, found: int) -> None:
    """InputError unless as many columns are given as the model reads."""
    require(
        expected == found,
        f"{model} reads {expected} features. Found {found}: name those that it was trained on, in "
        "its order.",
    )


def words(records: Frame) -> list[str]:
    """The columns that hold categories rather than numbers."""
    return [
        c
        for c, kind in records.schema.items()
        if kind in (nw.String, nw.Categorical) or isinstance(kind, nw.Enum)
    ]


def shaped(
    records: Frame, shape: Sequence[int | None], model: str, dtype: Any = np.float64
) -> npt.NDArray[Any]:
    """Numbers and lists of numbers as one array: rows, then a shape with at most one unknown."""
    rows = matrix(records, dtype=dtype)
    known = prod(s for s in shape if s is not None)
    unknown = sum(s is None for s in shape)
    fits = rows.shape[1] == known if not unknown else unknown == 1 and rows.shape[1] % known == 0
    drawn = " x ".join("?" if s is None else str(s) for s in shape)
    require(fits, f"{model} reads {drawn} numbers per record. Found {rows.shape[1]}.")
    return rows.reshape(len(rows), *(-1 if s is None else s for s in shape))


def portions(records: Frame, shape: Sequence[int | None], least: int) -> Iterator[Frame]:
    """A table in parts of ``CELLS`` numbers, or of ``least`` records where these are large."""
    width = prod(CELLS if s is None else s for s in shape)
    step = max(least, CELLS // max(1, width))
    for start in range(0, len(records), step):
        yield records[start : start + step]


def record_shape(records: Frame) -> tuple[int, ...]:
    """How a record looks by itself: nested as its one list is, or flat."""
    if len(records.columns) == 1 and isinstance(records.schema[records.columns[0]], LISTS):
        return np.shape(records[records.columns[0]][:1].to_list())[1:]
    return (matrix(records[:1]).shape[1],)


def blocks(rows: int, step: int, least: int) -> Iterator[slice | npt.NDArray[np.intp]]:
    """Rows in blocks of ``step``; the last is filled up with the last row if below ``least``."""
    for start in range(0, rows, step):
        stop = min(start + step, rows)
        short = stop - start < least
        yield np.minimum(np.arange(start, start + least), rows - 1) if short else slice(start, stop)
