"""Which rows there are: one provider for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from divulge.selftest import (
    attribute,
    audits,
    canaries,
    dependent,
    draws,
    exact,
    grid,
    guards,
    hostile,
    inserted,
    leakage,
    lineup,
    lineup_tables,
    named,
    nulls,
    populations,
    posteriors,
    real_nonmembers,
    secret_canaries,
    shadow_scores,
    synthetic,
    unseen,
    watched,
)
from divulge.selftest.case import Case, Check


def cases(
    *, quick: bool = False, only: str | None = None, skip: str | None = None
) -> list[Case | Check]:
    """All cases or the quick ones; with ``only`` in their label, without ``skip`` in it."""
    every = [c for provide in PROVIDERS for c in provide()]
    chosen = [c for c in every if c.quick or not quick]
    if only is not None:
        chosen = [c for c in chosen if only.lower() in c.label.lower()]
    if skip is not None:
        chosen = [c for c in chosen if skip.lower() not in c.label.lower()]
    return chosen


PROVIDERS: tuple[Callable[[], Iterator[Case | Check]], ...] = (
    exact.cases,
    grid.cases,
    nulls.cases,
    audits.cases,
    draws.cases,
    named.cases,
    guards.cases,
    hostile.cases,
    attribute.cases,
    populations.cases,
    synthetic.cases,
    real_nonmembers.cases,
    posteriors.cases,
    dependent.cases,
    canaries.cases,
    inserted.cases,
    watched.cases,
    secret_canaries.cases,
    shadow_scores.cases,
    leakage.cases,
    lineup.cases,
    lineup_tables.cases,
    unseen.cases,
)
"""Who has rows: one line each."""
