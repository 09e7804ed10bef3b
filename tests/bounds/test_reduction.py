from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from divulge.bounds import bet, bet_given, reduction
from divulge.mechanisms import GaussianMechanism, Null


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 4.0])
def test_kappa_is_largest_for_even_coins(epsilon):
    prior = np.linspace(-5.0, 5.0, 101)
    found = reduction.kappa(prior, epsilon)
    assert found.argmax() == 50
    assert found[50] == pytest.approx(1.0 / (1.0 + math.exp(epsilon)))
    w = expit(prior)
    both = w * (1 - w)
    plain = both / (w + math.exp(epsilon) * (1 - w)) + both / (1 - w + math.exp(epsilon) * w)
    assert found == pytest.approx(plain)


def test_priors_are_rounded_towards_even():
    prior = np.random.default_rng(0).normal(size=1000)
    staked = reduction.Staked(prior)
    exact = float(reduction.kappa(prior, 1.0).sum())
    assert exact <= staked.expected(1.0, 1.0) <= 1.02 * exact
    assert staked.trials == 1000


def test_the_better_form_sets_the_goal():
    staked = reduction.Staked(np.zeros(2000))
    first = -math.log(0.05 - 0.02 / (1.0 + math.exp(3.0)))
    assert staked.log_goal(1e-5, 3.0, 0.05) == pytest.approx(first)
    assert staked.log_goal(0.0, 3.0, 0.05) == pytest.approx(-math.log(0.05))
    many = reduction.Staked(np.zeros(1_000_000))
    j = np.arange(200, 5000)
    second = np.min(j * math.log1p(math.exp(-3.0)) - np.log(0.05 - 10.0 / (j + 1)))
    assert second <= many.log_goal(1e-5, 3.0, 0.05) <= second + 0.1
    assert many.log_goal(1e-5, 0.0, 0.05) < math.inf


def test_bets_prove_epsilon_at_delta():
    rng = np.random.default_rng(3)
    trials = GaussianMechanism(2.0).sample(3000, rng)
    found = bet(trials.score, trials.truth, rng=0, deltas=(1e-9, 1e-5, 1e-3))
    values = [at.epsilon for at in found.at_delta]
    assert values == sorted(values, reverse=True)
    assert found.epsilon >= values[0] >= found.epsilon - 0.02
    assert 2.0 < values[1] <= GaussianMechanism(2.0).curve.epsilon(1e-5)
    assert [at.delta for at in found.at_delta] == [1e-9, 1e-5, 1e-3]


def test_nothing_leaks_nothing_is_proved():
    trials = Null().sample(500, np.random.default_rng(0))
    assert bet(trials.score, trials.truth, rng=0, deltas=(1e-5,)).at_delta[0].refuted == 0


def test_a_delta_that_explains_all_leaves_nothing():
    q = np.full(20, 0.99)
    sure = bet_given(q, np.ones(20), deltas=(1e-6, 0.5))
    assert sure.at_delta[0].epsilon > 1.0
    assert sure.at_delta[1].epsilon == 0.0
