"""Are the generated records new, and have they the form of the members?

A generated record that equals a member is a member: counted as a non-member it would make an attack
look worse than it is. Records of another form are recognised by their form, and the baseline of
PANORAMIA (002, section 4.2) would say nothing about the generator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge.data.tables import Frame, filled, require_columns
from divulge.errors import InputError, require
from divulge.generators.encoding import as_arrow
from divulge.types import Index

SHOWN = 5


def exact_copies(members: Frame, generated: Frame, columns: Sequence[str] | None = None) -> Index:
    """Rows of ``generated`` that equal some member in every column; missing equals missing.

    Columns are those that both tables have, unless named. Exact: no tolerance and no collisions.
    """
    names = [c for c in members.columns if c in generated.columns] if columns is None else columns
    require(len(names) > 0, "The members and the generated records have no column in common.")
    require_columns(members, names, "the members")
    require_columns(generated, names, "the generated records")
    members, generated = as_arrow(members), as_arrow(generated, "the generated records")
    first = len(members)
    key = np.zeros(first + len(generated), dtype=np.int64)
    for name in names:
        codes = _codes(members[name], generated[name])
        key = np.unique(key * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
    return np.flatnonzero(np.isin(key[first:], key[:first]))


def _codes(first: Any, second: Any) -> npt.NDArray[np.int64]:
    """Equal numbers for equal values of two columns of one kind; 0 for missing."""
    if kind_of(first.dtype) != kind_of(second.dtype):
        raise InputError(
            f"Column {first.name!r} holds {first.dtype} among the members and {second.dtype} among "
            "the generated records."
        )
    kind = kind_of(first.dtype)
    if kind == "numbers" and not (first.dtype.is_integer() and second.dtype.is_integer()):
        both = [filled(s) for s in (first, second)]
        values = np.concatenate(both)
        known = ~np.isnan(values)
        out = np.zeros(values.size, dtype=np.int64)
        out[known] = np.unique(values[known], return_inverse=True)[1] + 1
        return out
    known_values: dict[Any, int] = {}
    listed = [*first.to_list(), *second.to_list()]
    hashable = map(_hashable, listed)
    return np.array(
        [0 if v is None or v != v else known_values.setdefault(v, len(known_values) + 1)
         for v in hashable],
        dtype=np.int64,
    )  # fmt: skip


def kind_of(dtype: nw.dtypes.DType) -> str:
    """Numbers, truth values, times, lists or words: what a column of another kind differs in."""
    if dtype.is_numeric():
        return "numbers"
    if dtype == nw.Boolean:
        return "truth values"
    if dtype.is_temporal():
        return "times"
    if isinstance(dtype, nw.List | nw.Array):
        return "lists"
    return "words"


def same_schema(members: Frame, generated: Frame) -> list[str]:
    """InputError if a column is missing or of another kind; else what is odd, as sentences.

    Odd are columns that members do not have, words that no member has, fractions where members
    have whole numbers, and missing values on one side only.
    """
    members, generated = as_arrow(members), as_arrow(generated, "the generated records")
    missing = [c for c in members.columns if c not in generated.columns]
    extra = [c for c in generated.columns if c not in members.columns]
    shared = [c for c in members.columns if c in generated.columns]
    other = [
        f"{c!r} ({kind_of(members.schema[c])} among the members, "
        f"{kind_of(generated.schema[c])} among the generated records)"
        for c in shared
        if kind_of(members.schema[c]) != kind_of(generated.schema[c])
    ]
    problems = []
    if missing:
        problems.append(f"lack {_listed(missing)}")
    if other:
        problems.append(f"have columns of another kind: {', '.join(other)}")
    if problems:
        hint = f" They also have {_listed(extra)}, which no member has." if extra else ""
        raise InputError(
            f"The generated records {' and '.join(problems)}.{hint} Both tables need the same "
            "columns."
        )
    found = [f"Only the generated records have {_listed(extra)}: not used."] if extra else []
    for name in shared:
        found.extend(_oddities(name, members[name], generated[name]))
    return found


def _oddities(name: str, first: Any, second: Any) -> list[str]:
    found = []
    kind = kind_of(first.dtype)
    if kind == "words":
        known = {v for v in first.to_list() if v is not None}
        unseen = sorted({str(v) for v in second.to_list() if v is not None and v not in known})
        if unseen:
            found.append(
                f"Column {name!r}: {len(unseen)} values of generated records that no member has, "
                f"such as {unseen[0]!r}."
            )
    if kind == "numbers" and _whole(first) and not _whole(second):
        found.append(f"Column {name!r}: whole numbers among the members, fractions generated.")
    gaps = [_missing(s) for s in (first, second)]
    if (gaps[0] == 0) != (gaps[1] == 0):
        with_gaps, share = ("members", gaps[0]) if gaps[0] else ("generated records", gaps[1])
        found.append(f"Column {name!r}: values are missing among the {with_gaps} only ({share:,}).")
    return found


def _hashable(value: Any) -> Any:
    """Lists, also of lists, and records as tuples; anything else as it is."""
    if isinstance(value, dict):
        return tuple((k, _hashable(v)) for k, v in value.items())
    if isinstance(value, list | tuple | np.ndarray):
        return tuple(_hashable(v) for v in value)
    return value


def _whole(column: Any) -> bool:
    if column.dtype.is_integer():
        return True
    values = filled(column)
    values = values[np.isfinite(values)]
    return bool(np.all(values == np.rint(values)))


def _missing(column: Any) -> int:
    count = int(column.null_count())
    if column.dtype.is_float():
        values = np.asarray(column.to_numpy(), dtype=float)
        count = max(count, int(np.isnan(values).sum()))
    return count


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(n) for n in names[:SHOWN])
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{'the column' if len(names) == 1 else 'the columns'} {shown}{more}"
