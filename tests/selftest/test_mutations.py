"""Errors put into the code on purpose: the self-test must convict nearly all of them."""

from __future__ import annotations

import pytest
from mutating import applied
from mutations import MISSED_AT_MOST, MUTATIONS, convicted, rows_of

from divulge import selftest


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
def test_nearly_all_errors_are_convicted():
    missed = [m.name for m in MUTATIONS if not convicted(m)]
    assert len(missed) <= MISSED_AT_MOST, missed
