from __future__ import annotations

import pytest
from scipy.stats import norm

from divulge import curves
from divulge.bounds import epsilon_lower_bound, mu_lower_bound, recursion
from divulge.errors import InputError


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((1000, 100, 84), 0.4487),
        ((10_000, 200, 191), 0.7509),
        ((100_000, 1000, 958), 0.786),
        ((20, 20, 20), 1.0698),
        ((1000, 100, 44), 0.0),
    ],
)
def test_reference_values_of_mu(counts, expected):
    assert mu_lower_bound(*counts) == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize(
    ("counts", "delta", "expected"),
    [((10_000, 100, 97), 1e-5, 2.481), ((100_000, 1000, 958), 1e-4, 2.782)],
)
def test_reference_values_of_epsilon(counts, delta, expected):
    assert epsilon_lower_bound(*counts, delta) == pytest.approx(expected, abs=1e-3)


def plain_loop(m, r, c, mu, error=0.05):
    """The recursion as printed, with the maximum, over scipy.stats."""
    right, wrong = error * c / m, error * (r - c) / m
    for k in range(c - 1, -1, -1):
        h = max(wrong, norm.cdf(norm.ppf(right) - mu))
        right += k / (r - k) * (h - wrong)
        wrong = h
        if right + wrong >= r / m:
            return True
    return False


@pytest.mark.parametrize("counts", [(50, 20, 18), (1000, 100, 84), (30, 30, 29), (10, 3, 3)])
def test_compiled_generic_and_plain_loop_agree(counts):
    bound = mu_lower_bound(*counts)
    for mu in (bound - 1e-5, bound + 1e-4):
        if mu < 0:
            continue
        expected = mu < bound
        assert recursion.rejects(curves.Gaussian(mu), *counts) is expected
        assert plain_loop(*counts, mu) is expected

    class Hidden(curves.Gaussian):
        """Not recognised as Gaussian by the fast path's WithFailure branch."""

    generic = recursion.largest_rejected(
        lambda mu: curves.WithFailure(curves.WithFailure(Hidden(mu), 0.0), 0.0), *counts
    )
    assert generic == pytest.approx(bound, abs=1e-5)


def test_any_curve_can_be_tested():
    assert recursion.rejects(curves.Laplace(0.1), 1000, 200, 180)
    assert not recursion.rejects(curves.Laplace(5.0), 1000, 200, 180)
    laplace = recursion.largest_rejected(curves.Laplace, 1000, 200, 180)
    assert 0.0 < laplace < 10.0


def test_tau_costs():
    free = mu_lower_bound(10_000, 1000, 800)
    taxed = mu_lower_bound(10_000, 1000, 800, tau=0.001)
    assert 0.0 <= taxed < free
    assert mu_lower_bound(10_000, 100, 90, tau=0.05) == 0.0


def test_composition_correction_costs():
    free = mu_lower_bound(10_000, 1000, 900)
    shifted = mu_lower_bound(10_000, 1000, 900, shift_mu=0.3)
    assert shifted**2 + 0.3**2 == pytest.approx(free**2, abs=1e-4)
    assert mu_lower_bound(10_000, 1000, 900, failure=0.001) < free
    plain = recursion.epsilon_lower_bound(10_000, 1000, 900, 1e-6)
    moved = recursion.epsilon_lower_bound(10_000, 1000, 900, 1e-6, shift_epsilon=0.5)
    assert moved == pytest.approx(plain - 0.5, abs=1e-4)


def test_monotone_in_correct_guesses():
    values = [mu_lower_bound(500, 100, c) for c in range(0, 101, 5)]
    assert values == sorted(values)


def test_sweep_is_the_largest_single_bound():
    guesses, correct = [20, 50, 100, 200], [18, 43, 80, 140]
    singles = [mu_lower_bound(1000, r, c, 0.01) for r, c in zip(guesses, correct, strict=True)]
    assert recursion.sweep(1000, guesses, correct, error=0.01) == pytest.approx(
        max(singles), abs=2e-6
    )


@pytest.mark.parametrize(
    "bad",
    [
        {"trials": 0, "guesses": 0, "correct": 0},
        {"trials": 10, "guesses": 11, "correct": 1},
        {"trials": 10, "guesses": 5, "correct": 6},
        {"trials": 10, "guesses": 5, "correct": -1},
        {"trials": 10, "guesses": 5.5, "correct": 1},
        {"trials": 10, "guesses": 5, "correct": 1, "error": 0.0},
        {"trials": 10, "guesses": 5, "correct": 1, "error": float("nan")},
        {"trials": 10, "guesses": 5, "correct": 1, "tau": 1.0},
    ],
)
def test_contradictory_counts_are_refused(bad):
    with pytest.raises(InputError, match="Found"):
        mu_lower_bound(**bad)


def test_no_guesses_prove_nothing():
    for curve in (curves.Gaussian(1.0), curves.ApproximateDP(1.0), curves.Laplace(1.0)):
        assert not recursion.rejects(curve, 10, 0, 0)
    assert recursion.largest_rejected(curves.Gaussian, 10, 0, 0) == 0.0


@pytest.mark.parametrize("counts", [(1, 1, 1), (1, 1, 0), (10, 0, 0), (5, 5, 5), (5, 5, 0)])
def test_tiny_games(counts):
    assert mu_lower_bound(*counts) >= 0.0
    assert epsilon_lower_bound(*counts, 1e-5) >= 0.0
