"""The known generator is what it says it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from divulge.errors import InputError
from divulge.mechanisms import KnownGenerator


@pytest.mark.parametrize("generator", [KnownGenerator(2.0, 1.0), KnownGenerator(1.0, 0.5, 0.1)])
def test_log_odds_are_the_frequencies(generator):
    shown = generator.sample(400_000, np.random.default_rng(0))
    for score in (shown.baseline, shown.attack):
        for level in np.unique(score):
            here = score == level
            rate, n = np.mean(shown.truth[here] > 0.0), here.sum()
            expected = expit(level)
            assert abs(rate - expected) < 4.0 * np.sqrt(expected * (1 - expected) / n) + 1e-9


def test_no_record_gives_more_away_than_c_unless_gamma_says_so():
    shown = KnownGenerator(1.5, 1.0).sample(10_000, np.random.default_rng(1))
    assert shown.baseline.max() == 1.5
    assert shown.attack.max() == 2.5


def test_delta_tells_the_truth():
    shown = KnownGenerator(0.0, 0.0, delta=0.1).sample(50_000, np.random.default_rng(2))
    certain = np.abs(shown.attack) > 10.0
    assert abs(certain.mean() - 0.1) < 0.01
    np.testing.assert_array_equal(np.sign(shown.attack[certain]), shown.truth[certain])


@pytest.mark.parametrize("bad", [{"c": -1.0}, {"gamma": 1.0}, {"share": 1.0}])
def test_nonsense_is_refused(bad):
    with pytest.raises(InputError):
        KnownGenerator(**bad)
