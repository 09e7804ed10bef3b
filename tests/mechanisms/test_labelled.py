from __future__ import annotations

import numpy as np
import pytest

from divulge.errors import InputError
from divulge.mechanisms.labelled import KINDS, NoisyLabels


@pytest.mark.parametrize("kind", KINDS)
def test_labels_follow_the_stated_distribution(kind):
    table = NoisyLabels(kind).sample(40_000, np.random.default_rng(0))
    p = table.truth[:, 1]
    for low in (0.0, 0.25, 0.5, 0.75):
        there = (p >= low) & (p < low + 0.25)
        if there.sum() > 50:
            spread = np.sqrt((p[there] * (1 - p[there])).sum())
            assert abs(table.codes[there].sum() - p[there].sum()) < 4 * spread


def test_the_target_is_the_posterior_of_randomised_response():
    table = NoisyLabels("gaussian", 2.0, classes=3).sample(60_000, np.random.default_rng(1))
    own = table.target[np.arange(60_000), table.codes]
    for low in (0.2, 0.5, 0.8):
        there = (own > 0) & (table.target[:, 0] >= low) & (table.target[:, 0] < low + 0.1)
        p = table.target[there, 0]
        spread = np.sqrt((p * (1 - p)).sum())
        assert abs((table.codes[there] == 0).sum() - p.sum()) < 4 * spread
    ratio = np.log(table.target / table.truth)
    assert np.abs(ratio).max() <= 2.0


@pytest.mark.parametrize("tau", [0.001, 0.05])
def test_the_proxy_is_within_tau(tau):
    table = NoisyLabels("gaussian", classes=3, tau=tau).sample(2000, np.random.default_rng(2))
    distance = 0.5 * np.abs(table.proxy - table.truth).sum(axis=1)
    assert distance.max() <= tau + 1e-12
    assert np.allclose(table.proxy.sum(axis=1), 1.0)
    assert distance.mean() > 0.5 * tau


def test_reach_is_the_largest_ratio_where_the_record_says_nothing():
    mechanism = NoisyLabels("uniform", 1.5, classes=4)
    table = mechanism.sample(2000, np.random.default_rng(3))
    assert np.abs(np.log(table.target / table.truth)).max() == pytest.approx(mechanism.reach)
    assert mechanism.reach < 1.5


def test_bad_parameters():
    for wrong in ({"kind": "square"}, {"epsilon": -1.0}, {"tau": 1.0}):
        with pytest.raises(InputError):
            NoisyLabels(**wrong)
    with pytest.raises(InputError, match="two classes"):
        NoisyLabels("curved", classes=3)
