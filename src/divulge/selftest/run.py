"""Run the cases many times, compute the checks once, and judge what was seen.

A row of games fails if so many false claims would be very improbable, were the claimed error true.
A row that merely looks bad is played on: eight times as many new games decide, so that 8% is told
from 5% without playing every row so often. Rows of one family are also judged together
(``pooled.py``). All of it together convicts sound bounds with a probability of at most 0.001.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.errors import require, require_probability, require_seed
from divulge.selftest.case import Case, Check
from divulge.selftest.pooled import pooled
from divulge.selftest.row import Row, checked, played, surprise
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
_PIECE = 50
_SLACK = 1e-9


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
    require(repetitions >= 1, f"repetitions must be at least 1. Found {repetitions}.")
    require_probability("error", error)
    require_seed(seed)
    keep = Pieces.at(cache).tasks("selftest", _inputs)
    tasks: list[_Games | _Computed] = []
    for index, case in enumerate(chosen):
        if isinstance(case, Check):
            tasks.append(_Computed(index, case, error))
        else:
            tasks += _games(index, case, error, seed, _count(case, repetitions), 0)
    first = _collected(tasks, engine.run(_done, tasks, keep=keep, progress=progress), len(chosen))
    # Two tests for every row of games, and one for every family.
    level = FAMILY_ERROR / (3 * (among or len(chosen)))
    doubtful = [
        task
        for index, case in enumerate(chosen)
        if isinstance(case, Case) and level < _surprise(case, first[index], error) < DOUBT
        for task in _games(index, case, error, seed, AGAIN * _count(case, repetitions), 1)
    ]
    results = engine.run(_done, doubtful, keep=keep, progress=progress) if doubtful else []
    second = _collected(doubtful, results, len(chosen))
    rows = []
    for index, case in enumerate(chosen):
        if isinstance(case, Check):
            rows.append(checked(case, first[index], error))
            continue
        doubts = min(_surprise(case, claims, error) for claims in (first[index], second[index]))
        claims = np.concatenate([first[index], second[index]])
        rows.append(played(case, claims, _false(case, claims), error, min(doubts, 1.0) > level))
    counts = {
        index: (first[index].size, _false(case, first[index]))
        for index, case in enumerate(chosen)
        if isinstance(case, Case) and np.isfinite(case.truth)
    }
    return rows + pooled(chosen, counts, error, level)


def _count(case: Case, repetitions: int) -> int:
    return max(1, round(case.share * repetitions))


def _games(
    index: int, case: Case, error: float, seed: int, count: int, look: int
) -> list[_Games | _Computed]:
    """The games of one look at a row, in pieces; the seeds of the second look are others."""
    piece = max(1, round(case.share * _PIECE))
    sizes = [min(piece, count - k) for k in range(0, count, piece)]
    entropy = [seed, zlib.crc32(case.label.encode()), *((look,) if look else ())]
    children = np.random.SeedSequence(entropy).spawn(len(sizes))
    return [
        _Games(index, case, error, child, size) for child, size in zip(children, sizes, strict=True)
    ]


def _collected(tasks: Sequence[_Games | _Computed], results: Any, rows: int) -> list[np.ndarray]:
    found: list[list[float]] = [[] for _ in range(rows)]
    for task, result in zip(tasks, results, strict=True):
        found[task.index].extend(result["claims"].tolist())
    return [np.array(values, dtype=float) for values in found]


@dataclass(frozen=True)
class _Games:
    """Some games of one case."""

    index: int
    case: Case
    error: float
    seed: np.random.SeedSequence
    size: int

    def inputs(self) -> dict[str, Any]:
        """What names the piece."""
        name = [self.case.label, self.case.parameter, self.case.delta]
        seed = [self.seed.entropy, self.seed.spawn_key]
        return {"case": name, "error": self.error, "seed": seed, "size": self.size}

    def done(self) -> dict[str, Any]:
        """The claims of the games."""
        rngs = [np.random.default_rng(child) for child in self.seed.spawn(self.size)]
        return {"claims": np.array([self.case.play(self.error, rng) for rng in rngs], dtype=float)}


@dataclass(frozen=True)
class _Computed:
    """One check."""

    index: int
    case: Check
    error: float

    def inputs(self) -> dict[str, Any]:
        """What names the piece."""
        return {"case": [self.case.label, "exact"], "error": self.error}

    def done(self) -> dict[str, Any]:
        """The values at the edges."""
        values = np.asarray(self.case.compute(self.error), dtype=float)
        return {"claims": np.atleast_1d(values)}


def _inputs(task: _Games | _Computed) -> dict[str, Any]:
    return task.inputs()


def _done(task: _Games | _Computed) -> dict[str, Any]:
    return task.done()


def _false(case: Case, claims: np.ndarray) -> int:
    return int(np.sum(claims > case.truth + _SLACK))


def _surprise(case: Case, claims: np.ndarray, error: float) -> float:
    """The probability of so many false claims, were each of them made with the claimed error."""
    return surprise(_false(case, claims), claims.size, error)
