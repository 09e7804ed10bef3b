"""Games for a ledger: as many as there is time for, those rows first that are completed soonest.

A row that looks bad plays on, one that is convicted stops; looking costs nothing (``wealth.py``).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from divulge.errors import require, require_probability, require_seed
from divulge.selftest import ledger, uses
from divulge.selftest.case import Case, Check, require_different
from divulge.selftest.cases import cases
from divulge.selftest.games import Computation, Games, false_claims, parts, wanted
from divulge.selftest.ledger import Entry
from divulge.selftest.readings import Task, Together, done, game_of, inputs, together, told
from divulge.selftest.row import checked
from divulge.selftest.standing import Standing, convicting, standings
from divulge.selftest.wealth import log_wealth
from divulge.types import Array
from divulge.work import Engine
from divulge.work.versions import made

_MUCH = 1e12
AGAIN = 8
"""How many times as many games a doubtful row gets."""


def accumulate(
    folder: Path,
    chosen: Sequence[Case | Check],
    *,
    repetitions: int,
    error: float,
    seed: int = 0,
    minutes: float | None = None,
    engine: Engine | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Play what is missing of ``repetitions`` games of every chosen row, and keep it in a ledger.

    After so many ``minutes`` nothing new is begun. A kill loses the parts that were being played.
    """
    engine = engine or Engine()
    require(len(chosen) > 0, "No case matches. `divulge selftest --list` shows their names.")
    require_different(chosen)
    require(repetitions >= 1, f"repetitions must be at least 1. Found {repetitions}.")
    require(minutes is None or minutes > 0, f"minutes must be above 0. Found {minutes}.")
    require_probability("error", error)
    require_seed(seed)
    everything = {case.label: uses.digest(case) for case in cases()}
    codes = {case.label: uses.digest(case) for case in chosen}
    until = None if minutes is None else time.monotonic() + 60.0 * minutes
    failed: list[str] = []
    with ledger.writing(folder) as writer:
        for again in (1, AGAIN):
            known = standings(ledger.read(folder), chosen, error, codes)
            keep = _Keep(writer, codes, error, until, _played(known), len(everything))
            tasks = _tasks(known, repetitions, error, seed, again)
            for _ in engine.run(_timed, tasks, keep=keep, progress=progress) if tasks else ():
                pass
            failed += keep.failed
        ledger.compact(folder, {**codes, **everything})  # while nobody else may write
    if failed:
        raise RuntimeError(f"{len(failed)} parts of rows could not be played. {failed[0]}")


def _played(known: Sequence[Standing]) -> dict[str, tuple[int, int]]:
    return {s.case.label: (s.false, s.games) for s in known}


def _tasks(
    known: Sequence[Standing], repetitions: int, error: float, seed: int, again: int
) -> list[Task]:
    """What is missing: a first part of every row, then whole rows, those first that take least.

    What a row takes is known from its games; one that had none waits, after its first part, to
    the end. However short a run is, as many rows as possible have all their games when it ends.
    """
    checks = [
        Computation(r.case, error) for r in known if isinstance(r.case, Check) and not r.games
    ]
    waiting: list[tuple[tuple[float, ...], Games]] = []
    places: dict[Hashable, int] = {}
    for row in known:
        if isinstance(row.case, Check):
            continue
        place = places.setdefault(game_of(row.case), len(places))
        if again > 1 and not row.plays_on:
            continue
        missing = again * wanted(row.case, repetitions) - row.games
        before = row.games or row.stale
        cost = missing * row.seconds / before if before else math.inf
        runs = row.unplayed(seed, missing)
        found = [part for start, size in runs for part in parts(row.case, error, seed, start, size)]
        for number, part in enumerate(found):
            first = number == 0 and not row.games
            waiting.append(((0.0,) if first else (1.0, cost, place), part))
    dealt = [part for _, part in sorted(waiting, key=lambda pair: pair[0])]
    return [*checks, *together(dealt)]


def _timed(task: Task) -> dict[str, Any]:
    """The part and what it took; or why it failed, which must not end a night of other rows."""
    began = time.process_time()
    try:
        found = done(task)
    except Exception as error:  # told when all others have been played
        return {"failed": f"{inputs(task)}: {type(error).__name__}: {error}"}
    return {**found, "seconds": np.array(time.process_time() - began)}


@dataclass
class _Keep:
    """Tells the ledger what arrives, and lets nothing begin after the end or a conviction."""

    writer: ledger.Writer
    codes: dict[str, str]
    error: float
    until: float | None
    seen: dict[str, tuple[int, int]]
    rows: int
    made: str = field(default_factory=made)
    failed: list[str] = field(default_factory=list)
    """Parts that could not be played, and why."""

    def find(self, task: Task) -> dict[str, Any] | None:
        """Nothing was kept; but what shall not be played any more has come to nothing."""
        over = self.until is not None and time.monotonic() > self.until
        rows = task.cases if isinstance(task, Together) else (task.case,)
        return {} if over or all(map(self._hopeless, rows)) else None

    def _hopeless(self, case: Case | Check) -> bool:
        """Whether a row of games is convicted already."""
        false, games = self.seen[case.label]
        convicted = log_wealth(false, games, self.error) >= convicting(self.rows)
        return isinstance(case, Case) and convicted

    def store(self, task: Task, result: dict[str, Any]) -> dict[str, Any]:
        """An entry for each row; rows that share a game share its time."""
        if "failed" in result:
            self.failed.append(str(result["failed"]))
            return {}
        own = told(task, np.asarray(result["claims"], dtype=float))
        for case, claims in own:
            self._enter(task, case, claims, float(result["seconds"]) / len(own))
        return {}

    def _enter(self, task: Task, case: Case | Check, claims: Array, seconds: float) -> None:
        label = case.label
        entry = Entry(
            row=label,
            code=self.codes[label],
            error=self.error,
            seed=0,
            first=0,
            games=claims.size,
            false=0,
            excess=0.0,
            total=0.0,
            seconds=seconds,
            made=self.made,
        )
        if isinstance(case, Case) and not isinstance(task, Computation):
            false = false_claims(case, claims)
            before, games = self.seen[label]
            self.seen[label] = (before + false, games + claims.size)
            above = np.maximum(claims - min(case.truth, _MUCH), 0.0)
            entry = replace(
                entry,
                seed=task.seed,
                first=task.start,
                false=false,
                excess=_told(above.max()),
                total=_told(claims.sum()),
            )
        elif isinstance(case, Check):
            row = checked(case, claims, self.error)
            assert row.exact is not None
            highest, lowest = _told(row.exact.highest), _told(row.exact.lowest)
            entry = replace(entry, false=int(not row.holds), excess=highest, total=lowest)
        self.writer.append(entry)


def _told(value: float) -> float:
    """A number that JSON can hold; what is none is very large."""
    return float(np.nan_to_num(value, nan=_MUCH, posinf=_MUCH, neginf=-_MUCH))
