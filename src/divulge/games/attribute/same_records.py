"""Training records among the held-out ones: the whole table is refused, single rows are named.

Rows are compared by the content of the columns that both tables have, whatever the order of rows
and columns and the format.
"""

from __future__ import annotations

from contextlib import suppress

import narwhals as nw
import numpy as np

from divulge.data import content
from divulge.data.tables import Frame
from divulge.errors import InputError

DISTINCT = 0.99
"""Rows stand for records, not for kinds of records, if so many training rows are like no other."""
_NAMED = 5


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


def _keys(training: Frame, heldout: Frame) -> tuple[content.Keys, content.Keys]:
    """One number per row of each table, from the columns that both have."""
    shared = [c for c in training.columns if c in heldout.columns]
    first, second = (
        _comparable(one, other) for one, other in ((training, heldout), (heldout, training))
    )
    return content.keys(first, shared), content.keys(second, shared)


def _comparable(one: Frame, other: Frame) -> Frame:
    """Text as numbers where the other table has numbers, as a CSV file would have it."""
    kinds = {c: (one[c].dtype, other[c].dtype) for c in one.columns if c in other.columns}
    turned = [c for c, (own, its) in kinds.items() if own == nw.String and its.is_numeric()]
    for name in turned:
        with suppress(Exception):  # each kind of table has its own: the column is not of numbers
            one = one.with_columns(nw.col(name).cast(nw.Float64))
    return one
