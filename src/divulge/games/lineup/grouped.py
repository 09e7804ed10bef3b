"""Which line-ups are about one draw: those of a unit, or those whose true values are equal.

A draw that stands in several training records is one trial. Equal values are one draw only if none
is equal by chance: to count chance repeats once would thin out the popular values among the true
ones alone, and a model that merely knows what is popular would tell them from the alternatives.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.data import content
from divulge.data.tables import Frame
from divulge.errors import InputError
from divulge.types import Index

Keys = npt.NDArray[Any]

EQUAL_BY_DESIGN = "equal values are one draw in several records: none are equal by chance"
PER_PAIR = 1000.0
"""Values there must be for every pair of records, for equal ones to be no chance."""
_NAME_THE_UNIT = (
    "To count equal values as one draw would thin out the popular ones among the true values "
    "alone. Name the column that says what a draw was made for as unit, or leave out value if "
    "every record had a draw of its own."
)


def keys_of(frame: Frame, column: str, where: str) -> Keys:
    """One number per row; InputError for a row without a value."""
    missing = frame[column].is_null().to_numpy()
    if missing.any():
        raise InputError(
            f"Column {column!r} of {where} has no value in row {int(missing.argmax())}."
        )
    return content.keys(frame, [column])


def groups(
    frame: Frame, value: str | None, unit: str | None, first: Index, where: str, *, long: bool
) -> Keys | None:
    """A number per line-up, the same where they share a draw; None: every one has its own.

    ``first`` are the rows of the true values. Of a ``long`` table the alternatives' values are
    known and were looked at (``refuse_chance``); otherwise the true ones must look drawn from so
    many that chance repeats none.
    """
    if unit is not None:
        units = keys_of(frame, unit, where)[first]
        if value is not None:
            _require_one_value(units, keys_of(frame, value, where)[first], first, unit)
        return units
    if value is None:
        return None
    values = keys_of(frame, value, where)[first]
    if long or np.unique(values).size == values.size:
        return values
    if not scattered([str(v) for v in dict.fromkeys(frame[value].to_list())], values.size):
        raise InputError(
            f"Values of column {value!r} repeat, and do not look drawn at random from so many that "
            f"no two are equal by chance. {_NAME_THE_UNIT}"
        )
    return values


def refuse_chance(keys: Keys, order: Index, value: str) -> None:
    """InputError where true values repeat and alternatives of different draws are equal, too.

    A row of ``keys`` per line-up, the true value first.
    """
    own, others = keys[:, 0], keys[:, 1:]
    if np.unique(own).size == own.size:
        return
    pairs = np.unique(np.stack([others.ravel(), np.repeat(own, others.shape[1])], axis=1), axis=0)
    alone, draws = np.unique(pairs[:, 0], return_counts=True)
    chance = np.concatenate([alone[draws > 1], np.intersect1d(alone, own)])
    if chance.size:
        row = int(np.argmax(np.isin(others, chance).any(axis=1)))
        raise InputError(
            f"True values repeat, and so do alternatives: one in row {int(order[row].min())} of "
            f"column {value!r} stands in another line-up too. {_NAME_THE_UNIT}"
        )


def scattered(values: Sequence[str], records: int) -> bool:
    """Whether equal values are improbable, if the characters of a text are drawn one by one.

    A place counts for one over the probability that two values have the same character there.
    """
    length = len(values[0])
    if any(len(v) != length for v in values):
        return False
    room = 0.0
    for k in range(length):
        counts = np.array(list(Counter(v[k] for v in values).values()), dtype=float)
        room -= math.log(float(np.sum((counts / counts.sum()) ** 2)))
    return room >= math.log(PER_PAIR) + 2.0 * math.log(records)


def one_of_each(groups: Keys, rng: np.random.Generator) -> tuple[Index, Index]:
    """One line-up for each draw, by the seed, and in how many records the value stands.

    Only one may speak: alternatives are drawn anew for every record, and a sum over records would
    tell the value that is the same in all from those that are not.
    """
    drawn = rng.permutation(len(groups))
    _, first, number = np.unique(groups[drawn], return_index=True, return_counts=True)
    chosen = drawn[first]
    order = np.argsort(chosen)
    return chosen[order], number[order].astype(np.intp)


def _require_one_value(units: Keys, values: Keys, first: Index, unit: str) -> None:
    _, at, code = np.unique(units, return_index=True, return_inverse=True)
    wrong = values != values[at][code]
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"Rows {int(first[at[code[row]]])} and {int(first[row])} are one {unit!r}, but hold "
            "different values."
        )
