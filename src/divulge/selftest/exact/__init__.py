"""Exact checks: for a mechanism that attains a bound, the probability of a false claim, computed.

Every file holds one kind of bound. The reference computation shares nothing with the bound but the
theorem: distributions come from scipy or from enumeration, worst cases from linear programs.
"""

from __future__ import annotations

from collections.abc import Iterator

from divulge.selftest.case import Check
from divulge.selftest.exact import (
    at_delta,
    bets,
    contracts,
    counting,
    deductions,
    leakage,
    own_coins,
    paired_values,
    replays,
    shown_values,
    tails,
)


def cases() -> Iterator[Check]:
    """All of them; they take seconds, so the quick form has all of them, too."""
    kinds = (counting, tails, bets, at_delta, replays, shown_values, paired_values, leakage)
    for kind in (*kinds, own_coins, contracts, deductions):
        yield from kind.cases()
