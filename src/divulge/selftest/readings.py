"""Rows that look at one game: an audit states many bounds, and each of them has a row of its own.

The game is played once for all of them. Its generator is named by the seed, the game and k, so that
a row has the same games alone and in company. Claims of one game depend on each other: each row is
judged as ever, but a family must not count them as if they came from different games.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.result import Bound
from divulge.selftest.case import Case, Check
from divulge.selftest.games import Computation, Games
from divulge.types import Array

Claims = Mapping[Hashable, float]
"""What a game claims, by name; nothing at all if it could not conclude."""


@dataclass(frozen=True)
class Reading:
    """One of the claims of a game that several rows look at."""

    game: Callable[[float, np.random.Generator], Claims]
    key: Hashable

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        return self.read(self.game(error, rng))

    def read(self, claims: Claims) -> float:
        """The claim; a game that states others but not this one was asked for the wrong name."""
        return float(claims[self.key]) if claims else 0.0


@dataclass(frozen=True)
class Together:
    """The games ``start`` to ``start + size`` of some rows that read the same game."""

    cases: tuple[Case, ...]
    error: float
    seed: int
    start: int
    size: int

    def inputs(self) -> dict[str, Any]:
        """What names the part."""
        names = [[case.label, case.parameter, case.delta] for case in self.cases]
        return {"case": names, "error": self.error, "games": [self.seed, self.start, self.size]}

    def done(self) -> dict[str, Any]:
        """The claims of the games: a row for each case."""
        readings = [case.play for case in self.cases]
        game = readings[0].game  # type: ignore[attr-defined]
        entropy = [self.seed, zlib.crc32(repr(game).encode())]
        claims = np.empty((len(readings), self.size))
        for k in range(self.size):
            own = np.random.SeedSequence(entropy, spawn_key=(self.start + k,))
            found = game(self.error, np.random.default_rng(own))
            claims[:, k] = [reading.read(found) for reading in readings]  # type: ignore[attr-defined]
        return {"claims": claims}


def game_of(case: Case) -> Hashable:
    """What tells a row's games from those of other rows: rows that share them have the same."""
    return case.play.game if isinstance(case.play, Reading) else case.label


def together(parts: Iterable[Games]) -> list[Games | Together]:
    """The same parts, those of one game in one, where the first of them stood."""
    found: dict[Hashable, list[Games]] = {}
    for part in parts:
        place = part.error, part.seed, part.start, part.size
        found.setdefault((game_of(part.case), *place), []).append(part)
    return [_joined(same) for same in found.values()]


def _joined(same: list[Games]) -> Games | Together:
    one = same[0]
    if not isinstance(one.case.play, Reading):
        return one
    return Together(tuple(p.case for p in same), one.error, one.seed, one.start, one.size)


def layers(rows: Iterable[tuple[Case, tuple[int, int]]]) -> list[tuple[int, int]]:
    """Games and false claims of some rows, added up so that no sum has rows of one game.

    The first row of every game goes into the first sum, the second into the second, and so on.
    """
    seen: Counter[Hashable] = Counter()
    sums: list[tuple[int, int]] = []
    for case, (games, false) in rows:
        layer = seen[game_of(case)]
        seen[game_of(case)] += 1
        if layer == len(sums):
            sums.append((0, 0))
        sums[layer] = sums[layer][0] + games, sums[layer][1] + false
    return sums


Task = Games | Together | Computation
"""What a process does at a time."""


def inputs(task: Task) -> dict[str, Any]:
    """What names a part."""
    return task.inputs()


def done(task: Task) -> dict[str, Any]:
    """The part, done."""
    return task.done()


def told(task: Task, claims: Array) -> list[tuple[Case | Check, Array]]:
    """The claims of a part, for each of its rows."""
    if isinstance(task, Together):
        return list(zip(task.cases, claims, strict=True))
    return [(task.case, claims)]


def by_name(bounds: Iterable[Bound], *, correction: bool = False) -> dict[Hashable, float]:
    """The bounds of an audit by parameter and delta, and by correction; the largest of a name."""
    found: dict[Hashable, float] = {}
    for bound in bounds:
        key: Hashable = bound.parameter, bound.delta
        if correction:
            key = bound.correction, bound.parameter, bound.delta
        found[key] = max(bound.value, found.get(key, 0.0))
    return found
