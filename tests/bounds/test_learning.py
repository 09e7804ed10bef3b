from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from divulge.bounds import learning
from divulge.mechanisms import GaussianMechanism, LaplaceMechanism


@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_logistic_recovers_the_log_likelihood_ratio(rng, shift):
    mechanism = GaussianMechanism(1.5)
    trials = mechanism.sample(20_000, rng, shift * rng.standard_normal(20_000))
    predict = learning.logistic(trials.score[:, None], trials.truth, trials.log_odds)
    at = np.array([-1.0, 0.0, 1.0])
    np.testing.assert_allclose(predict(at[:, None]), mechanism.evidence(at), atol=0.15)


@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_isotonic_recovers_a_saturating_ratio(rng, shift):
    mechanism = LaplaceMechanism(2.0)
    trials = mechanism.sample(40_000, rng, shift * rng.standard_normal(40_000))
    predict = learning.isotonic(trials.score[:, None], trials.truth, trials.log_odds)
    at = np.array([-2.5, 0.0, 2.5])
    np.testing.assert_allclose(predict(at[:, None]), mechanism.evidence(at), atol=0.35)


def test_boosting_finds_an_interaction(rng):
    x = rng.normal(size=(6000, 2))
    truth = np.where(rng.random(6000) < expit(2 * np.sign(x[:, 0] * x[:, 1])), 1.0, -1.0)
    predict = learning.boosting(x, truth, np.zeros(6000))
    assert predict(np.array([[1.0, 1.0]]))[0] > 1.0
    assert predict(np.array([[1.0, -1.0]]))[0] < -1.0


@pytest.mark.parametrize("learner", list(learning.LEARNERS.values()))
def test_evidence_is_capped_by_the_number_of_revealed_trials(learner):
    truth = np.where(np.arange(200) % 2 == 0, 1.0, -1.0)
    predict = learner(truth[:, None] * 5.0, truth, np.zeros(200))
    assert np.all(np.abs(predict(np.array([[100.0], [-100.0]]))) <= np.log(201) + 1e-9)


@pytest.mark.parametrize("slope", [1.0, -1.0])
def test_the_direction_of_many_trials_is_the_one_of_few(slope, monkeypatch):
    """Two sorts say the same as Spearman's correlation, ties or not."""
    rng = np.random.default_rng(0)
    for digits in (8, 1):
        truth = np.where(rng.random(500) < 0.5, 1.0, -1.0)
        score = np.round(0.3 * slope * truth + rng.normal(size=500), digits)[:, None]
        monkeypatch.setattr(learning, "_MANY", 10**9)
        few = learning.isotonic(score, truth, np.zeros(500))(score)
        monkeypatch.setattr(learning, "_MANY", 0)
        np.testing.assert_array_equal(learning.isotonic(score, truth, np.zeros(500))(score), few)


def test_the_luckiest_level_of_many_is_not_believed():
    """Nothing is known beyond 73%: no level may claim much more, and none was claimed before."""
    rng = np.random.default_rng(8)
    trials = LaplaceMechanism(1.0).sample(20_000, rng)
    none = np.zeros(len(trials))
    predict = learning.isotonic(trials.score[:, None], trials.truth.astype(float), none)
    assert np.abs(predict(trials.score[:, None])).max() < 1.5


def test_a_level_that_is_far_from_the_next_is_kept():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1.0, 1.0], 20_000)
    known = rng.random(20_000) < 0.01
    score = np.where(known & (truth > 0), 5.0, rng.standard_normal(20_000))
    predict = learning.isotonic(score[:, None], truth, np.zeros(truth.size))
    assert predict(np.array([[5.0]]))[0] > 3.0
