from __future__ import annotations

import numpy as np
import pytest

from divulge.errors import CannotConclude
from divulge.mechanisms import GaussianMechanism
from divulge.shift import balance, keep_probabilities
from divulge.trials import Trials


@pytest.mark.parametrize("shift", [0.5, 2.0])
def test_kept_truths_are_fair_coins_at_every_prior(rng, shift):
    prior = shift * rng.standard_normal(200_000)
    trials = GaussianMechanism(1.0).sample(200_000, rng, prior)
    keep = rng.random(200_000) < keep_probabilities(trials.truth, prior)
    for low, high in ((-9, -1), (-1, 0), (0, 1), (1, 9)):
        inside = keep & (prior > low) & (prior < high)
        assert np.mean(trials.truth[inside] > 0) == pytest.approx(0.5, abs=0.02)
    expected = 2 * np.mean(1 / (1 + np.exp(np.abs(prior))))
    assert keep.mean() == pytest.approx(expected, abs=0.01)


def test_balanced_trials_have_no_prior(rng):
    trials = GaussianMechanism(1.0).sample(1000, rng, 2.0)
    kept = balance(trials, rng)
    assert np.all(kept.log_odds == 0.0)
    assert len(kept) < 1000


def test_nothing_left_is_said(rng):
    with pytest.raises(CannotConclude):
        balance(Trials(np.zeros(3), np.ones(3), np.full(3, 50.0)), rng)
