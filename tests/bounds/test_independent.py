"""Bounds under independent scores: limits, thresholds, and failures that are independent."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, norm

from divulge.bounds import independent, weighted
from divulge.errors import InputError
from divulge.selftest.exact.at_delta import equal_weights


def test_every_trial_guessed_is_one_clopper_pearson_limit():
    low = beta.ppf(0.05, 700, 301)
    assert independent.mu_lower_bound(1000, 700, 300) == pytest.approx(2 * norm.ppf(low), abs=1e-6)
    assert independent.mu_lower_bound(1000, 500, 500) == 0.0


def test_right_and_wrong_guesses_share_the_error():
    found = independent.mu_lower_bound(1000, 100, 5, share=0.25)
    low, high = beta.ppf(0.0125, 100, 901), beta.ppf(1 - 0.0375, 6, 995)
    assert found == pytest.approx(norm.ppf(low) - norm.ppf(high), abs=1e-6)
    assert independent.mu_lower_bound(1000, 0, 0, share=0.5) == 0.0
    assert independent.mu_lower_bound(1000, 1, 0, share=0.5) == 0.0  # a limit nearer than one


def test_independent_failures_cost_less_than_any_failures():
    for delta in (1e-6, 1e-5, 1e-4, 1e-3):
        counted = equal_weights(20_000, 3000, 2800)
        alone = independent.epsilon_lower_bound(counted, delta)
        assert alone >= weighted.epsilon_lower_bound(counted, delta) - 1e-4
    pure = weighted.epsilon_lower_bound(equal_weights(500, 200, 180), 0.0)
    assert independent.epsilon_lower_bound(equal_weights(500, 200, 180), 0.0) == pytest.approx(pure)


def test_segments_start_at_zero_and_spend_little():
    parts = independent.segments(200_000, 1e-5, 0.05)
    assert parts[0][0] == 0.0
    assert parts[-1][1] == 0
    for start, j in parts:
        assert (j + 1) * independent.spent(200_000, 1e-5, start, j) <= 0.05 / 3 * (1 + 1e-9)


def test_thresholds_follow_the_evidence():
    rng = np.random.default_rng(0)
    even = np.where(rng.random(500) < 0.5, 1.0, -1.0)
    assert independent.choose_threshold(even, 5000, 0.05)[0] in (0.0, 1.0)
    few = np.where(rng.random(2000) < 0.05, 6.0, 0.01)
    threshold, share = independent.choose_threshold(few, 20_000, 0.05)
    assert threshold > 0.01
    assert share is not None


def test_what_is_counted():
    evidence, truth = np.array([2.0, -1.0, 0.0, 0.5]), np.array([1.0, 1.0, 1.0, -1.0])
    assert independent.count(evidence, truth, 0.0) == (2, 2)
    assert independent.count(evidence, truth, 1.0) == (1, 1)


@pytest.mark.parametrize("counts", [(10, 6, 5), (10, -1, 2), (0, 0, 0)])
def test_impossible_counts(counts):
    with pytest.raises(InputError):
        independent.mu_lower_bound(*counts, share=0.5)
    with pytest.raises(InputError):
        independent.mu_lower_bound(10, 5, 2)
