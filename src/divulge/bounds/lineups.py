"""Counted line-ups: what guesses among K candidates prove about mu, and epsilon at delta.

A line-up shows the true value among K - 1 others; given what is shown each is the true one with
probability 1/K. One candidate is guessed in the surest r of m line-ups, and the recursion with
``(K - 1) fbar^-1`` bounds how many can be right (``recursion.py``).

*The number of guesses.* The recursion takes r as given, and scores may not choose it for nothing
(``choice.py``). Here nothing is chosen: a few numbers, functions of m alone, are all counted, each
at its share of the error, and what any of them proves is proved (union bound). Given r the bounds
on mu and on epsilon at every delta are false only if one count is too large, and these events are
nested: so all bounds of all numbers hold together.

*Groups.* A value that stands in g training records is one trial, f-DP taken g times between any
two values: ``G_{g mu}`` for mu, ``(g epsilon, delta (e^{g epsilon} - 1) / (e^epsilon - 1))`` for
epsilon at delta. The largest g among the line-ups that are counted holds for all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from divulge.bounds import recursion
from divulge.curves import ApproximateDP
from divulge.errors import require
from divulge.types import Array, Index

SHARES = (0.05, 0.2, 1.0)
"""Of the line-ups that are counted: the surest of each share are guessed."""
FEWEST = 10
_ALMOST_ONE = 1.0 - 1e-12


@dataclass(frozen=True)
class LineUpCounts:
    """m line-ups of K candidates, and how many of the surest r were guessed rightly, for each r."""

    trials: int
    candidates: int
    guesses: tuple[int, ...]
    correct: tuple[int, ...]
    copies: int = 1
    """The largest number of training records that one of the values stands in."""

    def __post_init__(self) -> None:
        require(self.copies >= 1, f"copies must be at least 1. Found {self.copies!r}.")
        require(len(self.guesses) == len(self.correct), "There must be one count per number.")

    def mu(self, error: float) -> float:
        """Mu of one record: what some number of guesses proves, each at its share of the error."""
        found = [
            recursion.mu_lower_bound(
                self.trials, r, c, error / len(self.guesses), candidates=self.candidates
            )
            for r, c in zip(self.guesses, self.correct, strict=True)
        ]
        return max(found, default=0.0) / self.copies

    def epsilon(self, delta: float, error: float) -> float:
        """Epsilon of one record at delta, as ``mu``."""

        def group(epsilon: float) -> ApproximateDP:
            return ApproximateDP(*of_group(epsilon, delta, self.copies))

        found = [
            recursion.largest_rejected(
                group,
                self.trials,
                r,
                c,
                error=error / len(self.guesses),
                candidates=self.candidates,
            )
            for r, c in zip(self.guesses, self.correct, strict=True)
            if c * self.candidates > r  # better than guessing at random
        ]
        return max(found, default=0.0)


def of_group(epsilon: float, delta: float, copies: int) -> tuple[float, float]:
    """What ``copies`` replacements cost if one costs (epsilon, delta)."""
    steps = math.fsum(math.exp(min(k * epsilon, 700.0)) for k in range(copies))
    return min(copies * epsilon, 699.0), min(delta * steps, _ALMOST_ONE)


def numbers(trials: int) -> tuple[int, ...]:
    """How many are guessed: a function of the number of line-ups alone."""
    wanted = {min(trials, max(FEWEST, round(share * trials))) for share in SHARES}
    return tuple(sorted(wanted - {0}))


def count(
    confidence: Array, value: Index, rng: np.random.Generator, copies: int = 1
) -> LineUpCounts:
    """Guess the candidate with the largest confidence, in the line-ups where it is largest.

    Ties are broken at random, between candidates and between line-ups.
    """
    trials, candidates = confidence.shape
    order = rng.random(confidence.shape)
    best = confidence.max(axis=1)
    tied = np.where(confidence == best[:, None], order, -1.0)
    right = tied.argmax(axis=1) == value
    surest = np.lexsort((rng.random(trials), -best))
    total = np.cumsum(right[surest])
    guesses = numbers(trials)
    return LineUpCounts(
        trials, candidates, guesses, tuple(int(total[r - 1]) for r in guesses), copies
    )
