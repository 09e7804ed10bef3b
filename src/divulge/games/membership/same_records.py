"""The same records as members and as non-members are an error, not an audit; at any size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.data.features import Features, in_sorted, row_keys, shared_rows
from divulge.errors import InputError
from divulge.types import Floats

Keys = npt.NDArray[np.uint64]
SHARED = 1.0 / 3.0
"""Share of the non-members that may equal a member where members are told apart."""
TELLING = 5
"""Different rows from which on two tables of equal rows are not a coincidence: two groups that
answer with a few values only may well give each of them equally often."""
_SAMPLE = 2000


def refuse_same_table(members: Mapping[str, str], nonmembers: Mapping[str, str]) -> None:
    """By the digests of both tables, before anything else is read."""
    if members["sha256"] == nonmembers["sha256"]:
        raise InputError(
            f"The members ({members['name']}) and the non-members ({nonmembers['name']}) are the "
            "same table. Give records that the model was not trained on as non-members."
        )


def refuse_shared_records(
    encoded: Features, scores: Floats, truths: npt.NDArray[Any], where: str
) -> None:
    """By what was read of the records, in whatever order and format they came.

    Refused are non-members that equal the members one by one, and more than a third of them that
    equal some member. Where members hardly differ among themselves, as many short numbers do not,
    that a non-member equals one says nothing.
    """
    both = np.column_stack([encoded.matrix, scores]) if encoded.names else scores
    inside = np.flatnonzero(truths > 0)
    paired = 2 * inside.size == truths.size
    if not (paired or _differ(both[inside[:: max(1, inside.size // _SAMPLE)]])):
        return
    keys = row_keys(both)
    members, others = np.sort(keys[inside]), np.sort(keys[truths < 0])
    same = int(in_sorted(others, members).sum())
    repeated = members[1:] == members[:-1]
    if (np.array_equal(members, others) and members.size - repeated.sum() >= TELLING) or (
        same > SHARED * others.size and _alone(repeated) > 0.5
    ):
        row = int(shared_rows(keys, truths)[0])
        raise InputError(
            f"{same} of {others.size} non-members equal a member in every feature and score "
            f"(such as row {row} of {where}). The same records cannot be both."
        )


def _differ(rows: Floats) -> bool:
    """Cheap, so that a large table of few values is not sorted in vain."""
    return bool(np.unique(rows, axis=0).shape[0] > 0.5 * len(rows))


def _alone(repeated: npt.NDArray[np.bool_]) -> float:
    """Share of sorted keys that equal neither neighbour."""
    beside = np.concatenate([[False], repeated, [False]])
    return float((~(beside[1:] | beside[:-1])).mean())
