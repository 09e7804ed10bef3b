from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from divulge.bounds import (
    counting,
    epsilon_lower_bound,
    poisson_binomial_tail,
    signed_epsilon_lower_bound,
)
from divulge.errors import InputError


@pytest.mark.parametrize(
    ("counts", "expected"), [((1000, 100, 92), 1.818), ((10_000, 1000, 907), 2.096)]
)
def test_reference_values_at_delta_0(counts, expected):
    assert epsilon_lower_bound(*counts) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("counts", "delta", "expected"),
    [((10_000, 100, 97), 1e-5, 2.395), ((100_000, 1000, 958), 1e-4, 0.394)],
)
def test_reference_values_of_steinke(counts, delta, expected):
    found = epsilon_lower_bound(*counts, delta, method="steinke")
    assert found == pytest.approx(expected, abs=1e-3)


def test_the_binomial_bound_is_the_edge_of_rejection():
    for r, c in ((10, 10), (50, 40), (1000, 907), (100_000, 70_000)):
        epsilon = epsilon_lower_bound(r, r, c)
        assert binom.sf(c - 1, r, expit(epsilon)) <= 0.05 * (1 + 1e-9)
        assert binom.sf(c - 1, r, expit(epsilon + 1e-4)) > 0.05


def test_poisson_binomial_against_all_outcomes(rng):
    q = rng.random(10)
    exact = np.zeros(11)
    for outcome in itertools.product((0, 1), repeat=10):
        bits = np.array(outcome)
        exact[bits.sum()] += np.prod(np.where(bits == 1, q, 1 - q))
    for c in range(12):
        assert poisson_binomial_tail(q, c) == pytest.approx(exact[c:].sum(), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("size", [511, 512, 513, 5000])
def test_poisson_binomial_of_equal_probabilities_is_binomial(size):
    for c in (0, size // 3, size // 2, size):
        tail = poisson_binomial_tail(np.full(size, 0.4), c)
        expected = binom.sf(c - 1, size, 0.4)
        assert tail >= expected * (1 - 1e-9)
        assert tail == pytest.approx(expected, rel=1e-6, abs=1e-18)


def test_signed_without_prior_is_the_binomial_bound(rng):
    truth = np.where(rng.random(400) < 0.5, 1, -1)
    guess = np.where(rng.random(400) < 0.8, truth, -truth)
    correct = int((guess == truth).sum())
    assert signed_epsilon_lower_bound(guess, truth) == pytest.approx(
        epsilon_lower_bound(400, 400, correct), abs=1e-6
    )


def test_a_guess_against_the_prior_needs_no_discount(rng):
    truth = np.ones(100)
    with_prior = signed_epsilon_lower_bound(truth, truth, np.full(100, 2.0))
    against = signed_epsilon_lower_bound(truth, truth, np.full(100, -2.0))
    neutral = signed_epsilon_lower_bound(truth, truth, 0.0)
    assert with_prior == pytest.approx(neutral - 2.0, abs=1e-6)
    assert against == pytest.approx(neutral + 2.0, abs=1e-6)


def test_signed_bound_with_spread_prior_is_the_edge_of_rejection(rng):
    prior = rng.normal(0, 1, 3000)
    truth = np.where(rng.random(3000) < expit(prior), 1.0, -1.0)
    guess = np.where(rng.random(3000) < 0.85, truth, -truth)
    epsilon = signed_epsilon_lower_bound(guess, truth, prior)
    correct = int((guess == truth).sum())
    assert poisson_binomial_tail(expit(guess * prior + epsilon), correct) <= 0.05
    assert poisson_binomial_tail(expit(guess * prior + epsilon + 1e-4), correct) > 0.05


def test_abstentions_do_not_count():
    assert signed_epsilon_lower_bound([1, 0, 0], [1, -1, 1]) == 0.0
    assert signed_epsilon_lower_bound([0, 0], [1, -1]) == 0.0


def test_p_values_at_delta_0_are_binomial_tails():
    for p_value in (counting.steinke_p_value, counting.zero_run_p_value):
        assert p_value(100, 50, 40, 1.0, 0.0) == pytest.approx(binom.sf(39, 50, expit(1.0)))


def test_theorem_511_against_its_formula():
    m, r, c, epsilon, delta = 200, 30, 25, 0.7, 1e-3
    law = binom(r, expit(epsilon))
    extra = sum(law.pmf(c - i) / i for i in range(1, c + 1))
    expected = law.sf(c - 1) + m * delta * (1 + np.exp(-epsilon)) * extra
    assert counting.zero_run_p_value(m, r, c, epsilon, delta) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("guesses", "truths", "prior"),
    [
        ([1, 1], [1], 0.0),
        ([2], [1], 0.0),
        ([1], [0], 0.0),
        ([1], [1], np.inf),
    ],
)
def test_bad_input_is_refused(guesses, truths, prior):
    with pytest.raises(InputError):
        signed_epsilon_lower_bound(guesses, truths, prior)


def test_methods_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="binomial"):
        epsilon_lower_bound(10, 5, 4, 0.1, method="binomial")
    with pytest.raises(InputError, match="tau"):
        epsilon_lower_bound(10, 5, 4, 0.1, method="steinke", tau=0.1)
    with pytest.raises(InputError, match="Unknown method"):
        epsilon_lower_bound(10, 5, 4, method="magic")
    with pytest.raises(InputError, match="delta"):
        epsilon_lower_bound(10, 5, 4, 1.0)


def test_the_theorems_with_delta_are_not_trusted_where_the_worst_case_exceeds_them():
    """P(W >= 1) of two guesses on two coins at epsilon 1: both theorems say less than it can be."""
    from divulge.mechanisms.worst_case import worst_case

    epsilon, delta = 1.0, 0.05
    q = float(expit(epsilon))
    true = worst_case(2, {2: 1}, [(epsilon, delta)])
    beaten = 1.0 - (1.0 - q) ** 2 * (1.0 - 4.0 * delta)
    assert true > beaten + 1e-4
    assert counting.steinke_p_value(2, 2, 1, epsilon, delta) == 1.0
    assert counting.zero_run_p_value(2, 2, 1, epsilon, delta) == 1.0


@pytest.mark.parametrize(("m", "r", "c"), [(50, 40, 30), (400, 300, 260), (30_000, 20_000, 16_000)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 1.3])
def test_what_theorem_511_leaves_out_far_below_the_mean_is_counted_upwards(m, r, c, epsilon):
    from scipy.stats import binom

    q = float(expit(epsilon))
    steps = np.arange(1, c + 1)
    extra = m * 1e-5 * (1 + np.exp(-epsilon)) * np.sum(binom.pmf(c - steps, r, q) / steps)
    exact = float(binom.sf(c - 1, r, q) + extra)
    stated = counting.zero_run_p_value(m, r, c, epsilon, 1e-5)
    assert stated == pytest.approx(exact if exact <= 0.5 else 1.0, rel=1e-9, abs=1e-14)
