"""Printed numbers never claim more than the numbers behind them."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from divulge.text import rounding

VALUES = st.one_of(
    st.floats(min_value=0.0, max_value=1e4, allow_subnormal=False),
    st.integers(0, 10**7).map(lambda k: math.nextafter(k / 1000, 0.0)),
    st.integers(1, 10**7).map(lambda k: math.nextafter(k / 1000, math.inf)),
    st.floats(min_value=0.0, max_value=1e-3, allow_subnormal=False),
)


@settings(max_examples=300, deadline=None)
@given(VALUES, st.integers(0, 6))
def test_bounds_go_down_and_deductions_up(value, digits):
    exact, step = Decimal(repr(value)), Decimal(1).scaleb(-digits)
    low, high = Decimal(rounding.at_least(value, digits)), Decimal(rounding.at_most(value, digits))
    assert exact - step < low <= exact <= high <= exact + step
    assert rounding.floor_to(value, digits) <= value
    assert Decimal(rounding.short(value)) <= exact <= Decimal(rounding.rounded_up(value))


@settings(max_examples=200, deadline=None)
@given(st.floats(min_value=1e-12, max_value=1.0, exclude_max=True))
def test_a_confidence_goes_down(error):
    assert Decimal(rounding.confidence(error).rstrip("%")) <= 100 - 100 * Decimal(repr(error))
    assert rounding.confidence(error) != "100%" or error < 1e-11
    sure = 1.0 - error
    assert Decimal(rounding.share(sure)) <= Decimal(repr(sure))
    assert Decimal(rounding.percent(sure).rstrip("%")) <= 100 * Decimal(repr(sure))


@settings(max_examples=200, deadline=None)
@given(VALUES, VALUES)
def test_numbers_that_differ_are_shown_to_differ(a, b):
    if a < b:
        low, high = (Decimal(text) for text in rounding.apart(a, b))
        assert low < high
        assert low >= Decimal(repr(a)) or low == Decimal(repr(a))
        assert high <= Decimal(repr(b))


@pytest.mark.parametrize(
    ("value", "shown"), [(0.98659, "0.986"), (1.9996, "1.999"), (0.29, "0.290"), (-0.0, "0.000")]
)
def test_three_decimals(value, shown):
    assert rounding.at_least(value) == shown


def test_a_binary_product_does_not_round_up():
    value = math.nextafter(0.117, 0.0)
    assert value * 1000 == 117.0
    assert rounding.floor_to(value, 3) == 0.116


@pytest.mark.parametrize(
    ("error", "shown"), [(0.05, "95%"), (0.07, "93%"), (0.025, "97.5%"), (1e-7, "99.99999%")]
)
def test_confidences_in_words(error, shown):
    assert rounding.confidence(error) == shown


@pytest.mark.parametrize(("delta", "shown"), [(1e-5, "1e-05"), (1.2345649e-5, "1.2345649e-05")])
def test_a_given_value_is_not_changed(delta, shown):
    assert rounding.exact(delta) == shown
