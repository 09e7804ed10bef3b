"""The p-values of counted guesses against the exact worst case over all private mechanisms.

``mechanisms.worst_case`` gives the largest probability of c or more correct guesses that any
mechanism with this privacy can reach. A valid p-value is never below it, also where the mechanism's
output chooses the number of guesses.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from divulge import curves
from divulge.bounds import choice, counting, recursion
from divulge.errors import InputError
from divulge.mechanisms.worst_case import worst_case


def recursion_p_value(curve: curves.Curve, m: int, r: int, c: int, k: int = 2) -> float:
    """The smallest error at which the recursion rejects."""
    low, high = 1e-12, 1.0 - 1e-12
    if not recursion.rejects(curve, m, r, c, error=high, candidates=k):
        return 1.0
    for _ in range(60):
        middle = math.sqrt(low * high)
        if recursion.rejects(curve, m, r, c, error=middle, candidates=k):
            high = middle
        else:
            low = middle
    return high


GAMES = [(1, 1), (2, 2), (5, 5), (8, 3), (20, 20), (40, 10)]
PRIVACY = [(0.0, 0.0), (1.0, 0.0), (0.0, 0.01), (1.0, 0.01), (0.5, 0.05), (2.0, 1e-3)]


@pytest.mark.parametrize(("m", "r"), GAMES)
@pytest.mark.parametrize(("epsilon", "delta"), PRIVACY)
def test_no_p_value_is_below_the_worst_case(m, r, epsilon, delta):
    for c in sorted({(r + 1) // 2, (3 * r) // 4, r - 1, r} - {0}):
        worst = worst_case(m, {r: c}, [(epsilon, delta)])
        if worst > 0.5:
            continue
        p_values = {
            "recursion": recursion_p_value(curves.ApproximateDP(epsilon, delta), m, r, c),
            "steinke": counting.steinke_p_value(m, r, c, epsilon, delta),
            "zero-run": counting.zero_run_p_value(m, r, c, epsilon, delta),
        }
        for name, p in p_values.items():
            assert p >= worst * (1 - 1e-6) - 1e-9, name
        if worst > 1e-4:
            assert p_values["recursion"] <= 1.6 * worst, "and the recursion is nearly tight"


@pytest.mark.parametrize(("m", "r"), [(2, 2), (5, 5), (8, 3), (12, 12)])
@pytest.mark.parametrize("mu", [0.0, 0.5, 1.0])
def test_gaussian_recursion_is_not_below_the_worst_case(m, r, mu):
    """A grid of epsilons relaxes G_mu a little, hence the tolerance."""
    grid = np.linspace(0.0, max(4.0, 6.0 * mu), 120)
    constraints = [(float(e), curves.Gaussian(mu).delta(float(e))) for e in grid]
    for c in sorted({(3 * r) // 4, r} - {0}):
        worst = worst_case(m, {r: c}, constraints)
        assert recursion_p_value(curves.Gaussian(mu), m, r, c) >= worst * (1 - 2e-3) - 1e-9


def test_the_programme_finds_what_is_known():
    """Pure epsilon: randomised response is the worst. Disclosure: delta of one trial."""
    for r, c in ((5, 4), (20, 15)):
        known = binom.sf(c - 1, r, math.exp(0.7) / (1 + math.exp(0.7)))
        assert worst_case(r, {r: c}, [(0.7, 0.0)]) == pytest.approx(known, rel=1e-6)
    assert worst_case(1, {1: 1}, [(0.0, 0.1)]) == pytest.approx(0.55, rel=1e-6)
    with pytest.raises(InputError, match="More guesses"):
        worst_case(4, {5: 5}, [(0.0, 0.0)])


def least_refuting(curve: curves.Curve, m: int, r: int, error: float) -> int:
    return next(
        (c for c in range(r // 2, r + 1) if recursion.rejects(curve, m, r, c, error=error)), r + 1
    )


SIZES = (12, 24, 84, 240)


@pytest.mark.parametrize("error", [0.05, 0.025])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-3), (0.1, 3e-3), (0.5, 3e-3)])
def test_a_number_chosen_by_the_model_is_paid_for(epsilon, delta, error):
    """Unpaid, the model exceeds the error by choosing; paid for, it does not."""
    m = 240
    at, against = choice.price(m, delta, error)
    plain, paid = curves.ApproximateDP(epsilon, delta), curves.ApproximateDP(epsilon, against)
    unpaid = {r: least_refuting(plain, m, r, error) for r in SIZES}
    careful = {r: least_refuting(paid, m, r, at) for r in SIZES}
    for r, c in unpaid.items():
        assert worst_case(m, {r: c}, [(epsilon, delta)]) <= error
    assert worst_case(m, unpaid, [(epsilon, delta)]) > 1.05 * error
    assert worst_case(m, careful, [(epsilon, delta)]) <= error


def test_numbers_considered_for_mu_need_no_payment():
    mu, m, error = 0.4, 240, 0.025
    grid = np.linspace(0.0, 5.0 * mu, 24)
    constraints = [(float(e), curves.Gaussian(mu).delta(float(e))) for e in grid]
    refute = {
        r: least_refuting(curves.Gaussian(mu), m, r, error)
        for r in (choice.least(m, None), 80, 160)
    }
    assert 0.5 * error < worst_case(m, refute, constraints) <= error


def test_few_guesses_are_not_considered_for_mu():
    assert [choice.least(m, None) for m in (5, 40, 120, 10**6)] == [5, 40, 40, 40]
    assert choice.least(10**6, 1e-5) == 10


def test_the_price_falls_with_the_reach_of_delta():
    few = choice.price(1_000, 1e-6, 0.05)
    many = choice.price(1_000_000, 1e-3, 0.05)
    assert few[0] == pytest.approx(0.05 / (1 + 1 / 99))
    assert few[1] == pytest.approx(99e-6)
    assert many == pytest.approx((0.05 / 21, 5e-5))
    assert choice.price(1_000, None, 0.05) == (0.05, None)
    assert choice.price(1_000, 0.0, 0.05) == (0.05, 0.0)
    assert choice.price(1_000, None, 0.05, tau=0.01) == (pytest.approx(0.05 / 3), None)
    together = choice.price(1_000, 1e-6, 0.05, beside=(1e-6, 1e-5))
    assert together[0] < few[0]
    assert together[1] == few[1]


@pytest.mark.parametrize(("m", "r"), [(1, 1), (3, 3), (6, 4), (12, 12), (30, 8)])
@pytest.mark.parametrize("candidates", [3, 8, 32])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (0.5, 0.01), (3.0, 1e-3)])
def test_line_ups_are_not_below_the_worst_case(m, r, candidates, epsilon, delta):
    """K - 1 wrong answers to each trial; tight where every guess must be right."""
    curve = curves.ApproximateDP(epsilon, delta)
    for c in sorted({max(1, r // 4), (r + 1) // 2, r}):
        worst = worst_case(m, {r: c}, [(epsilon, delta)], candidates)
        p = recursion_p_value(curve, m, r, c, candidates)
        if worst <= 0.5:
            assert p >= worst * (1 - 1e-6) - 1e-9
        if c == r and worst > 1e-6:
            assert p == pytest.approx(worst, rel=0.05)


def test_a_line_up_proves_more_than_a_pair():
    pair = recursion.mu_lower_bound(300, 300, 240)
    eight = recursion.mu_lower_bound(300, 300, 240, candidates=8)
    assert eight > 1.5 * pair
    assert recursion.epsilon_lower_bound(300, 300, 37, 1e-5, candidates=8) == 0.0
    with pytest.raises(InputError, match="2 candidates"):
        recursion.mu_lower_bound(10, 10, 10, tau=0.1, candidates=3)
