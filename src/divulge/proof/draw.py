"""The draw: independent coin flips over two pools of records.

A table with a fixed number of members and non-members is not a game: the last truth is determined
by the others. So the number of trials is fixed, that many coins are flipped, and each takes the
next record of its pool, in random order and without replacement. Pools come in the order of their
content (``data/arranged.py``), so that the draw is a function of the seed and the records. The coin
is loaded by the sizes of the pools, so that both run out at about the same time; its log-odds are
part of every prior. ``experiments/spending_trials.py draw`` tries draws that lose fewer trials and
pay for it from the error.

Where every record was included by an independent coin of its own whose probability is known, the
table is a game as it stands: every row is a trial, and nothing is drawn (``by_design``). Drawing
from its pools would spoil it. A coin loaded by the sizes of the pools follows how many records
happened to be included, known probabilities how many should have been, so that all priors would be
off together: where nothing leaks 9% of the bounds on mu were false at 5%
(``experiments/known_propensities.py``).
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from divulge.errors import CannotConclude, require
from divulge.result import shared
from divulge.types import Array, index_type, slices

DRY = 1e-6
"""Largest probability that a pool runs dry."""
LEAST = 20
_MOST_LOADED = 0.95
_FARTHEST = 4.0
"""So many standard deviations from the expected number of members are taken for possible."""
BY_DESIGN = "every row is a trial: an independent coin of known probability chose its truth"
OWN_COINS = "independent coins made the records members, each with its given propensity"


@dataclass(frozen=True)
class Draw:
    """Which rows are the trials, in the order of the flips."""

    rows: npt.NDArray[Any] = field(repr=False)
    truth: npt.NDArray[Any] = field(repr=False)
    coin: float
    """Probability of a member."""
    rule: str = "independent coin flips over the two pools, without replacement"

    @property
    def log_odds(self) -> float:
        """Prior log-odds that the coin alone gives."""
        return math.log(self.coin / (1.0 - self.coin))

    def __len__(self) -> int:
        return int(self.truth.size)

    def described(self) -> shared.DrawRecord:
        """For a result; the digest is of the rows' places in the order of their content."""
        digest = hashlib.sha256()
        for part in slices(len(self)):
            digest.update(self.rows[part].astype(np.int64).tobytes())
        return shared.DrawRecord(
            trials=len(self),
            coin=self.coin,
            rows_sha256=digest.hexdigest(),
            rule=self.rule,
        )


def number_of_trials(members: int, nonmembers: int, coin: float, most: float = DRY) -> int:
    """The most coins whose flips exhaust a pool with at most this probability."""

    def dry(m: int) -> float:
        return float(binom.sf(members, m, coin) + binom.sf(nonmembers, m, 1.0 - coin))

    low, high = 0, members + nonmembers
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if dry(middle) <= most else (low, middle - 1)
    return low


def draw(truth: npt.NDArray[Any], rng: np.random.Generator) -> Draw:
    """Flip the coins; CannotConclude if fewer than 20 trials are possible."""
    kind = index_type(truth.size)
    members = np.flatnonzero(truth > 0).astype(kind)
    nonmembers = np.flatnonzero(truth < 0).astype(kind)
    share = members.size / max(1, truth.size)
    coin = min(max(share, 1.0 - _MOST_LOADED), _MOST_LOADED)
    m = number_of_trials(members.size, nonmembers.size, coin)
    if m < LEAST:
        raise CannotConclude(
            f"{members.size} members and {nonmembers.size} non-members allow {m} independent "
            f"trials; an audit needs at least {LEAST}."
        )
    heads = np.empty(m, dtype=bool)
    while True:  # a pool runs dry with probability below DRY
        for part in slices(m):
            heads[part] = rng.random(part.stop - part.start) < coin
        inside = int(heads.sum())
        if inside <= members.size and m - inside <= nonmembers.size:
            break
    rows = np.empty(m, dtype=kind)
    rng.shuffle(members)
    rows[heads] = members[:inside]
    rng.shuffle(nonmembers)
    rows[~heads] = nonmembers[: m - inside]
    return Draw(rows, (2 * heads.astype(np.int8) - 1).astype(truth.dtype), coin)


def by_design(truth: npt.NDArray[Any], probability: Array) -> Draw:
    """All rows, of which independent coins of known probability made members.

    Probabilities that the number of members contradicts are not those of this table.
    """
    inside, expected = int((truth > 0).sum()), float(probability.sum())
    if truth.size < LEAST:
        raise CannotConclude(
            f"The table has {truth.size} rows; an audit needs at least {LEAST} independent trials."
        )
    spread = math.sqrt(float((probability * (1.0 - probability)).sum()))
    require(
        abs(inside - expected) <= _FARTHEST * spread + 1.0,
        f"By the given propensities {expected:,.0f} of the {truth.size:,} records should be "
        f"members, give or take {spread:,.0f}. Found {inside:,}. A propensity is the probability "
        "with which a coin of its own made the record a member of this very table. Where two "
        "groups of fixed sizes were put together, leave it out and name features.",
    )
    rows = np.arange(truth.size, dtype=index_type(truth.size))
    return Draw(rows, truth, expected / truth.size, BY_DESIGN)
