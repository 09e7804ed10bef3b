"""Training records among the held-out ones: the whole table is refused, single rows are named.

Rows are compared by the content of the columns that both tables have, whatever the order of rows
and columns and the format: numbers by value, the rest as text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.errors import InputError
from divulge.tables import Frame

DISTINCT = 0.99
"""Rows stand for records, not for kinds of records, if so many training rows are like no other."""
_NAMED = 5
_DECIMALS = 12

Keys = npt.NDArray[np.uint64]


def refuse_equal(training: Frame, heldout: Frame) -> None:
    """InputError if both tables hold the same rows, in any order."""
    if len(training) != len(heldout):
        return
    inside, outside = _keys(training, heldout)
    if np.array_equal(np.sort(inside), np.sort(outside)):
        raise InputError(
            "The held-out table and the training table hold the same rows: held-out records must "
            "be records that the target never saw."
        )


def overlap(training: Frame, heldout: Frame) -> str | None:
    """Which held-out rows are training rows, in words; None where rows do not identify records."""
    inside, outside = _keys(training, heldout)
    distinct, place = np.unique(inside, return_index=True)
    at = np.minimum(np.searchsorted(distinct, outside), distinct.size - 1)
    same = np.flatnonzero(distinct[at] == outside)
    if same.size == 0 or distinct.size < DISTINCT * inside.size:
        return None
    named = ", ".join(f"{row} (training row {place[at[row]]})" for row in same[:_NAMED])
    more = ", ..." if same.size > _NAMED else ""
    return (
        f"{same.size} of the {outside.size} held-out rows equal a training row: {named}{more}. "
        "Held-out records must be records that the target never saw."
    )


def _keys(training: Frame, heldout: Frame) -> tuple[Keys, Keys]:
    """One number per row of each table; equal rows have equal numbers (a random hash)."""
    rng = np.random.default_rng(0)
    key = np.zeros(len(training) + len(heldout), dtype=np.uint64)
    for name in sorted(c for c in training.columns if c in heldout.columns):
        levels, code = np.unique(_comparable(training[name], heldout[name]), return_inverse=True)
        words = rng.integers(2**64, size=levels.size, dtype=np.uint64)
        key = key * np.uint64(0x9E3779B97F4A7C15) + words[code]
    return key[: len(training)], key[len(training) :]


def _comparable(first: Any, second: Any) -> npt.NDArray[Any]:
    """Both columns in one array: as numbers if all values of both are numbers, else as text."""
    values = [*first.to_list(), *second.to_list()]
    try:
        return np.array([np.nan if v is None else float(v) for v in values]).round(_DECIMALS)
    except (TypeError, ValueError, OverflowError):
        return np.array([str(v) for v in values])
