"""How every row of the self-test stands by a ledger."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy.special import logsumexp

from divulge.selftest.case import Case, Check
from divulge.selftest.games import wanted
from divulge.selftest.ledger import Entry
from divulge.selftest.readings import layers
from divulge.selftest.row import exact_interval
from divulge.selftest.wealth import log_wealth

CONVICTS_SOUND = 0.001
"""Probability that a ledger of sound bounds ever convicts one of them, at most."""
DOUBTFUL = math.log(10.0)
"""The logarithm of the wealth from which on a row plays on."""


@dataclass(frozen=True)
class Standing:
    """What the present code has shown of a row, or, if nothing, what the last one did."""

    case: Case | Check
    error: float
    games: int = 0
    false: int = 0
    excess: float = 0.0
    total: float = 0.0
    seconds: float = 0.0
    made: str = ""
    stale: int = 0
    """Games of an older code, where the present one has none."""
    played: tuple[tuple[int, int, int], ...] = ()
    """Seed, first game and end of what the present code has played, in order."""

    @property
    def wealth(self) -> float:
        """The logarithm of what was won by betting against the row; a check loses at once."""
        if isinstance(self.case, Check):
            return math.inf if self.false else 0.0
        if self.power_only or not self.games:
            return 0.0
        return log_wealth(self.false, self.games, self.error)

    @property
    def power_only(self) -> bool:
        """Whether no claim can be false."""
        return isinstance(self.case, Case) and math.isinf(self.case.truth)

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the rate of false claims."""
        return exact_interval(self.false, self.games)

    @property
    def doubtful(self) -> bool:
        """Whether false claims were more frequent than stated by more than their 95% interval.

        Of rows that attain their error one in forty is, by chance. It convicts none; it plays on.
        """
        return isinstance(self.case, Case) and self.interval[0] > self.error

    @property
    def plays_on(self) -> bool:
        """Whether it looks bad enough for more games than others have."""
        return self.wealth >= DOUBTFUL or self.doubtful

    @property
    def power(self) -> float | None:
        """Mean bound over truth; None where there is none."""
        if isinstance(self.case, Check) or not self.games or not self.case.truth:
            return None
        return None if self.power_only else self.total / self.games / self.case.truth

    def unplayed(self, seed: int, count: int) -> list[tuple[int, int]]:
        """The first ``count`` games of this seed that were not played: first game, and how many."""
        found, at = [], 0
        taken = [(first, end) for s, first, end in self.played if s == seed]
        for first, end in [*taken, (at + 2**62, 0)]:
            size = min(first - at, count)
            if size > 0:
                found.append((at, size))
                count -= size
            at = end
        return found

    def state(self, rows: int, repetitions: int) -> str:
        """convicted, stale, never played, too few, power only, doubtful, or holds."""
        if self.games and self.wealth >= convicting(rows):
            return "convicted"
        if not self.games:
            return "stale" if self.stale else "never played"
        if isinstance(self.case, Case) and self.games < wanted(self.case, repetitions):
            return "too few"
        if self.power_only:
            return "power only"
        return "doubtful" if self.doubtful else "holds"


def convicting(rows: int) -> float:
    """The logarithm of the wealth that convicts one of so many rows and families."""
    return math.log(2.0 * rows / CONVICTS_SOUND)


def standings(
    entries: Sequence[Entry],
    chosen: Sequence[Case | Check],
    error: float,
    codes: Mapping[str, str],
) -> list[Standing]:
    """One for each row, in the order of the rows; ``codes`` are their present digests."""
    by_row: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.error == error:
            by_row[entry.row].append(entry)
    return [_standing(case, by_row[case.label], error, codes[case.label]) for case in chosen]


def _standing(case: Case | Check, entries: list[Entry], error: float, code: str) -> Standing:
    own = [entry for entry in entries if entry.code == code]
    shown = own
    if not own and entries:
        newest = max(entries, key=lambda e: e.made).code
        shown = [entry for entry in entries if entry.code == newest]
    games = sum(entry.games for entry in shown)
    return Standing(
        case=case,
        error=error,
        games=games if own else 0,
        false=sum(entry.false for entry in shown) if own else 0,
        excess=max((entry.excess for entry in shown), default=0.0),
        total=sum(entry.total for entry in shown),
        seconds=sum(entry.seconds for entry in shown),
        made=max((entry.made for entry in shown), default=""),
        stale=0 if own else games,
        played=tuple(sorted((entry.seed, entry.first, entry.last) for entry in own)),
    )


@dataclass(frozen=True)
class Family:
    """Rows of one family judged together: each game's error is bounded whatever came before."""

    name: str
    rows: int
    games: int
    false: int
    wealth: float
    """The logarithm of what was won by betting against all of them together."""


def families(known: Sequence[Standing]) -> list[Family]:
    """The families of two rows or more that were played."""
    found: dict[str, list[Standing]] = defaultdict(list)
    for row in known:
        if isinstance(row.case, Case) and row.games and not row.power_only:
            found[row.case.family].append(row)
    return [_family(name, own) for name, own in found.items() if len(own) > 1]


def _family(name: str, own: list[Standing]) -> Family:
    """The mean of the wealths of its layers: one for each, however they depend on each other."""
    sums = layers((r.case, (r.games, r.false)) for r in own if isinstance(r.case, Case))
    each = [log_wealth(false, games, own[0].error) for games, false in sums]
    wealth = float(logsumexp(each)) - math.log(len(each))
    return Family(name, len(own), sum(r.games for r in own), sum(r.false for r in own), wealth)
