"""Correlated counts by brute force: plain sums over error rates against both implementations."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import betabinom, multivariate_normal, norm

from divulge.crosschecks.importance import log_likelihood, sample_weighted
from divulge.posterior import fixed
from divulge.posterior import mesh as meshes
from divulge.posterior.correlated import CorrelatedGrowth, correlated
from divulge.posterior.priors import EpsilonPrior, StrengthPrior

ROWS = {
    "plain": (12.0, 60, 20, 60),
    "zero": (6.0, 50, 0, 50),
    "both ends": (0.0, 50, 50, 50),
    "large": (150.0, 2000, 700, 2000),
    "unequal": (5.0, 40, 90, 300),
}
TABLES = {
    "plain": [[12.0, 60, 20, 60], [9, 60, 31, 60], [15, 60, 12, 60]],
    "zeros": [[0.0, 50, 20, 50], [6, 50, 0, 50], [12, 50, 9, 50]],
    "unequal": [[5.0, 40, 30, 90], [3, 25, 60, 120]],
}


def inside(x, y, e, d):
    """Theorem 1, as it is written."""
    g = np.exp(e)
    low = (x + g * y >= 1 - d) & (y + g * x >= 1 - d)
    return low & (y + g * x <= g + d) & (x + g * y <= g + d)


def grid(delta, e, s, size):
    """Rates, dense towards 0 and 1, and the share of each pair of them in the region."""
    t = (np.arange(size) + 0.5) / size
    rate, weight = np.sin(0.5 * np.pi * t) ** 2, np.sin(np.pi * t)
    x, y = rate[:, None], rate[None, :]
    allowed = inside(x, y, e, delta) & ~inside(x, y, s * e, s * delta)
    share = weight[:, None] * weight[None, :] * allowed
    return rate, share / share.sum()


def brute_force(row, delta, e, s, tau, c):
    """The mean of eq. 7 over the region."""
    x0, n0, y0, n1 = row
    rate, share = grid(delta, e, s, 2400)
    x, y = rate[:, None], rate[None, :]
    sx = np.sqrt(n0 * (1 + (n0 - 1) * tau) * x * (1 - x))
    sy = np.sqrt(n1 * (1 + (n1 - 1) * tau) * y * (1 - y))
    a, b = (x0 - n0 * x) / sx, (y0 - n1 * y) / sy
    form = (a * a - 2 * c * a * b + b * b) / (1 - c * c)
    density = np.exp(-0.5 * form) / (2 * np.pi * sx * sy * np.sqrt(1 - c * c))
    return np.log(np.sum(share * density))


def by_segments(row, delta, e, s, tau, c, margins="normal"):
    counts = np.array([row], dtype=float)
    mesh = meshes.build(counts, delta, 15.0, 1.0, strength=s)
    at = partial(CorrelatedGrowth(counts, tau, margins, np.array([c])).at, 0)
    values = fixed.log_likelihood(at, mesh, delta, s, 8)[0]
    return float(np.interp(e, mesh.e, values))


SETTINGS = [(0.0, 0.02, -0.97), (0.02, 0.0, 0.0), (0.02, 0.01, 0.95)]
QUICK = {("unequal", 0.0)}


@pytest.mark.parametrize(
    ("name", "delta", "tau", "c"),
    [
        pytest.param(name, *setting, marks=[pytest.mark.slow] * ((name, setting[2]) not in QUICK))
        for name in ROWS
        for setting in SETTINGS
    ],
)
def test_both_give_the_integral_of_equation_7(name, delta, tau, c):
    row, e, s = ROWS[name], 4.0, 0.3
    expected = brute_force(row, delta, e, s, tau, c)
    found = log_likelihood([row], delta, np.array([[e, s, tau, c]]))
    assert found == pytest.approx(expected, abs=0.01)
    assert by_segments(row, delta, e, s, tau, c) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("c", [0.9, 0.97])
def test_a_strip_of_width_delta_under_a_strong_correlation(c):
    """At an epsilon below delta the region is a strip, across which the density is narrow."""
    row, delta, e, s, tau = (9.0, 100, 95, 100), 1e-3, 4e-4, 0.3, 0.03
    found = log_likelihood([row], delta, np.array([[e, s, tau, c]]))
    assert by_segments(row, delta, e, s, tau, c) == pytest.approx(float(found[0]), abs=0.02)


@pytest.mark.parametrize(
    "c", [*(pytest.param(c, marks=pytest.mark.slow) for c in (-0.95, 0.6)), 0.95]
)
@pytest.mark.parametrize("row", [(0, 50, 50, 50), (0, 50, 20, 50), (0, 50, 0, 50), (9, 50, 50, 50)])
def test_a_count_of_none_or_all_is_an_event(row, c):
    """Its probability is that of a normal deviate below a limit, so never above 1."""
    tau, e, s, delta = 0.02, 3.0, 0.3, 0.0
    rate, share = grid(delta, e, s, 400)
    m, v = (1 - tau) / tau, 1 + 49 * tau
    deviates, chances, signs = [], [], []
    for count in row[::2]:
        sd = np.sqrt(50 * v * rate * (1 - rate))
        towards = rate if count == 0 else 1 - rate
        event = count in (0, 50)
        chance = betabinom.pmf(0, 50, towards * m, (1 - towards) * m)
        deviates.append(norm.ppf(chance) if event else (count - 50 * rate) / sd)
        chances.append(chance if event else norm.pdf(deviates[-1]) / sd)
        signs.append({0: 1, 50: -1}.get(count, 0))
    i, j = np.nonzero(share * np.outer(*chances) > 1e-12)
    at = [deviates[0][i], deviates[1][j]]
    if all(signs):
        turned = c * signs[0] * signs[1]
        both = multivariate_normal([0, 0], [[1, turned], [turned, 1]])
        chance = both.cdf(np.clip(np.column_stack(at), -12, 12))
    else:
        k = int(signs[0] == 0)
        shifted = at[k] - signs[k] * c * at[1 - k]
        chance = norm.cdf(shifted / np.sqrt(1 - c * c)) * chances[1 - k][(i, j)[1 - k]]
    found = np.exp(by_segments(row, delta, e, s, tau, c, "beta-binomial"))
    assert found == pytest.approx(np.sum(share[i, j] * chance), rel=0.03, abs=1e-12)


@pytest.mark.parametrize(
    "name", ["zeros", *(pytest.param(n, marks=pytest.mark.slow) for n in ("plain", "unequal"))]
)
def test_importance_sampling_agrees_with_the_grid(name):
    counts = TABLES[name]
    exact = correlated(counts, 1e-3, margins="normal", resolution=0.5)
    found = exact.posterior(EpsilonPrior(), StrengthPrior())
    drawn = sample_weighted(counts, 1e-3, sigma_tau=0.01, points=1024, scrambles=6, rng=1)
    for q in (0.05, 0.5, 0.95):
        share, error = drawn.below(float(found.quantile(q)))
        assert error < 0.04
        assert abs(share - q) < 4.5 * error + 0.003
