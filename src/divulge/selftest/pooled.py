"""Rows of one family judged together: a small excess in each of many rows adds up.

Games of different rows are independent, and each makes a false claim with probability ``error`` at
most. So the false claims of a family are dominated by one binomial over all of its games. Rows that
look at one game are in different sums, which share the level. Rows on which a bound is cautious
dilute the sum, which only makes the test milder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from divulge.selftest.case import Case, Check
from divulge.selftest.readings import layers
from divulge.selftest.row import Row, exact_interval, surprise


def pooled(
    chosen: Sequence[Case | Check],
    counts: Mapping[int, tuple[int, int]],
    error: float,
    level: float,
) -> list[Row]:
    """One row for each family of two rows or more; ``counts`` are games and false claims."""
    families: dict[str, list[tuple[Case, tuple[int, int]]]] = {}
    for index, case in enumerate(chosen):
        if index in counts and isinstance(case, Case):
            families.setdefault(case.family, []).append((case, counts[index]))
    return [
        _together(name, members, error, level)
        for name, members in families.items()
        if len(members) > 1
    ]


def _together(
    name: str, members: list[tuple[Case, tuple[int, int]]], error: float, level: float
) -> Row:
    games, false = (sum(column) for column in zip(*(own for _, own in members), strict=True))
    low, high = exact_interval(false, games)
    sums = layers(members)
    doubts = min(surprise(found, count, error) for count, found in sums) * len(sums)
    return Row(
        bound="families",
        parameter="all",
        delta=None,
        mechanism=name,
        setting=f"{len(members)} rows together",
        claimed_error=error,
        repetitions=games,
        false_claims=false,
        rate_low=low,
        rate_high=high,
        mean_bound=None,
        truth=None,
        holds=doubts > level,
    )
