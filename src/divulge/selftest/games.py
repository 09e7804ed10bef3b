"""What is played or computed for a row, a part at a time; any process can do any part.

Game number k of a row has a generator of its own, named by the seed, the row and k: the same game
whoever plays it, in whatever company.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.selftest.case import Case, Check
from divulge.types import Array

PIECE = 50
"""Games in one part of a row that is played in full; slow rows have fewer."""
_SLACK = 1e-9


@dataclass(frozen=True)
class Games:
    """The games ``start`` to ``start + size`` of one row."""

    case: Case
    error: float
    seed: int
    start: int
    size: int

    def inputs(self) -> dict[str, Any]:
        """What names the part."""
        name = [self.case.label, self.case.parameter, self.case.delta]
        place = [self.seed, self.start, self.size]
        return {"case": name, "error": self.error, "games": place}

    def done(self) -> dict[str, Any]:
        """The claims of the games."""
        entropy = [self.seed, zlib.crc32(self.case.label.encode())]
        claims = []
        for k in range(self.start, self.start + self.size):
            own = np.random.SeedSequence(entropy, spawn_key=(k,))
            claims.append(self.case.play(self.error, np.random.default_rng(own)))
        return {"claims": np.array(claims, dtype=float)}


@dataclass(frozen=True)
class Computation:
    """One check."""

    case: Check
    error: float

    def inputs(self) -> dict[str, Any]:
        """What names the part."""
        return {"case": [self.case.label, "exact"], "error": self.error}

    def done(self) -> dict[str, Any]:
        """The values at the edges."""
        values = np.asarray(self.case.compute(self.error), dtype=float)
        return {"claims": np.atleast_1d(values)}


def parts(case: Case, error: float, seed: int, start: int, count: int) -> list[Games]:
    """So many games of a row, in parts that begin at multiples of their size."""
    piece = max(1, round(case.share * PIECE))
    ends = [*range(start - start % piece + piece, start + count, piece), start + count]
    starts = [start, *ends[:-1]]
    return [Games(case, error, seed, a, b - a) for a, b in zip(starts, ends, strict=True)]


def wanted(case: Case, repetitions: int) -> int:
    """How many games a row gets: slow ones are played less often."""
    return max(1, round(case.share * repetitions))


def false_claims(case: Case, claims: Array) -> int:
    """How many claims lie above the truth; what is not a number is no less false."""
    return int(np.sum(~(claims <= case.truth + _SLACK)))
