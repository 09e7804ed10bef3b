"""Records as numbers, as they are: columns and embeddings side by side, nothing encoded or reduced.

A distance changes with every encoding, so none is chosen here: text and dates are an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge.data import tables
from divulge.data.arranged import Rows
from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.exposure.covariance import slices
from divulge.types import Array


@dataclass(frozen=True)
class NumericRecords:
    """A matrix with a name per column."""

    matrix: Array = field(repr=False)
    names: tuple[str, ...] = field(repr=False)

    def columns(self, keep: npt.NDArray[np.bool_]) -> NumericRecords:
        """Some of the columns."""
        names = tuple(n for n, k in zip(self.names, keep, strict=True) if k)
        return NumericRecords(np.ascontiguousarray(self.matrix[:, keep]), names)


def read_records(
    frame: Frame, columns: Sequence[str], where: str, order: Rows | None = None
) -> NumericRecords:
    """Numbers as floats, lists of numbers one column per place; InputError for anything else.

    The rows are put in this ``order``, by default that of the table.
    """
    require(len(columns) > 0, f"Name at least one feature column of {where}.")
    parts: list[Any] = []
    names: list[str] = []
    for name in columns:
        kind = frame[name].dtype
        if isinstance(kind, nw.List | nw.Array):
            block = tables.lists(frame, name, where)
            parts.append(block)
            names.extend(f"{name}[{j}]" for j in range(block.shape[1]))
        elif kind.is_numeric() or kind == nw.Boolean:
            parts.append(tables.numbers(frame, name, where))
            names.append(name)
        else:
            raise InputError(
                f"Column {name!r} of {where} holds {kind}, not numbers, and no encoding is chosen "
                "for you: leakage is a distance, and depends on it. Encode the column as numbers "
                "(for instance 0 and 1 for all categories but one), or leave it out of the "
                "features."
            )
    return NumericRecords(_side_by_side(parts, len(frame), len(names), order), tuple(names))


def _side_by_side(parts: list[Any], rows: int, columns: int, order: Rows | None) -> Array:
    """Blocks of rows, so that columns are not written with a stride over the whole matrix."""
    out = np.empty((rows, columns))
    for s in slices(rows, columns):
        place = 0
        some = s if order is None else order[s]
        for part in parts:
            wide = 1 if part.ndim == 1 else part.shape[1]
            out[s, place : place + wide] = part[some].reshape(-1, wide)
            place += wide
    return out


def shared_rows(first: Array, second: Array) -> int:
    """How many rows of the second equal some row of the first, by a 64-bit hash of the bits."""
    drawn = np.random.default_rng(0).integers(0, 2**63, first.shape[1], dtype=np.uint64)
    weights = np.asarray(drawn * np.uint64(2) + np.uint64(1), dtype=np.uint64)
    return int(np.isin(_hashes(second, weights), _hashes(first, weights)).sum())


def _hashes(rows: Array, weights: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    out = np.empty(rows.shape[0], dtype=np.uint64)
    for s in slices(rows.shape[0], rows.shape[1]):
        bits = (np.ascontiguousarray(rows[s]) + 0.0).view(np.uint64)  # + 0.0: one zero, not two
        out[s] = ((bits ^ (bits >> np.uint64(29))) * weights).sum(axis=1, dtype=np.uint64)
    return out


def constant_columns(reference: Array) -> npt.NDArray[np.bool_]:
    """Columns with one value only."""
    return np.asarray(reference.min(axis=0) == reference.max(axis=0))
