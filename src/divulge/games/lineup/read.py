"""Line-ups from a table: wide, long, or with a column of lists.

*Wide*: a row per training record, a column of scores per candidate. *Lists*: one column whose rows
hold the scores of all candidates, the true value's first. *Long*: a row per candidate, with the id
of its line-up and whether it is the true one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from divulge.attacks.scoring import direction
from divulge.data import content, tables
from divulge.data.given import read_table
from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.games.lineup import grouped, released
from divulge.games.ranked import LineUps, own_first
from divulge.types import Array, Index

WHERE = "the table"
WIDE, LONG = "s_*", "score"
"""Score columns where none are named: of a wide table, and of any other."""
TRUE = "true"
"""The column of a long table that says which candidate is the true one."""
OWN = "_0"
"""How the column with the true value's scores ends."""


def read(
    data: Any,
    *,
    truth: str | None,
    score: str | Sequence[str] | None,
    lower_is_member: bool | None,
    value: str | None,
    unit: str | None,
    copies: str | None,
    id: str | None,
    seed: int,
) -> LineUps:
    """The line-ups of a table; every error says what is wrong and in which row."""
    given = read_table(WHERE, data)
    frame = given.frame
    named = [c for c in (value, unit, copies, id) if c is not None]
    tables.require_columns(frame, named, WHERE)
    require(
        (value is None and unit is None) or copies is None,
        "Give unit or value, by which records that share a draw are counted, or copies, which says "
        "how often each value stands in the training data; not both.",
    )
    names = _score_names(frame, score)
    for name in (*named, *(() if truth is None else (truth,))):
        if name in names and name != truth:
            raise InputError(f"Column {name!r} cannot be a score as well.")
    own = TRUE if truth is None else truth
    nested = len(names) == 1 and _nested(frame, names[0])
    assumptions: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    if truth is not None and _names_columns(frame, truth, names):
        place = released.which(frame, truth, names, WHERE)
        columns = [tables.numbers(frame, name, WHERE) for name in names]
        matrix = own_first(np.column_stack(columns), place)
        first = np.arange(len(frame))
        assumptions, doubts = (released.RELEASED,), released.doubts(place, names)
    elif not nested and own in frame.columns and own not in names:
        matrix, first = _long(frame, names, own, id, value, unit)
    else:
        matrix = _lists(frame, names[0]) if nested else _wide(frame, names, truth)
        first = np.arange(len(frame))
    signs = [direction(name, lower_is_member) for name in names]
    matrix = matrix * (np.array(signs) if matrix.ndim == 3 else signs[0])
    long = own in frame.columns and own not in names
    groups = grouped.groups(frame, value, unit, first, WHERE, long=long)
    number = np.ones(len(matrix), dtype=np.intp)
    if copies is not None:
        number = copies_of(frame, copies, WHERE)[first]
    matrix, order = _by_content(matrix, number, groups)
    number, first = number[order], first[order]
    if groups is not None:
        if unit is None and np.unique(groups).size < groups.size:
            assumptions = (*assumptions, grouped.EQUAL_BY_DESIGN)
        rng = content.generator(seed, matrix)
        chosen, number = grouped.one_of_each(groups[order], rng)
        matrix, first = matrix[chosen], first[chosen]
    return LineUps(
        score=matrix,
        copies=number,
        ids=pa.array(first) if id is None else names_of_rows(frame, id, first, WHERE),
        names=tuple(names),
        inputs=(given.fingerprint(),),
        records=len(order),
        assumptions=assumptions,
        doubts=doubts,
    )


def _score_names(frame: Frame, score: str | Sequence[str] | None) -> list[str]:
    if score is not None:
        patterns = [score] if isinstance(score, str) else list(score)
        require(len(patterns) > 0, "Name at least one score column.")
        return tables.expand(frame, patterns, WHERE)
    if LONG in frame.columns:
        return [LONG]
    if not any(c.startswith(WIDE[:-1]) for c in frame.columns):
        raise InputError(
            f"{WHERE} has neither columns {WIDE} (a row per record, {WIDE[:-2]}{OWN} the true "
            f"value's) nor a column {LONG!r}. Name the score columns."
        )
    return tables.expand(frame, [WIDE], WHERE)


def _wide(frame: Frame, names: list[str], truth: str | None) -> Array:
    """A column per candidate; the true value's is named, or ends in _0."""
    require(
        len(names) >= 2,
        f"A line-up needs at least 2 candidates. {WHERE} has one column of scores, {names[0]!r}, "
        f"and no column {TRUE!r} that says which row is the true value's.",
    )
    ends = [name for name in names if name.endswith(OWN)]
    if truth is None and len(ends) != 1:
        raise InputError(
            f"Which column holds the scores of the true values? {len(ends)} of the score columns "
            f"end in {OWN!r}. Name it as truth."
        )
    own = ends[0] if truth is None else truth
    if own not in names:
        raise InputError(f"The column of the true values, {own!r}, is not among the scores.")
    ordered = [own, *(name for name in names if name != own)]
    return np.column_stack([tables.numbers(frame, name, WHERE) for name in ordered])


def _names_columns(frame: Frame, truth: str, names: list[str]) -> bool:
    """Whether a column's cells say which of several columns of scores is the true value's."""
    if len(names) < 2 or truth in names or truth not in frame.columns:
        return False
    return any(cell in names for cell in frame[truth].to_list())


def _nested(frame: Frame, name: str) -> bool:
    """Whether a column holds lists; pandas keeps them as objects."""
    if not frame[name].dtype.is_nested() and frame[name].dtype != nw.Object:
        return False
    try:
        return bool(pa.types.is_nested(frame[name].to_arrow().type))
    except (pa.ArrowException, TypeError):
        return False


def _lists(frame: Frame, name: str) -> Array:
    matrix = tables.lists(frame, name, WHERE)
    require(
        matrix.shape[1] >= 2,
        f"A line-up needs at least 2 candidates. The lists in {name!r} hold one score.",
    )
    return matrix


def _long(
    frame: Frame,
    names: list[str],
    truth: str,
    id: str | None,
    value: str | None,
    unit: str | None,
) -> tuple[Array, Index]:
    """A row per candidate: the scores by line-up, and the row of each true value."""
    if id is None:
        raise InputError(
            f"Column {truth!r} says which candidates are true: name the column that says which "
            "rows are one line-up as id."
        )
    missing = frame[id].is_null().to_numpy()
    if missing.any():
        raise InputError(f"Column {id!r} of {WHERE} has no value in row {int(missing.argmax())}.")
    true = tables.truths(frame, truth, WHERE) > 0
    levels, codes = tables.levels(frame[id])
    used, codes = np.unique(codes, return_inverse=True)
    sizes = np.bincount(codes)
    usual = int(np.bincount(sizes).argmax())
    for wrong, words in (
        (sizes != usual, f"has {{}} candidates where others have {usual}"),
        (np.bincount(codes, true) != 1.0, "must have one true candidate. It has {}"),
    ):
        if wrong.any():
            at = int(np.argmax(wrong))
            found = sizes[at] if "where" in words else int(np.bincount(codes, true)[at])
            row = int(np.argmax(codes == at))
            raise InputError(
                f"The line-up {levels[used[at]]!r} of {WHERE} (row {row}) {words.format(found)}."
            )
    require(usual >= 2, "A line-up needs at least 2 candidates. These have one each.")
    columns = [tables.numbers(frame, name, WHERE) for name in names]
    order = np.lexsort((~true, codes)).reshape(-1, usual)
    if value is not None:
        keys = grouped.keys_of(frame, value, WHERE)[order]
        _refuse_equal(keys, order, levels, used, value)
        if unit is None:
            grouped.refuse_chance(keys, order, value)
    matrix = np.stack([column[order] for column in columns], axis=2)
    return (matrix[:, :, 0] if len(names) == 1 else matrix), order[:, 0]


def _refuse_equal(
    keys: npt.NDArray[Any], order: Index, levels: Sequence[Any], used: Index, value: str
) -> None:
    """Equal candidates: their line-up is void, whichever of them is the true one."""
    inside = np.sort(keys, axis=1)
    equal = (inside[:, 1:] == inside[:, :-1]).any(axis=1)
    if equal.any():
        at = int(np.argmax(equal))
        own = int((keys[at, 1:] == keys[at, 0]).any())
        which = "an alternative equals the true value" if own else "two alternatives are equal"
        raise InputError(
            f"Line-up {levels[used[at]]!r} (row {int(order[at].min())}): {which} in column "
            f"{value!r}. Leave out every line-up in which any two candidates are equal, whichever "
            "of them is the true one."
        )


def copies_of(frame: Frame, name: str, where: str) -> Index:
    """In how many training records each value stands."""
    tables.require_columns(frame, [name], where)
    number = tables.numbers(frame, name, where)
    bad = (number < 1.0) | (number != np.floor(number)) | (number > 1e9)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"Column {name!r} of {where} must hold whole numbers of at least 1: in how many "
            f"training records the value stands. Found {number[row]:g} in row {row}."
        )
    return number.astype(np.intp)


def _by_content(
    matrix: Array, copies: Index, groups: npt.NDArray[Any] | None
) -> tuple[Array, Index]:
    """Alternatives, then line-ups, in an order that follows from the numbers alone."""
    wide = matrix if matrix.ndim == 3 else matrix[:, :, None]
    places = np.lexsort(np.moveaxis(wide[:, 1:], 2, 0)[::-1], axis=1) + 1
    places = np.concatenate([np.zeros((len(wide), 1), dtype=np.intp), places], axis=1)
    wide = np.take_along_axis(wide, places[:, :, None], axis=1)
    flat = wide.reshape(len(wide), -1)
    last = [copies] if groups is None else [copies, groups]
    sets = np.sort(wide[:, :, 0], axis=1)  # first by what does not tell the true one
    order = np.lexsort((*last, *flat.T[::-1], *sets.T[::-1]))
    return wide[order].reshape(len(order), *matrix.shape[1:]), order


def names_of_rows(frame: Frame, id: str, rows: Index, where: str) -> Any:
    """The cells of the column that names line-ups, as Arrow."""
    tables.require_columns(frame, [id], where)
    column = frame[id].to_arrow()
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole.take(pa.array(rows))
