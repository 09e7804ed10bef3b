"""Direct bets on one of several values: the projection, its supermartingale, coverage, groups."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import expit, logit

from divulge.bounds.betting import bet_given
from divulge.bounds.direct import bet_values, explaining, log_factors, projection
from divulge.errors import InputError


def simplex(rng, rows, values):
    return rng.dirichlet(np.full(values, 0.7), rows) * (1 - 1e-6) + 1e-6 / values


def responses(epsilon, values, rows, rng, prior=None):
    """Randomised response: true values, and the exact posterior given the answers."""
    w = np.full((rows, values), 1.0 / values) if prior is None else prior
    y = (rng.random((rows, 1)) > np.cumsum(w, axis=1)).sum(axis=1)
    stay = np.exp(epsilon) / (np.exp(epsilon) + values - 1.0)
    others = (y + rng.integers(1, values, rows)) % values
    said = np.where(rng.random(rows) < stay, y, others)
    likelihood = np.ones((rows, values))
    likelihood[np.arange(rows), said] = np.exp(epsilon)
    q = w * likelihood
    return y, q / q.sum(axis=1, keepdims=True), w


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0])
def test_the_compiled_factor_is_that_of_the_projection(epsilon):
    rng = np.random.default_rng(0)
    q, w, y = simplex(rng, 300, 6), simplex(rng, 300, 6), rng.integers(0, 6, 300)
    near = projection(q, w, epsilon)
    ratio = near / w
    assert np.allclose(near.sum(axis=1), 1.0)
    assert np.all(ratio.max(axis=1) <= np.exp(epsilon) * ratio.min(axis=1) * (1 + 1e-9))
    expected = np.log(q / near)[np.arange(300), y]
    assert np.allclose(log_factors(q, w, y, epsilon), expected, atol=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("values", [2, 3, 6])
def test_between_two_priors_the_factor_is_that_of_the_projection(epsilon, values):
    """Nobody gains on average, whichever prior is right and whatever the posterior."""
    rng = np.random.default_rng(values)
    one, other = simplex(rng, 200, values), simplex(rng, 200, values)
    q, y = simplex(rng, 200, values), rng.integers(0, values, 200)
    low, high = np.minimum(one, other), np.maximum(one, other)
    near = projection(q, low, epsilon, high)
    assert np.allclose(near.sum(axis=1), 1.0)
    expected = np.log(q / near)[np.arange(200), y]
    assert np.allclose(log_factors(q, low, y, epsilon, upper=high), expected, atol=1e-9)
    gain = q / near
    for w in (one, other, 0.3 * one + 0.7 * other):
        for top in itertools.product([1.0, np.exp(epsilon)], repeat=values):
            p = w * np.array(top)
            p /= p.sum(axis=1, keepdims=True)
            assert (p * gain).sum(axis=1).max() <= 1.0 + 1e-9
    enough = explaining(q, low, high)
    near = projection(q, low, float(enough.max()), high)
    assert np.allclose(near, q)


def test_between_two_priors_of_two_values_it_is_the_larger_or_the_smaller_log_odds():
    rng = np.random.default_rng(3)
    one, other, q = (simplex(rng, 500, 2) for _ in range(3))
    low, high = np.minimum(one, other), np.maximum(one, other)
    odds = np.log(np.stack([one, other])[:, :, 1] / np.stack([one, other])[:, :, 0])
    at = np.clip(np.log(q[:, 1] / q[:, 0]), odds.min(axis=0) - 0.4, odds.max(axis=0) + 0.4)
    assert np.allclose(projection(q, low, 0.4, high)[:, 1], expit(at))


@pytest.mark.parametrize("values", [2, 3, 5])
def test_no_mechanism_of_that_epsilon_gains_on_average(values):
    """Over every vertex of the set the expected factor is at most 1."""
    rng = np.random.default_rng(values)
    q, w = simplex(rng, 200, values), simplex(rng, 200, values)
    for epsilon in (0.2, 1.0, 2.5):
        gain = q / projection(q, w, epsilon)
        largest = 0.0
        for high in itertools.product([1.0, np.exp(epsilon)], repeat=values):
            p = w * np.array(high)
            p /= p.sum(axis=1, keepdims=True)
            largest = max(largest, float((p * gain).sum(axis=1).max()))
        assert largest <= 1.0 + 1e-9
        assert largest > 1.0 - 1e-6  # and it is attained: nothing is given away


def test_two_values_are_the_bet_with_prior_log_odds():
    rng = np.random.default_rng(3)
    prior, belief = expit(rng.normal(size=800)), expit(2.0 * rng.normal(size=800))
    truth = rng.random(800) < belief
    coins = bet_given(belief, np.where(truth, 1.0, -1.0), logit(prior), error=0.05)
    values = bet_values(
        np.column_stack([1.0 - belief, belief]),
        np.column_stack([1.0 - prior, prior]),
        truth.astype(np.intp),
        error=0.05,
    )
    assert coins.epsilon > 0.5
    assert values.epsilon == pytest.approx(coins.epsilon, abs=0.0101)


def test_at_the_edge_claims_are_false_no_more_often_than_stated():
    """Randomised response with five values and a forecast that is too sure of itself."""
    false, games, epsilon = 0, 400, 1.0
    for seed in range(games):
        rng = np.random.default_rng(seed)
        prior = simplex(rng, 150, 5)
        y, q, w = responses(epsilon, 5, 150, rng, prior)
        bold = w * (q / w) ** 1.6 * np.exp(0.3 * rng.normal(size=q.shape))
        bold /= bold.sum(axis=1, keepdims=True)
        false += bet_values(bold, w, y, error=0.05).epsilon > epsilon
    assert false / games <= 0.085


def test_it_proves_nearly_all_there_is():
    rng = np.random.default_rng(5)
    for values, epsilon in ((2, 2.0), (10, 4.0)):
        y, q, w = responses(epsilon, values, 10_000, rng)
        found = bet_values(q, w, y, error=0.025).epsilon
        assert 0.92 * epsilon < found < epsilon


def test_a_value_in_several_records_proves_its_share():
    rng = np.random.default_rng(6)
    y, q, w = responses(4.0, 8, 2000, rng)
    alone = bet_values(q, w, y, error=0.05)
    twice = bet_values(q, w, y, copies=np.full(2000, 2), error=0.05)
    assert twice.epsilon == pytest.approx(alone.epsilon / 2.0, abs=0.011)
    assert alone.running(100) <= alone.running(2000) == alone.epsilon
    assert alone.leak


def test_a_value_that_is_not_there_changes_nothing():
    rng = np.random.default_rng(7)
    y, q, w = responses(2.0, 4, 500, rng)
    wider = [np.column_stack([a, np.zeros(500)]) for a in (q, w)]
    assert bet_values(*wider, y).epsilon == bet_values(q, w, y).epsilon


def test_nothing_is_staked_on_the_prior_itself():
    w = simplex(np.random.default_rng(8), 100, 4)
    found = bet_values(w, w, np.zeros(100, dtype=np.intp))
    assert found.epsilon == 0.0
    assert not found.leak
    assert np.allclose(found.wealth, 1.0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda q, w, y: (q[:, :2], w, y), "one shape"),
        (lambda q, w, y: (2.0 * q, w, y), "row of the forecast"),
        (lambda q, w, y: (q, np.where(w > 0, np.nan, w), y), "row of the prior"),
        (lambda q, w, y: (q, w, y + 9), "prior 0"),
        (lambda q, w, y: (np.eye(3)[np.zeros(50, dtype=int)], w, y), "stakes all"),
        (lambda q, w, y: (q, w, y[:3]), "one value per row"),
    ],
)
def test_bad_tables_are_refused(change, said):
    rng = np.random.default_rng(9)
    y, q, w = responses(1.0, 3, 50, rng)
    with pytest.raises(InputError, match=said):
        bet_values(*change(q, w, y))
    with pytest.raises(InputError, match="copies"):
        bet_values(q, w, y, copies=np.zeros(50))
