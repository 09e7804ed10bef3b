"""The draw: independent coin flips over two pools of records.

A table with a fixed number of members and non-members is not a game: the last truth is determined
by the others. So the number of trials is fixed, that many coins are flipped, and each takes the
next record of its pool, in random order and without replacement. The coin is loaded by the sizes of
the pools, so that both run out at about the same time; its log-odds are part of every prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from divulge.errors import CannotConclude

DRY = 1e-6
"""Largest probability that a pool runs dry."""
LEAST = 20
_MOST_LOADED = 0.95


@dataclass(frozen=True)
class Draw:
    """Which rows are the trials, in the order of the flips."""

    rows: npt.NDArray[np.intp] = field(repr=False)
    truth: npt.NDArray[np.float64] = field(repr=False)
    coin: float
    """Probability of a member."""

    @property
    def log_odds(self) -> float:
        """Prior log-odds that the coin alone gives."""
        return math.log(self.coin / (1.0 - self.coin))

    def __len__(self) -> int:
        return int(self.truth.size)


def number_of_trials(members: int, nonmembers: int, coin: float) -> int:
    """The most coins whose flips exhaust a pool with probability at most DRY."""

    def dry(m: int) -> float:
        return float(binom.sf(members, m, coin) + binom.sf(nonmembers, m, 1.0 - coin))

    low, high = 0, members + nonmembers
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if dry(middle) <= DRY else (low, middle - 1)
    return low


def draw(truth: npt.NDArray[np.float64], rng: np.random.Generator) -> Draw:
    """Flip the coins; CannotConclude if fewer than 20 trials are possible."""
    members, nonmembers = np.flatnonzero(truth > 0), np.flatnonzero(truth < 0)
    share = members.size / max(1, truth.size)
    coin = min(max(share, 1.0 - _MOST_LOADED), _MOST_LOADED)
    m = number_of_trials(members.size, nonmembers.size, coin)
    if m < LEAST:
        raise CannotConclude(
            f"{members.size} members and {nonmembers.size} non-members allow {m} independent "
            f"trials; an audit needs at least {LEAST}."
        )
    while True:  # a pool runs dry with probability below DRY
        heads = rng.random(m) < coin
        if heads.sum() <= members.size and (~heads).sum() <= nonmembers.size:
            break
    rows = np.empty(m, dtype=np.intp)
    rows[heads] = rng.permutation(members)[: int(heads.sum())]
    rows[~heads] = rng.permutation(nonmembers)[: int((~heads).sum())]
    return Draw(rows, np.where(heads, 1.0, -1.0), coin)
