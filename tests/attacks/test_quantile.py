from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planted import auc, classifier

from divulge.attacks import logit_gap
from divulge.attacks.quantile import ATTACK, standard_scores
from divulge.errors import InputError


def test_scores_of_records_like_the_population_are_standard_whatever_their_features(rng):
    """Mean and deviation are known functions of the feature; both are found again."""
    x = rng.uniform(-1.0, 1.0, size=(8_000, 1))
    signal = np.sin(3 * x[:, 0]) * 3 + np.exp(x[:, 0]) * rng.normal(size=8_000)
    score = standard_scores(signal[:4000], x[:4000], signal[4000:], x[4000:])
    exact = (signal - np.sin(3 * x[:, 0]) * 3) / np.exp(x[:, 0])
    assert np.corrcoef(score, exact[:4000])[0, 1] > 0.97
    low, high = x[:4000, 0] < -0.5, x[:4000, 0] > 0.5
    assert abs(score[low].mean() - score[high].mean()) < 0.15
    assert score[low].std() == pytest.approx(score[high].std(), rel=0.15)


def test_it_beats_the_signal_alone_where_features_say_what_is_hard(rng):
    seen, member = classifier(rng, gain=1.0)
    assert auc(ATTACK(seen), member) > auc(logit_gap.ATTACK(seen), member) + 0.02


def test_needs_are_named(rng):
    seen, _ = classifier(rng, n=40)
    with pytest.raises(InputError, match="'quantile' also needs: the feature columns"):
        ATTACK(replace(seen, features=None))
    with pytest.raises(InputError, match="features of the population"):
        ATTACK(replace(seen, population=replace(seen.population, features=None)))
    with pytest.raises(InputError, match="Records have 2 features, the population 3"):
        standard_scores(np.zeros(2), np.zeros((2, 2)), np.zeros(60), np.zeros((60, 3)))
    with pytest.raises(InputError, match=r"at least 50 population records\. Found 3"):
        standard_scores(np.zeros(2), np.zeros((2, 1)), np.zeros(3), np.zeros((3, 1)))
