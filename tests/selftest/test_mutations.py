"""Errors put into the code on purpose: the self-test must convict nearly all of them."""

from __future__ import annotations

import warnings
from functools import cache

import pytest
from errors_elsewhere import ELSEWHERE
from errors_in_bounds import IN_BOUNDS
from mutating import Mutation, applied

from divulge import selftest
from divulge.selftest.case import Check
from divulge.selftest.run import QUICK_REPETITIONS

MUTATIONS = IN_BOUNDS + ELSEWHERE
MISSED_AT_MOST = 2


@cache
def rows(*, quick: bool) -> tuple[selftest.Case | selftest.Check, ...]:
    """The rows of either form, made before any error is."""
    return tuple(selftest.cases(quick=quick))


def rows_of(mutation: Mutation) -> list[selftest.Case | selftest.Check]:
    """The rows that the error affects, of the quick form where they are in it."""
    chosen = rows(quick=mutation.quick)
    found = [c for c in chosen if any(part in c.label for part in mutation.sees)]
    assert found, mutation.name
    return found


def convicted(mutation: Mutation, *, exact_only: bool = False) -> list[str]:
    """Rows that fail while the error is there, at the level of the whole quick form.

    The first exact check that does; where none does, of the games all that do.
    """
    affected = rows_of(mutation)
    among = len(rows(quick=True))
    checks = [c for c in affected if isinstance(c, Check)]
    games = [c for c in affected if not isinstance(c, Check)]
    with applied(mutation), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (*([check] for check in checks), [] if exact_only else games):
            if part:
                done = selftest.run(part, repetitions=QUICK_REPETITIONS, among=among)
                failed = [f"{r.bound} | {r.mechanism}" for r in done if not r.holds]
                if failed:
                    return failed
    return []


def test_there_are_enough_and_each_has_its_name():
    assert len(MUTATIONS) >= 40
    assert len({m.name for m in MUTATIONS}) == len(MUTATIONS)


def test_every_error_can_be_made():
    """The code that it changes stands there, once, and somebody looks at it."""
    for mutation in MUTATIONS:
        assert rows_of(mutation)
        with applied(mutation):
            pass


@pytest.mark.parametrize("mutation", [m for m in MUTATIONS if m.cheap], ids=lambda m: m.name)
def test_an_exact_check_sees_it(mutation):
    assert convicted(mutation, exact_only=True)


def test_nothing_is_left_of_a_mutation():
    mutation = next(m for m in MUTATIONS if "bounds.compiled:" in m.where)
    before = selftest.run(rows_of(mutation)[:1], repetitions=1)
    convicted(mutation, exact_only=True)
    assert selftest.run(rows_of(mutation)[:1], repetitions=1) == before


@pytest.mark.slow
def test_nearly_all_errors_are_convicted(capsys):
    caught = {m.name: convicted(m) for m in MUTATIONS}
    missed = [name for name, rows in caught.items() if not rows]
    with capsys.disabled():
        for name, rows in caught.items():
            print(f"{'caught' if rows else 'MISSED'}: {name}" + (f" ({rows[0]})" if rows else ""))
        print(f"{len(caught) - len(missed)} of {len(caught)} errors are caught")
    assert len(missed) <= MISSED_AT_MOST
