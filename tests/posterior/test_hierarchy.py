"""Dependent attacks in groups: against brute force, in its limits, and how often it is right."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm

from divulge.bounds.error_rates import draw_rates
from divulge.errors import InputError
from divulge.posterior.exact import posterior
from divulge.posterior.hierarchy import GroupGrowth, hierarchical, log_margins, rates
from divulge.posterior.priors import EpsilonPrior, StrengthPrior

PRIORS = EpsilonPrior(), StrengthPrior()
COUNTS = np.array([[5, 50, 12, 50], [8, 50, 9, 50], [3, 40, 20, 40], [20, 50, 21, 50]], float)


def test_a_margin_is_the_binomial_of_a_scattered_rate(rng):
    grid, _ = rates()
    found = np.exp(log_margins(np.array([7.0]), np.array([60.0]), 0.05))[0]
    for a in (0.04, 0.1, 0.2):
        drawn = norm.ppf(rng.uniform(norm.cdf(-a / 0.05), norm.cdf((1 - a) / 0.05), 400_000))
        expected = binom.pmf(7, 60, np.clip(a + 0.05 * drawn, 0, 1)).mean()
        assert np.interp(a, grid, found) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("scatter", [0.002, 0.08])
def test_the_growth_is_the_integral_over_the_region(scatter, rng):
    """Against draws of a group's rates from a region."""
    members = [np.array([0, 1, 2]), np.array([3])]
    epsilon, draws = 2.5, 200_000
    e = np.linspace(0.0, epsilon, 300)
    growth = np.exp(GroupGrowth(COUNTS, members, scatter).at(e, np.zeros_like(e), False))
    x, y = draw_rates(np.full(draws, epsilon), np.zeros(draws), 0.0, rng)
    grid, _ = rates()
    tables = [log_margins(COUNTS[:, i], COUNTS[:, i + 1], scatter) for i in (0, 2)]
    for rows, line in zip(members, growth, strict=True):
        log_g, log_h = (table[rows].sum(axis=0) for table in tables)
        weight = np.interp(x, grid, np.exp(log_g)) * np.interp(y, grid, np.exp(log_h))
        weight *= np.tanh(epsilon / 2)  # the area of the region
        error = weight.std() / np.sqrt(draws)
        assert abs(weight.mean() - np.trapezoid(line, e)) < 4.5 * error + 1e-3 * weight.mean()


def test_groups_of_one_without_scatter_are_independent_attacks():
    found = hierarchical(COUNTS, list("abcd"), scatter=1e-4).posterior(*PRIORS)
    plain = posterior(COUNTS)
    for of in ("epsilon", "strength"):
        assert found.quantile([0.05, 0.5, 0.95], of) == pytest.approx(
            plain.quantile([0.05, 0.5, 0.95], of), rel=0.01
        )


def test_a_group_without_scatter_is_its_sum():
    same = np.array([[5, 50, 12, 50], [5, 50, 12, 50], [20, 50, 21, 50]], dtype=float)
    found = hierarchical(same, list("aab"), scatter=1e-4).posterior(*PRIORS)
    plain = posterior(np.array([[10, 100, 24, 100], [20, 50, 21, 50]]))
    assert found.quantile([0.05, 0.5, 0.95]) == pytest.approx(
        plain.quantile([0.05, 0.5, 0.95]), rel=0.01
    )


def test_scatter_is_found_where_there_is_some():
    wide = np.array([[5, 100, 30, 100], [30, 100, 10, 100], [15, 100, 20, 100]] * 2, float)
    even = np.array([[16, 100, 20, 100]] * 6, dtype=float)
    far, near = (hierarchical(c, list("aaabbb")).summary()["scatter_mean"] for c in (wide, even))
    assert far > 0.07 > 0.04 > near


def test_a_fixed_strength_and_too_many_models():
    found = hierarchical(COUNTS, list("aabb"), strength=StrengthPrior(fixed=0.0))
    low, high = found.posterior(EpsilonPrior(), StrengthPrior(fixed=0.0)).interval()
    assert 0.0 < low < high
    with pytest.raises(InputError, match="at most 20,000 models"):
        hierarchical([[3, 30_000, 4, 30_000]], ["a"])


@pytest.mark.slow
def test_intervals_cover_epsilon_as_often_as_they_say(rng):
    """Everything drawn from the model: 90% intervals cover in 90% of the games."""
    games, covered = 120, 0
    for _ in range(games):
        e = abs(rng.normal(0.0, np.sqrt(10.0)))
        s, scatter = rng.uniform(), abs(rng.normal(0.0, 0.1))
        a, b = draw_rates(np.full(5, e), np.full(5, s), 0.0, rng)
        counts, keys = [], []
        for group in range(5):
            for _ in range(3):
                x, y = (_cut(v[group], scatter, rng) for v in (a, b))
                counts.append([rng.binomial(60, x), 60, rng.binomial(60, y), 60])
                keys.append(str(group))
        found = hierarchical(counts, keys, resolution=0.3, scatters=6).posterior(*PRIORS)
        low, high = found.interval(0.9)
        covered += low <= e <= high
    assert binom.cdf(covered, games, 0.9) > 0.001
    assert binom.sf(covered - 1, games, 0.9) > 0.001


def _cut(mean: float, scatter: float, rng: np.random.Generator) -> float:
    """A normal rate cut off at 0 and 1."""
    low, high = norm.cdf(-mean / scatter), norm.cdf((1 - mean) / scatter)
    return float(np.clip(mean + scatter * norm.ppf(rng.uniform(low, high)), 0.0, 1.0))
