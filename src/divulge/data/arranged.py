"""Rows in the order of their content, whatever order they came in.

Games draw at random from tables, by a generator that is seeded: the draw is then a function of the
seed and of the order of the rows. So every game first arranges its rows by their content
(``content.keys``). Shuffling a table, cutting it into files or storing it in another format changes
nothing, and is no second draw that no seed records.

This leaves every draw as valid as it was. Arranging is done before the first coin, and a draw is
valid for a table in any fixed order: coins are independent of everything, and a shuffle of a pool
is uniform whatever its order was. The keys need not be random for that, and may depend on any
value, on scores and truths too. Rows with equal keys are equal: their mutual order plays no part.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge.data import content
from divulge.data.tables import Frame
from divulge.errors import InputError

Rows = npt.NDArray[np.integer[Any]]


def order_of(
    frame: Frame,
    columns: Collection[str],
    last: npt.NDArray[Any] | None = None,
    also: Collection[str] = (),
    words: Mapping[str, str] | None = None,
) -> Rows:
    """The rows by the content of these columns; among equals by ``last``, then by ``also``.

    A column among ``also`` matters to equal rows only: it may be a number that follows the order.
    ``words`` stand for names of columns, where these are not to matter.
    """
    first = content.keys(frame, columns, words)
    order = np.argsort(first)  # a sort by two keys is slower: only ties need the others
    found = first[order]
    tied = np.zeros(order.size, dtype=bool)
    tied[1:] = found[1:] == found[:-1]
    tied[:-1] |= tied[1:]
    if tied.any() and (also or last is not None):
        some = order[tied]
        by = [content.keys(arranged(frame, some), also, words)] if also else []
        by += [] if last is None else [last[some]]
        order[tied] = some[np.lexsort((*by, first[some]))]
    return order


def arranged(frame: Frame, order: Rows) -> Frame:
    """The rows of a table in another order."""
    return nw.maybe_reset_index(frame[order])


@contextmanager
def rows_named(rows: Rows, others: Mapping[str, Rows] | None = None) -> Iterator[None]:
    """Errors about a row of an arranged table say which row of the table given it is.

    ``others`` are further tables, by the words that name them in an error.
    """
    try:
        yield
    except InputError as error:
        message = str(error)
        found = next((r for words, r in (others or {}).items() if words in message), rows)

        def given(match: re.Match[str]) -> str:
            at = int(match[2])
            return f"{match[1]} {int(found[at])}" if at < len(found) else match[0]

        raise type(error)(re.sub(r"\b([Rr]ow) (\d+)\b", given, message)) from error.__cause__
