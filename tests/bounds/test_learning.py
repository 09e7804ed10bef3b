from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

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


_SCORES = {
    "distinct": lambda x: x,
    "ties": lambda x: np.round(x, 1),
    "ties up to rounding": lambda x: np.round(x, 1) * (1.0 + 1e-16 * np.arange(x.size)),
    "chains of rounding": lambda x: 1e-15 * x,
    "constant": np.ones_like,
    "single precision": lambda x: x.astype(np.float32),
}


@pytest.mark.filterwarnings("ignore:Confidence interval")
@pytest.mark.filterwarnings("ignore:An input array is constant")
@pytest.mark.parametrize("made", list(_SCORES))
@pytest.mark.parametrize("slope", [0.3, -0.3, 0.0, 5.0])
def test_isotonic_regression_is_that_of_scikit_learn(made, slope):
    for size in (2, 9, 300):
        rng = np.random.default_rng(size)
        truth = np.where(np.arange(size) % 2 == 0, 1.0, -1.0)
        score = _SCORES[made](slope * truth + rng.normal(size=size))
        weights = np.where(rng.random(size) < 0.1, 0.0, rng.exponential(size=size))
        theirs = IsotonicRegression(increasing="auto", out_of_bounds="clip")
        theirs.fit(score, truth > 0.0, sample_weight=weights)
        at = np.concatenate([score, 1.5 * score, rng.permutation(score) + 0.01])
        np.testing.assert_allclose(
            learning._monotone(score, truth, weights)(at),
            theirs.predict(at),
            rtol=0.0,
            atol=1e-12 if score.dtype == float else 1e-6,
        )


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_isotonic_refuses_what_is_no_number(value):
    score, truth = np.array([[0.0], [1.0]]), np.array([-1.0, 1.0])
    predict = learning.isotonic(score, truth, np.zeros(2))
    with pytest.raises(ValueError, match="finite"):
        predict(np.array([[value]]))
    with pytest.raises(ValueError, match="finite"):
        learning.isotonic(np.array([[value], [1.0]]), truth, np.zeros(2))


def test_evidence_does_not_depend_on_the_precision_of_the_scores():
    """scikit-learn interpolates single precision in single precision: levels fell apart."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = rng.choice([-1.0, 1.0], 100)
        score = (0.3 * truth + rng.normal(size=100)).astype(np.float32)[:, None]
        wide = score.astype(float)
        np.testing.assert_array_equal(
            learning.isotonic(score, truth, np.zeros(100))(score),
            learning.isotonic(wide, truth, np.zeros(100))(wide),
        )
