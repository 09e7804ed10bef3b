"""A named headline on few trials, or of a loaded coin, has a test that can speak."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit

from divulge.games.canaries.play import audit_trials
from divulge.mechanisms import Null, RandomisedResponse
from divulge.proof.rule import Named


def claimed(mechanism, size, coin, named, seed):
    rng = np.random.default_rng([size, seed])
    drawn = mechanism.sample(size, rng, float(logit(coin)))
    score = np.asarray(drawn.score).reshape(size, -1)
    result = audit_trials(score, drawn.truth, probability=coin, headline=Named.of(named), seed=seed)
    (bound,) = result.headline()
    return bound


@pytest.mark.parametrize(("size", "coin"), [(60, 0.5), (95, 0.5), (500, 0.95)])
@pytest.mark.parametrize("named", ["epsilon", "epsilon@1e-5"])
def test_a_strong_leak_is_heard(size, coin, named):
    assert claimed(RandomisedResponse(4.0), size, coin, named, 0).value > 1.0


@pytest.mark.slow
def test_nothing_leaks_and_seldom_is_anything_claimed():
    false = sum(claimed(Null(), 60, 0.5, "epsilon", g).value > 0.0 for g in range(100))
    assert false <= 12  # 5 are expected at most; more than 12 with a probability of 0.2%


def test_a_bound_under_independent_scores_is_an_estimate():
    assert claimed(RandomisedResponse(4.0), 500, 0.5, "independent:mu", 0).standing == "estimated"
