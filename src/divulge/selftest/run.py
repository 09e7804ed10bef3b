"""Run the cases many times, compute the checks once, and judge what was seen.

A row of games fails if so many false claims would be very improbable, were the claimed error true.
A row that merely looks bad is played on: eight times as many new games decide, so that 8% is told
from 5% without playing every row so often. Rows of one family are also judged together
(``pooled.py``). All of it together convicts sound bounds with a probability of at most 0.001.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np

from divulge.errors import require, require_probability, require_seed
from divulge.selftest.case import Case, Check, require_different
from divulge.selftest.games import Computation, Games, false_claims, parts, wanted
from divulge.selftest.pooled import pooled
from divulge.selftest.readings import Task, done, inputs, together, told
from divulge.selftest.row import Row, checked, played, surprise
from divulge.types import Array
from divulge.work import Engine
from divulge.work.pieces import Pieces

ERROR = 0.05
REPETITIONS, QUICK_REPETITIONS = 2000, 200
FAMILY_ERROR = 0.001
"""Probability that a self-test of sound bounds reports any failure at all, at most."""
DOUBT = 0.05
"""Rows whose false claims would be less probable than this are played on."""
AGAIN = 8
"""How many times as many games these rows get."""


def run(
    chosen: Sequence[Case | Check],
    *,
    repetitions: int = REPETITIONS,
    error: float = ERROR,
    seed: int = 0,
    among: int | None = None,
    n_jobs: int = 1,
    backend: str = "loky",
    address: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """One row per case, then one for each family of several; the same seed gives the same rows.

    That holds whatever n_jobs and the other cases are; only the level at which a row fails depends
    on their number (or on ``among``, the number of rows that share it). Where the truth is infinite
    no claim is false: such a row shows power only, and its verdict says so. ``n_jobs``, ``backend``
    and ``address`` say who plays (``divulge.work.Engine``); finished games are kept in the folder
    ``cache``, named by the label of the case and by divulge's source.
    """
    engine = Engine(backend, n_jobs, address)
    require(len(chosen) > 0, "No case matches. `divulge selftest --list` shows their names.")
    require_different(chosen)
    require(repetitions >= 1, f"repetitions must be at least 1. Found {repetitions}.")
    require_probability("error", error)
    require_seed(seed)
    keep = Pieces.at(cache).tasks("selftest", inputs)

    def play(dealt: Sequence[Games], computed: Sequence[Computation] = ()) -> list[Array]:
        """The claims of every row; nothing for those that are left out."""
        tasks: list[Task] = [*computed, *together(dealt)]
        results = engine.run(done, tasks, keep=keep, progress=progress) if tasks else iter(())
        found: dict[str, list[Array]] = {case.label: [np.zeros(0)] for case in chosen}
        for task, result in zip(tasks, results, strict=True):
            for case, claims in told(task, result["claims"]):
                found[case.label].append(claims)
        return [np.concatenate(found[case.label]) for case in chosen]

    counts = [1 if isinstance(c, Check) else wanted(c, repetitions) for c in chosen]
    first = play(
        [
            part
            for case, count in zip(chosen, counts, strict=True)
            if isinstance(case, Case)
            for part in parts(case, error, seed, 0, count)
        ],
        [Computation(case, error) for case in chosen if isinstance(case, Check)],
    )
    # Two tests for every row of games, and one for every family.
    level = FAMILY_ERROR / (3 * (among or len(chosen)))
    second = play(
        [
            part
            for case, count, claims in zip(chosen, counts, first, strict=True)
            if isinstance(case, Case) and level < _surprise(case, claims, error) < DOUBT
            for part in parts(case, error, seed, count, AGAIN * count)
        ]
    )
    rows = []
    for index, case in enumerate(chosen):
        if isinstance(case, Check):
            rows.append(checked(case, first[index], error))
            continue
        doubts = min(_surprise(case, claims, error) for claims in (first[index], second[index]))
        claims = np.concatenate([first[index], second[index]])
        rows.append(
            played(case, claims, false_claims(case, claims), error, min(doubts, 1.0) > level)
        )
    seen = {
        index: (first[index].size, false_claims(case, first[index]))
        for index, case in enumerate(chosen)
        if isinstance(case, Case) and np.isfinite(case.truth)
    }
    return rows + pooled(chosen, seen, error, level)


def _surprise(case: Case, claims: Array, error: float) -> float:
    """The probability of so many false claims, were each of them made with the claimed error."""
    return surprise(false_claims(case, claims), claims.size, error)
