"""The scores of canaries, joined to their plan by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from divulge.attacks import scoring
from divulge.data import tables
from divulge.data.tables import Frame
from divulge.errors import CannotConclude, InputError, require
from divulge.games.canaries import planning
from divulge.games.canaries.planning import Name, Plan
from divulge.games.canaries.planting import LineUpPlan
from divulge.trials import check_scores
from divulge.types import Array, Index

SCORES = "the scores"
_SHOWN = 5


@dataclass(frozen=True)
class Joined:
    """The scores of the canaries, in the order of the plan."""

    score: Array = field(repr=False)
    """One column per score; larger speaks for inclusion."""
    names: tuple[str, ...]
    others: int
    """Rows of the table that are no canaries."""


def join(
    made: Plan | LineUpPlan,
    frame: Frame,
    score: str | Sequence[str] | None,
    id: str | None,
    lower_is_member: bool | None,
    ignore_others: bool,
) -> Joined:
    """The scores in the order of the plan; every canary once, nothing unknown."""
    rows, others = order_by_plan(made, frame, id, ignore_others, SCORES)
    every, labels = scoring.scores(
        frame,
        score=score,
        model=None,
        label=None,
        features=(),
        lower_is_member=lower_is_member,
        where=SCORES,
    )
    columns = np.asarray(every[rows], dtype=np.float64)
    for j, label in enumerate(labels):
        check_scores(columns[:, j], f"Score {label!r} of {SCORES}")
        if np.ptp(columns[:, j]) == 0.0:
            raise CannotConclude(f"Score {label!r} of {SCORES} is the same for every canary.")
    key = made.key if id is None else id
    require(key not in labels, f"The id column {key!r} cannot be a score.")
    return Joined(columns, labels, others)


def order_by_plan(
    made: Plan | LineUpPlan, frame: Frame, id: str | None, ignore_others: bool, where: str
) -> tuple[Index, int]:
    """The row of every id of the plan, and how many rows are not of the plan."""
    key = made.key if id is None else id
    what = "canaries" if isinstance(made, Plan) else "versions"
    tables.require_columns(frame, [key], where)
    names = planning.names_of(frame, key, where)
    place = {name: row for row, name in enumerate(names)}
    missing = [name for name in made.ids if name not in place]
    if missing:
        every = "canary of the plan, included or not" if what == "canaries" else "version"
        raise InputError(
            f"{len(missing)} of {len(made.ids)} {what} have no score: no row of {where} has "
            f"{key!r} = {_some(missing)}. Score every {every}{_kinds(made, names)}."
        )
    wanted = set(made.ids)
    others = [name for name in names if name not in wanted]
    if others and not ignore_others:
        raise InputError(
            f"{len(others)} rows of {where} are not {what} of the plan: {key!r} = "
            f"{_some(others)}. Is it the right plan? If so, remove these rows or give "
            "--ignore-others."
        )
    return np.array([place[name] for name in made.ids], dtype=np.intp), len(others)


def _some(names: Sequence[Name]) -> str:
    more = ", ..." if len(names) > _SHOWN else ""
    return ", ".join(repr(n) for n in names[:_SHOWN]) + more


def _kinds(made: Plan | LineUpPlan, names: Sequence[Name]) -> str:
    """A hint where one side has numbers and the other text."""
    kinds = {isinstance(n, str) for n in made.ids}, {isinstance(n, str) for n in names}
    if kinds[0] == kinds[1]:
        return ""
    said = ["text" if kind == {True} else "numbers" for kind in kinds]
    return f" (the plan's ids are {said[0]}, those of the scores {said[1]})"
