from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from divulge.bounds import Target, calibrated, guessing, top_guesses, union
from divulge.errors import InputError
from divulge.mechanisms import GaussianMechanism, MixedExposure, Null, Tied
from divulge.trials import Trials


def test_top_guesses_takes_the_surest(rng):
    confidence = np.array([0.1, -3.0, 2.0, 0.0, -0.2])
    np.testing.assert_array_equal(top_guesses(confidence, 2, rng), [0, -1, 1, 0, 0])
    assert np.count_nonzero(top_guesses(confidence, 5, rng)) == 5
    with pytest.raises(InputError):
        top_guesses(confidence, 6, rng)


def test_ties_do_not_follow_the_order_of_the_rows(rng):
    """A table sorted by truth with a constant score must look like noise."""
    truth = np.repeat([1.0, -1.0], 500)
    correct = [
        guessing.count_correct(
            top_guesses(guessing.centred_ranks(np.zeros(1000)), 100, rng), truth
        ).correct
        for _ in range(200)
    ]
    assert abs(np.mean(correct) - 50) < 4 * 5 / np.sqrt(200)


def test_centred_ranks_share_ties():
    np.testing.assert_allclose(guessing.centred_ranks(np.array([5.0, 1.0, 1.0, 9.0])).sum(), 0.0)
    ranks = guessing.centred_ranks(np.array([5.0, 1.0, 1.0, 9.0]))
    assert ranks[1] == ranks[2] < ranks[0] < ranks[3]


def test_calibrated_guesses_spend_the_calibration_share(rng):
    counts = calibrated(GaussianMechanism(1.0).sample(5000, rng), rng)
    assert counts.trials == 4500
    assert 0 < counts.guesses <= 4500


def test_calibrated_counts_do_not_see_the_counted_truths(rng):
    """The number of guesses is a function of the scores and the calibration truths alone."""
    trials = GaussianMechanism(1.0).sample(2000, rng)
    order = np.random.default_rng(9).permutation(2000)
    flipped = trials.truth.copy()
    flipped[order[200:]] *= -1
    one = calibrated(trials, np.random.default_rng(9))
    two = calibrated(Trials(trials.score, flipped, trials.log_odds), np.random.default_rng(9))
    assert one.guesses == two.guesses
    assert one.correct + two.correct == one.guesses


@pytest.mark.parametrize("delta", [None, 0.0, 1e-5])
def test_both_ways_find_a_leak(delta, rng):
    trials = GaussianMechanism(1.5).sample(5000, rng)
    target = Target(delta)
    assert target.bound(calibrated(trials, rng, target=target), 0.05) > 0.3
    assert union(trials, rng, target=target) > 0.3


def test_few_strong_records_are_found_by_calibration(rng):
    trials = MixedExposure().sample(20_000, rng)
    assert Target(0.0).bound(calibrated(trials, rng, target=Target(0.0)), 0.05) > 3.0


@pytest.mark.parametrize("m", [1, 2, 10, 40])
def test_tiny_games(m, rng):
    for mechanism in (Null(), Tied(GaussianMechanism(1.0))):
        trials = mechanism.sample(m, rng)
        if m > 1:
            assert Target().bound(calibrated(trials, rng), 0.05) >= 0.0
        assert union(trials, rng) >= 0.0


def gaussian_accuracy(trials: int, mu: float = 0.5) -> np.ndarray:
    """Expected accuracy of every guess about a Gaussian leak, largest first."""
    truth = np.where(np.arange(trials) % 2 == 0, 1.0, -1.0)
    score = np.random.default_rng(0).normal(size=trials) + mu * (truth > 0)
    return np.sort(expit(np.abs(mu * (score - mu / 2.0))))[::-1]


def test_among_very_many_trials_epsilon_counts_as_well():
    accuracy = gaussian_accuracy(5_000_000)

    def bounds(guesses):
        correct = int(accuracy[:guesses].sum())
        counts = guessing.Counts(accuracy.size, guesses, correct)
        return guessing.MU.bound(counts, 0.05), guessing.Target(1e-4).bound(counts, 0.05)

    alone = bounds(guessing.choose_guesses(accuracy))
    both = bounds(guessing.choose_guesses(accuracy, deltas=(1e-4,)))
    assert both[0] > 0.9 * alone[0]
    assert both[1] > 1.5 * alone[1]


def test_among_few_trials_a_delta_changes_nothing():
    accuracy = gaussian_accuracy(50_000)
    assert guessing.choose_guesses(accuracy) == guessing.choose_guesses(accuracy, deltas=(1e-5,))
