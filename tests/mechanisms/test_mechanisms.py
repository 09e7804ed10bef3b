from __future__ import annotations

import numpy as np
import pytest

from divulge import curves, mechanisms
from divulge.errors import InputError

SCALAR = [
    mechanisms.Null(),
    mechanisms.GaussianMechanism(1.2),
    mechanisms.LaplaceMechanism(1.5),
    mechanisms.RandomisedResponse(1.0),
    mechanisms.RandomisedResponse(2.0, 5),
    mechanisms.SubsampledGaussianMechanism(2.0, 0.4),
]


@pytest.mark.parametrize("mechanism", SCALAR, ids=lambda m: m.name)
def test_the_samples_have_the_stated_curve(mechanism, rng):
    """The sampled ROC of the exact likelihood ratio touches the curve and does not cross it."""
    trials = mechanism.sample(200_000, rng)
    sampled = curves.from_scores(mechanism.evidence(trials.score), trials.truth)
    at = np.linspace(0.02, 0.98, 25)
    np.testing.assert_allclose(sampled(at), mechanism.curve(at), atol=0.02)


def test_the_strong_records_of_the_mixture_have_its_curve(rng):
    mechanism = mechanisms.MixedExposure(strong=2.0, weak=0.1, share=0.5)
    trials = mechanism.sample(200_000, rng)
    strong = trials.select(np.abs(trials.score) > 1.0)
    sampled = curves.from_scores(strong.score, strong.truth)
    at = np.linspace(0.02, 0.98, 25)
    np.testing.assert_allclose(sampled(at), mechanism.curve(at), atol=0.02)


@pytest.mark.parametrize("mechanism", SCALAR, ids=lambda m: m.name)
def test_truths_follow_the_prior(mechanism, rng):
    trials = mechanism.sample(50_000, rng, np.log(9.0))
    assert np.mean(trials.truth > 0) == pytest.approx(0.9, abs=0.01)
    np.testing.assert_array_equal(trials.log_odds, np.log(9.0))


def test_noisy_sum_is_gaussian_in_the_direction_of_one_record(rng):
    """With one trial, the score of a member is N(1, 1/mu^2), of a non-member N(0, 1/mu^2)."""
    mechanism = mechanisms.NoisySum(mu=0.66, dimension=5)
    drawn = [mechanism.sample(1, rng) for _ in range(4000)]
    score = np.array([t.score[0] for t in drawn])
    truth = np.array([t.truth[0] for t in drawn])
    assert score[truth > 0].mean() == pytest.approx(1.0, abs=0.12)
    assert score[truth < 0].mean() == pytest.approx(0.0, abs=0.12)
    assert score[truth < 0].std() == pytest.approx(1 / 0.66, rel=0.06)


def test_noisy_sum_records_have_norm_one_and_lean(rng):
    mechanism = mechanisms.NoisySum(dimension=50, bias=3.0, decay=0.2)
    truth = np.repeat([1.0, -1.0], 2000)
    x = mechanism.records(truth, rng)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0)
    assert x[:2000, 0].mean() > 3 * x[2000:, 0].mean() > 0
    with pytest.raises(InputError, match="shift"):
        mechanism.sample(10, rng)


def test_ties_are_heavy(rng):
    trials = mechanisms.Tied(mechanisms.GaussianMechanism(1.0)).sample(1000, rng)
    assert np.unique(trials.score).size < 12


def test_proxy_error_has_the_stated_total_variation(rng):
    trials = mechanisms.ProxyError(0.1).sample(200_000, rng)
    shown = [np.mean(trials.score[trials.truth == s] > 0) for s in (1.0, -1.0)]
    assert shown[0] - shown[1] == pytest.approx(0.1, abs=0.01)
    for value in np.unique(trials.log_odds):
        at = trials.log_odds == value
        odds = np.mean(trials.truth[at] > 0) / np.mean(trials.truth[at] < 0)
        assert np.log(odds) == pytest.approx(value, abs=0.03)


def test_rare_disclosure_fails_with_probability_delta(rng):
    """Over many games a record is disclosed with probability delta, whole games at a time."""
    mechanism = mechanisms.RareDisclosure(0.5, 0.02, 0.1)
    games = [mechanism.sample(50, rng) for _ in range(4000)]
    shown = np.array([np.abs(g.score) > 1.0 for g in games])
    assert shown.mean() == pytest.approx(0.02, abs=0.002)
    assert shown.any(axis=1).mean() == pytest.approx(0.1, abs=0.015)
    for game in games[:200]:
        sure = np.abs(game.score) > 1.0
        np.testing.assert_array_equal(np.sign(game.score[sure]), game.truth[sure])
    noisy = [g for g, s in zip(games, shown, strict=True) if np.all(g.score != 0.0) and not s.any()]
    right = np.mean([g.score == g.truth for g in noisy])
    assert right == pytest.approx(1 / (1 + np.exp(-0.5)), abs=0.005)
    with pytest.raises(InputError):
        mechanisms.RareDisclosure(0.5, 0.2, 0.1)
