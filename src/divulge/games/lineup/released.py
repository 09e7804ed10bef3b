"""Paired versions: several texts of a document, one of which was released by a fair draw.

A column per version, and a column that names the one that was released, and trained on. The
versions of one row are its candidates: nothing is drawn anew, and K is their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from divulge.attacks.observe import Question
from divulge.data import tables
from divulge.data.tables import Frame
from divulge.drawn.recipes import LEVEL
from divulge.drawn.scored import Asking, score_rows
from divulge.errors import InputError, require
from divulge.games.ranked import own_first
from divulge.models import hub
from divulge.text.visible import one_line
from divulge.types import Array, Index, Progress

RELEASED = (
    "which of its versions was released was drawn for every document alone, each version as "
    "likely, and only that one was trained on"
)
_TEXT = "text"


def which(frame: Frame, truth: str, names: Sequence[str], where: str) -> Index:
    """The place among the versions of the one that each row names as released."""
    tables.require_columns(frame, [truth], where)
    place = {name: k for k, name in enumerate(names)}
    cells = frame[truth].to_list()
    bad = next((row for row, cell in enumerate(cells) if cell not in place), None)
    if bad is not None:
        raise InputError(
            f"Column {truth!r} of {where} must name the column of the version that was released: "
            f"one of {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}. Found "
            f"{one_line(str(cells[bad]))[:80]!r} in row {bad}."
        )
    return np.array([place[cell] for cell in cells], dtype=np.intp)


def doubts(value: Index, names: Sequence[str]) -> tuple[str, ...]:
    """A column that is released much too often, or too rarely, for a fair draw."""
    from scipy.stats import binom

    counts = np.bincount(value, minlength=len(names))
    chance = 1.0 / len(names)
    tails = np.minimum(
        binom.cdf(counts, value.size, chance), binom.sf(counts - 1, value.size, chance)
    )
    worst = int(np.argmin(tails))
    if 2.0 * tails[worst] * len(names) >= LEVEL:
        return ()
    return (
        f"{names[worst]} is the released version in {counts[worst]} of {value.size} rows, where a "
        f"fair draw would have it in about {value.size * chance:.4g}",
    )


def score_released(
    frame: Frame,
    versions: Sequence[str],
    truth: str | None,
    model: Any,
    asking: Asking,
    where: str,
    progress: Progress | None = None,
) -> tuple[Array, Index, list[str]]:
    """A score per row and version, the released one first; its place, and the columns' names."""
    names = tables.expand(frame, list(versions), where)
    require(len(names) >= 2, "A line-up needs at least 2 versions of every text.")
    require(truth is not None, "Which version was released? Name the column that says so as truth.")
    assert truth is not None
    value = which(frame, truth, names, where)
    columns = [hub.texts(frame.select(name), "a line-up") for name in names]
    rows = list(zip(*columns, strict=True))
    for row, own in enumerate(rows):
        if len(set(own)) < len(own):
            raise InputError(
                f"Two versions in row {row} of {where} are equal. Leave out every row in which any "
                "two are, whichever of them was released."
            )
    count = len(names)
    # By their content: where a version stands in a batch changes the last bits of its score.
    order = [sorted(range(count), key=own.__getitem__) for own in rows]
    shown = pa.table({_TEXT: [own[k] for own, by in zip(rows, order, strict=True) for k in by]})
    tell = None if progress is None else (lambda done, of: progress("scores", done, of))
    each = score_rows(
        Question(model, text=_TEXT), _TEXT, (shown, None), asking, lambda at: at // count, tell
    )
    matrix = np.empty((len(rows), count))
    np.put_along_axis(matrix, np.array(order), each.reshape(len(rows), count), axis=1)
    return own_first(matrix, value), value, names
