from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from divulge.bounds import binomial_epsilon_lower_bound, weighted
from divulge.bounds.reduction import Staked
from divulge.errors import InputError
from divulge.mechanisms import GaussianMechanism, Null
from divulge.selftest.exact.at_delta import equal_weights


def brute_force(guessed, u, weight):
    pmf = np.ones(1)
    for level, n in enumerate(guessed):
        for _ in range(n if level else 0):
            step = np.zeros(level + 1)
            step[[0, level]] = 1.0 - u, u
            pmf = np.convolve(pmf, step)
    return float(pmf[weight:].sum())


@pytest.mark.parametrize("weight", [1, 60, 140, 190, 232])
def test_the_tail_is_that_of_the_sum(weight):
    guessed = np.zeros(weighted.LEVELS + 1, dtype=np.int64)
    guessed[[0, 1, 3, 32]] = 7, 12, 20, 5
    exact = brute_force(guessed, 0.7, weight)
    assert min(exact, 1.0) <= weighted.tail(guessed, 0.7, weight) <= exact + 1e-8


def test_a_window_of_the_tail_is_enough():
    guessed = np.zeros(weighted.LEVELS + 1, dtype=np.int64)
    guessed[4] = 200_000
    exact = float(binom.sf(146_299, 200_000, 0.73))
    assert exact <= weighted.tail(guessed, 0.73, 4 * 146_300) <= exact + 1e-7
    assert weighted.tail(guessed, 0.73, 4 * 190_000) <= 2e-8
    assert weighted.tail(guessed, 0.73, 4 * 100_000) == 1.0


def test_equal_weights_are_the_binomial_bound():
    found = weighted.epsilon_lower_bound(equal_weights(100, 60, 50), 0.0, 0.05)
    assert found == pytest.approx(binomial_epsilon_lower_bound(100, 60, 50, 0.05), abs=1e-4)


def test_a_delta_costs_and_never_gains():
    found = [
        weighted.epsilon_lower_bound(equal_weights(2000, 300, 280), delta)
        for delta in (0.0, 1e-6, 1e-5, 1e-4, 1e-3)
    ]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1] > 0.5


def test_nothing_is_proved_by_chance_or_without_evidence():
    assert weighted.epsilon_lower_bound(equal_weights(100, 60, 32)) == 0.0
    truth = np.ones(50)
    assert weighted.weigh(np.zeros(50), truth, 0.0).guesses == 0
    assert weighted.choose_target(np.zeros(50), 1e-5, 0.05) == 0.0
    assert weighted.epsilon_lower_bound(weighted.weigh(np.zeros(50), truth, 0.0)) == 0.0


def test_weights_grow_with_the_evidence_beyond_the_target():
    found = weighted.weigh(np.array([3.0, -2.0, 1.0, 0.5]), np.array([1.0, 1.0, 1.0, 1.0]), 1.0)
    assert found.guessed[weighted.LEVELS] == 1
    assert found.guessed[weighted.LEVELS // 2] == 1
    assert found.guesses == 2
    assert found.right == weighted.LEVELS


def test_gaussian_scores_prove_more_than_a_plain_count():
    rng = np.random.default_rng(1)
    trials = GaussianMechanism(2.0).sample(2000, rng)
    found = weighted.calibrated(trials, rng, delta=1e-5)
    assert 3.0 < found < GaussianMechanism(2.0).curve.epsilon(1e-5)
    assert weighted.calibrated(Null().sample(2000, rng), rng, delta=1e-5) == 0.0
    assert weighted.calibrated(trials.select(np.arange(1)), rng) == 0.0


def test_bad_arguments():
    for delta, error in ((-0.1, 0.05), (0.0, 0.0), (0.0, 0.7)):
        with pytest.raises(InputError):
            weighted.epsilon_lower_bound(equal_weights(10, 10, 10), delta, error)


def test_the_spent_error_is_a_third_at_most():
    for expected in (1e-4, 0.02, 0.2, 3.0):
        parts = weighted.segments(expected, 0.05)
        assert parts[0][0] == 0.0
        assert [j for _, j in parts] == sorted((j for _, j in parts), reverse=True)
        for start, j in parts:
            assert expected * expit(-start) / (j + 1) <= 0.05 / 3 * (1.0 + 1e-9)


def test_a_handful_of_trials_proves_nothing_and_fails_nowhere():
    rng = np.random.default_rng(0)
    for size in range(2, 24):
        trials = Null().sample(size, rng, 0.0)
        assert weighted.calibrated(trials, rng, delta=1e-5) >= 0.0


def test_a_prior_however_small_makes_the_largest_factor_larger():
    assert Staked(np.zeros(10))._largest == 0.0
    assert Staked(np.full(10, 0.049))._largest >= 0.049


def test_weighted_guesses_refuse_loaded_coins(rng):
    trials = Null().sample(200, rng, 1.0)
    with pytest.raises(InputError, match="fair coins"):
        weighted.calibrated(trials, rng)
