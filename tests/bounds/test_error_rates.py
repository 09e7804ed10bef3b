"""The bound from both errors, and uniform draws from a region."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from divulge.bounds.error_rates import (
    draw_rates,
    epsilon_by_row,
    epsilon_from_errors,
    state,
    upper_limits,
)


def inside(x, y, e, d):
    g, slack = np.exp(e), 1e-12
    return (
        (x + g * y >= 1 - d - slack)
        & (y + g * x >= 1 - d - slack)
        & (y + g * x <= g + d + slack)
        & (x + g * y <= g + d + slack)
    )


@pytest.mark.parametrize(("e", "s", "d"), [(2.0, 0.5, 0.0), (1.0, 0.3, 0.1), (0.5, 0.9, 0.02)])
def test_draws_are_uniform_on_the_region(e, s, d, rng):
    x, y = draw_rates(np.full(100_000, e), np.full(100_000, s), d, rng)
    assert inside(x, y, e, d).all()
    assert not inside(x, y, 0.999 * s * e, 0.999 * s * d).any()
    u, v = rng.random((2, 1_000_000))
    keep = inside(u, v, e, d) & ~inside(u, v, s * e, s * d)
    for value, reference in ((x, u), (y, v), (x * y, u * v), (abs(x + y - 1), abs(u + v - 1))):
        q = np.quantile(reference[keep], [0.2, 0.5, 0.8])
        assert [np.mean(value <= t) for t in q] == pytest.approx([0.2, 0.5, 0.8], abs=0.012)


def test_full_strength_draws_lie_on_the_boundary(rng):
    x, y = draw_rates(np.full(1000, 2.0), np.ones(1000), 0.0, rng)
    a, b = np.minimum(x, 1 - x), np.minimum(y, 1 - y)
    low = x + y < 1
    best = np.where(low, np.maximum((1 - y) / x, (1 - x) / y), np.maximum(y / (1 - x), x / (1 - y)))
    assert np.log(best) == pytest.approx(np.full(1000, 2.0))
    assert a.min() > 0.0
    assert b.min() > 0.0


def test_limits_are_clopper_pearson_rounded_up():
    ((a, b),) = upper_limits([[3, 50, 0, 20]], 0.05)
    for found, wrong, total in ((a, 3, 50), (b, 0, 20)):
        exact = binomtest(wrong, total).proportion_ci(0.95).high  # 2.5% above
        assert exact <= found <= exact * (1 + 1e-6)


def test_the_error_is_split_over_rows():
    one, ten = [[5, 100, 5, 100]], [[5, 100, 5, 100]] * 10
    assert epsilon_from_errors(ten) < epsilon_from_errors(one)
    assert epsilon_from_errors(ten, error=0.5) == pytest.approx(
        epsilon_from_errors(one, error=0.05)
    )


def test_nothing_is_proved_by_guessing_or_worse():
    assert epsilon_from_errors([[50, 100, 50, 100]]) == 0.0
    assert epsilon_from_errors([[100, 100, 100, 100]]) == 0.0
    assert epsilon_from_errors([[0, 1, 1, 1]]) == 0.0


def test_delta_is_paid_for():
    counts = [[10, 1000, 20, 1000], [3, 50, 7, 60]]
    by_row = epsilon_by_row(counts)
    assert epsilon_from_errors(counts) == by_row.max()
    assert epsilon_from_errors(counts, 0.05) < by_row.max()
    first, second = state(counts, (0.0, 0.05), 0.1, ("stated",))
    assert first.value > second.value
    assert first.headline
    assert first.confidence == 0.9
