"""Several draws of one audit: the rules that combine them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from divulge.bounds import betting, several_draws
from divulge.bounds.counting import binomial_epsilon_lower_bound
from divulge.errors import InputError


def trials(size=800, epsilon=1.0, seed=0):
    """Randomised response: an answer and a truth per trial."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(size) < 0.5, 1.0, -1.0)
    return np.where(rng.random(size) < expit(epsilon), truth, -truth), truth


def curve(score, truth, *, seed, count, error=0.05, shift=0.0):
    stop = betting.Stop(several_draws.goal(error, count), shift)
    found = betting.bet(score, truth, error=error, rng=seed, e_values=stop)
    return found, found.e_values


def test_more_than_half_must_agree():
    assert [several_draws.majority(n) for n in (1, 2, 3, 4, 5, 10)] == [1, 2, 2, 3, 3, 6]
    assert several_draws.agreed([0.7]) == 0.7
    assert several_draws.agreed([0.0, 3.0, 0.2]) == 0.2
    assert several_draws.agreed([0.0, 3.0]) == 0.0
    assert several_draws.agreed([4.0, 3.0, 2.0, 1.0]) == 2.0
    assert several_draws.error_of_each(0.05, 1) == 0.05
    assert several_draws.error_of_each(0.05, 10) == pytest.approx(0.03)
    with pytest.raises(InputError, match="seeds"):
        several_draws.majority(0)


def test_one_seed_is_the_bet_itself():
    for seed in range(3):
        found, values = curve(*trials(seed=seed), seed=seed, count=1)
        assert found.epsilon > 0.3
        assert several_draws.mean_bound([values], 0.05, seeds=1) == pytest.approx(found.epsilon)


def test_an_allowance_shifts_the_test():
    """A seed tests epsilon plus its own allowance: its bound falls by as much, to within a step."""
    score, truth = trials()
    found, _ = curve(score, truth, seed=0, count=1)
    for allowance in (0.1, 0.173, 5.0):
        _, values = curve(score, truth, seed=0, count=1, shift=allowance)
        least = max(0.0, found.epsilon - allowance)
        assert least - 0.01 <= several_draws.mean_bound([values], 0.05, seeds=1) <= least + 0.01


def test_the_mean_is_that_of_stopped_wealths():
    """Against a slow form: every wealth played to its end, or to the goal."""
    score, truth = trials(300)
    count, error = 4, 0.05
    found = [curve(score, truth, seed=s, count=count) for s in range(count)]
    for _, values in found:
        assert (values[:-1] >= 1.0).all()
        assert values.max() <= several_draws.goal(error, count)
    bound = several_draws.mean_bound([v for _, v in found], error, seeds=count)
    at = round(bound / betting.GRID_STEP)
    longest = max(len(v) for _, v in found)
    padded = np.array([np.pad(v, (0, longest + 2 - len(v))) for _, v in found])
    mean = padded.mean(axis=0)
    assert (mean[: at + 1] >= 1.0 / error).all()
    assert mean[at + 1] < (1.0 + 1e-8) / error
    fewer = several_draws.mean_bound([v for _, v in found], error, seeds=2 * count)
    assert fewer <= bound  # draws without a conclusion count as 0
    with pytest.raises(InputError, match="curve"):
        several_draws.mean_bound([], error, seeds=2)


def test_counts_that_depend_on_each_other_keep_the_error():
    """The worst dependence for k of n: they err together, k at a time.

    n / k disjoint blocks of probability k / n times the error each, in which k seeds err: the rule
    errs with exactly the stated probability, and one seed fewer would err more often.
    """
    error, n = 0.05, 10
    k = several_draws.majority(n)
    each = several_draws.error_of_each(error, n)
    assert each * n / k == pytest.approx(error)
    too_few = k - 1
    assert each * n / too_few > error


def test_exact_error_of_independent_counts():
    """Randomised response at its own epsilon, all guessed: the exact probability of a claim."""
    error, n, size, epsilon = 0.05, 5, 60, 1.0
    each = several_draws.error_of_each(error, n)
    bounds = np.array([binomial_epsilon_lower_bound(size, size, c, each) for c in range(size + 1)])
    alone = binom.pmf(np.arange(size + 1), size, expit(epsilon))[bounds > epsilon].sum()
    assert 0.0 < alone <= each
    together = binom.sf(several_draws.majority(n) - 1, n, alone)
    assert together <= error
