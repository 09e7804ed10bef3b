"""Which columns of the records go into a table of scores? Those that the next step reads.

An audit of the scores needs to know who is a member, the label, and what the model was shown; one
of canaries their numbers. A name, an address or a key of a person is none of these.
"""

from __future__ import annotations

from collections.abc import Sequence

from divulge.attacks.observe import Question
from divulge.data import tables
from divulge.data.tables import Frame
from divulge.models.base import shown
from divulge.models.handed import open_model

MEMBER = "member"
CANARIES = ("row", "version", "canary")
"""Columns of the files of canaries that ``divulge canaries plan`` writes."""
_NAMED = 8
_INDEX = "__index_level_"
"""How pandas calls an index that has no name."""


def kept(
    question: Question, first: Frame, columns: Sequence[str] | None, keep: str | Sequence[str]
) -> list[str]:
    """Names of columns, in the table's order; ``columns`` instead of those that are needed."""
    further = tables.expand(first, [keep] if isinstance(keep, str) else list(keep), "the table")
    if columns is not None:
        named = tables.expand(first, list(columns), "the table")
        wanted = [*([MEMBER] if MEMBER in first.columns else []), *named, *further]
        return list(dict.fromkeys(wanted))
    model = open_model(question.target, "the model")
    read = shown(model, first, question.features, question.text, "the table").columns
    needed = {*read, question.label, question.text, *further, *CANARIES}
    return [c for c in first.columns if c in needed or c.strip().lower() in tables.NAMES_OF_TRUTHS]


def left_out(question: Question, first: Frame, kept: Sequence[str]) -> str | None:
    """What is said about the columns that were left out; None: nothing was that anybody misses."""
    told = {*kept, *question.shadow_columns}
    lost = [c for c in first.columns if c not in told and not c.startswith(_INDEX)]
    if not lost:
        return None
    more = len(lost) - _NAMED
    named = ", ".join(repr(c) for c in lost[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    return (
        f"The table of scores leaves out {named}. What an audit shall still see, such as a date on "
        "which members differ, or the id of canaries, is named with keep (--keep)."
    )
