"""Correlated counts: the exact posterior against Algorithm 6 and its limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import betabinom, multivariate_normal

from divulge.bounds.error_rates import draw_rates
from divulge.crosschecks.samplers import sample_correlated
from divulge.errors import InputError
from divulge.posterior.correlated import CorrelatedGrowth, correlated, log_none
from divulge.posterior.exact import posterior
from divulge.posterior.priors import EpsilonPrior, StrengthPrior

COUNTS = np.array([[12.0, 60, 20, 60], [9, 60, 31, 60], [15, 60, 12, 60]])
PRIORS = EpsilonPrior(), StrengthPrior()
SMALL = {"taus": 4, "correlations": 4, "resolution": 0.5}


@pytest.mark.slow
def test_without_correlation_it_is_close_to_binomial():
    """A narrow prior of tau leaves the normal approximation and the unknown c."""
    found = correlated(COUNTS, 0.0, sigma_tau=1e-5, **SMALL).posterior(*PRIORS)
    plain = posterior(COUNTS)
    assert found.quantile([0.05, 0.5, 0.95]) == pytest.approx(
        plain.quantile([0.05, 0.5, 0.95]), rel=0.12
    )


@pytest.mark.parametrize("c", [-0.8, 0.0, 0.6])
def test_the_growth_is_that_of_equation_7(c, rng):
    """Against draws of error rates from a region, weighted by the bivariate normal."""
    counts, tau, epsilon = COUNTS[:1], 0.02, 2.5
    growth = CorrelatedGrowth(counts, tau, "normal", np.array([0.3, c]))
    e = np.linspace(0.0, epsilon, 400)
    total = np.trapezoid(np.exp(growth.at(1, e, np.zeros_like(e), False))[0], e)
    x, y = draw_rates(np.full(200_000, epsilon), np.zeros(200_000), 0.0, rng)
    v = 1 + 59 * tau
    sx, sy = np.sqrt(60 * v * x * (1 - x)), np.sqrt(60 * v * y * (1 - y))
    zx, zy = (12 - 60 * x) / sx, (20 - 60 * y) / sy
    density = multivariate_normal([0, 0], [[1, c], [c, 1]]).pdf(np.column_stack([zx, zy]))
    weight = density / (sx * sy) * np.tanh(epsilon / 2)
    assert abs(weight.mean() - total) < 4.5 * weight.std() / np.sqrt(weight.size)


def test_no_error_at_all_has_the_beta_binomial_probability():
    rate = np.array([0.003, 0.02, 0.2])
    for tau in (0.01, 0.05):
        m = (1 - tau) / tau
        expected = betabinom.logpmf(0, 100, rate * m, (1 - rate) * m)
        assert log_none(rate, 100.0, tau) == pytest.approx(expected, rel=2e-4)
    assert log_none(rate, 100.0, 1e-9) == pytest.approx(100 * np.log1p(-rate), rel=1e-4)
    less = log_none(rate, 100.0, -0.005)
    assert np.all(less < 100 * np.log1p(-rate))


def test_many_trials_are_grouped_without_loss():
    rate, tau = np.array([1e-4, 1e-3]), 0.001
    m = (1 - tau) / tau
    expected = betabinom.logpmf(0, 20_000, rate * m, (1 - rate) * m)
    assert log_none(rate, 20_000.0, tau) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("margins", ["beta-binomial", "normal"])
def test_no_errors_work(margins):
    counts = np.array([[6.0, 50, 0, 50], [0, 50, 0, 50]])
    found = correlated(counts, 1e-3, margins=margins, **SMALL).posterior(*PRIORS)
    low, high = found.interval()
    assert 1.0 < low < high < 20.0


def test_a_fixed_strength():
    strength = StrengthPrior(fixed=1.0)
    coarse, fine = (
        correlated(COUNTS, 0.0, strength=strength, **grid).posterior(EpsilonPrior(), strength)
        for grid in (SMALL, {"taus": 8, "correlations": 10, "resolution": 1.0})
    )
    assert coarse.interval() == pytest.approx(fine.interval(), rel=5e-3)
    assert coarse.interval() == pytest.approx(
        posterior(COUNTS, strength=strength).interval(), rel=0.1
    )


@pytest.mark.slow
def test_it_agrees_with_algorithm_6():
    exact = correlated(COUNTS, 1e-3, margins="normal", resolution=0.5, taus=6, correlations=8)
    found = exact.posterior(*PRIORS)
    drawn = sample_correlated(
        COUNTS, 1e-3, draws=10_000, burn_in=1_000, auxiliaries=100,
        steps=(0.4, 0.15, 0.008, 0.008), rng=2,
    )  # fmt: skip
    size = drawn.effective_size()
    assert size > 40
    for q in (0.05, 0.5, 0.95):
        below = np.mean(drawn.parameters["epsilon"] <= float(found.quantile(q)))
        assert abs(below - q) < 4.0 * np.sqrt(q * (1 - q) / size) + 0.01
    tau = drawn.parameters["tau"]
    summary = exact.dependence.summary()
    assert summary["tau_mean"] == pytest.approx(tau.mean(), abs=0.003)
    assert summary["tau_sd"] == pytest.approx(tau.std(), rel=0.3)


def test_bad_input():
    with pytest.raises(InputError, match="Unknown margins"):
        correlated(COUNTS, margins="poisson")
    with pytest.raises(InputError, match="sigma_tau"):
        correlated(COUNTS, sigma_tau=0.0)
    with pytest.raises(InputError, match="more than one"):
        correlated([[0, 1, 0, 1]])


@pytest.mark.slow
def test_a_grid_too_coarse_for_the_extreme_correlations_does_no_harm():
    """At tau near its least value and c near 1 the density is narrower than any step here."""
    counts = np.array(
        [[8.0, 100, 94, 100], [11, 100, 0, 100], [29, 100, 65, 100], [26, 100, 62, 100],
         [29, 100, 27, 100], [6, 100, 100, 100], [36, 100, 8, 100], [10, 100, 12, 100],
         [20, 100, 0, 100], [37, 100, 4, 100], [45, 100, 36, 100], [25, 100, 76, 100]]
    )  # fmt: skip
    q = [0.05, 0.5, 0.95]
    coarse, fine = (
        correlated(counts, 0.0, resolution=r, taus=6, correlations=6).posterior(*PRIORS)
        for r in (0.3, 0.9)
    )
    assert coarse.quantile(q) == pytest.approx(fine.quantile(q), rel=5e-3)


@pytest.mark.slow
def test_what_is_left_out_is_negligible_under_every_correlation():
    """Counts that scatter far more than binomials: most of the mass is at large tau and c."""
    x = [3, 10, 9, 2, 10, 9, 4, 6, 8, 12, 5, 5, 11, 8, 12, 8, 10, 16, 8, 10]
    y = [80, 0, 0, 28, 0, 71, 0, 41, 0, 0, 18, 0, 76, 5, 0, 0, 25, 73, 47, 44]
    counts = np.column_stack([x, np.full(20, 100), y, np.full(20, 100)]).astype(float)
    coarse, fine = (
        correlated(counts, 0.0, resolution=r, taus=4, correlations=4).posterior(*PRIORS)
        for r in (0.4, 1.0)
    )
    assert coarse.log_evidence == pytest.approx(fine.log_evidence, abs=5e-3)
    assert coarse.interval() == pytest.approx(fine.interval(), rel=1e-3)
