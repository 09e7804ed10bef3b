"""Formulas against simulation within 3 standard errors, dp-accounting, and bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest

from divulge.curves import Gaussian, gaussian_delta
from divulge.errors import InputError
from divulge.exposure import exposed
from divulge.exposure.covariance import estimate_covariance, known
from divulge.exposure.exposed import Release

ROUNDS = 200_000


def simulated(m, rate, rng, rounds=ROUNDS):
    """The optimal statistic out and in: a shift by mu if the record was sampled."""
    mu = math.sqrt(m / rate)
    sampled = rng.random(rounds) < rate
    out, inside = rng.normal(size=rounds), rng.normal(size=rounds) + mu * sampled

    def evidence(x):
        return np.log(1.0 - rate + rate * np.exp(mu * x - mu**2 / 2.0))

    return evidence(out), evidence(inside)


@pytest.mark.parametrize("rate", [1.0, 0.5, 0.1])
@pytest.mark.parametrize("m", [0.3, 2.0])
def test_power_and_advantage_are_those_of_the_likelihood_ratio(m, rate, rng):
    out, inside = simulated(m, rate, rng)
    for fpr in (0.01, 0.1, 0.5):
        threshold = np.quantile(out, 1.0 - fpr)
        achieved = float((inside > threshold).mean())
        expected = float(exposed.power(m, fpr, rate))
        # the threshold is estimated too: its error moves the power by the slope of the curve
        slope = (exposed.power(m, fpr * 1.01, rate) - exposed.power(m, fpr * 0.99, rate)) / (
            0.02 * fpr
        )
        error = math.sqrt(expected * (1 - expected) + slope**2 * fpr * (1 - fpr)) / math.sqrt(
            ROUNDS
        )
        assert abs(achieved - expected) < 3.0 * error
    gap = float((inside > 0.0).mean() - (out > 0.0).mean())
    assert abs(gap - float(exposed.advantage(m, rate))) < 3.0 * math.sqrt(0.5 / ROUNDS)


@pytest.mark.parametrize("rate", [1.0, 0.5, 0.1])
@pytest.mark.parametrize("eps", [0.0, 0.05, 0.5, 2.0])
def test_both_directions_of_delta_are_those_of_the_likelihood_ratio(rate, eps, rng):
    m = 0.8
    out, inside = simulated(m, rate, rng)
    for formula, above, below in (
        (exposed.delta_in, inside > eps, out > eps),
        (exposed.delta_out, out < -eps, inside < -eps),
    ):
        found = above.mean() - math.exp(eps) * below.mean()
        error = math.sqrt((above.var() + math.exp(2 * eps) * below.var()) / ROUNDS)
        assert abs(found - float(formula(m, eps, rate))) <= 3.0 * error
    if rate < 1.0 and eps == 0.5:
        assert exposed.delta_in(m, eps, rate) != exposed.delta_out(m, eps, rate)


def test_the_direction_out_ends_where_sampling_hides_everything():
    assert exposed.delta_out(4.0, 0.69, 0.5) > 0.0
    assert exposed.delta_out(4.0, math.log(2.0), 0.5) == 0.0


@pytest.mark.parametrize("rate", [1.0, pytest.param(0.5, marks=pytest.mark.slow), 0.02])
@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_dp_accounting_agrees_in_both_directions(rate, mu):
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    from dp_accounting.pld.privacy_loss_mechanism import AdjacencyType, GaussianPrivacyLoss

    m = mu**2 * rate
    for adjacency, formula in (
        (AdjacencyType.REMOVE, exposed.delta_in),
        (AdjacencyType.ADD, exposed.delta_out),
    ):
        loss = GaussianPrivacyLoss(1.0 / mu, sampling_prob=rate, adjacency_type=adjacency)
        for eps in (0.01, 0.3, 1.0):
            expected = loss.get_delta_for_epsilon(eps)
            assert float(formula(m, eps, rate)) == pytest.approx(expected, rel=1e-6, abs=1e-14)
    both = pld.from_gaussian_mechanism(
        1.0 / mu, sampling_prob=rate, value_discretization_interval=1e-4
    )
    for delta in (1e-5, 1e-3):
        assert float(exposed.epsilon(m, delta, rate)) == pytest.approx(
            both.get_epsilon_for_delta(delta), rel=2e-3, abs=2e-4
        )


@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_the_curve_of_a_record_agrees_with_the_formulas(rate):
    m = 1.7
    one = exposed.curve(m, rate)
    assert one.advantage() == pytest.approx(float(exposed.advantage(m, rate)), rel=1e-12)
    assert one.epsilon(1e-5) == pytest.approx(float(exposed.epsilon(m, 1e-5, rate)), rel=1e-9)
    both = max(float(exposed.delta_in(m, 0.4, rate)), float(exposed.delta_out(m, 0.4, rate)))
    assert one.delta(0.4) == pytest.approx(both, rel=1e-12)
    assert float(one.tpr(0.01)) >= float(exposed.power(m, 0.01, rate)) - 1e-12


def test_many_records_are_joined_on_a_grid():
    m = np.random.default_rng(0).chisquare(4, 30_000) / 4
    joined = exposed.epsilon(m, 1e-5, 0.4)
    exact = exposed.epsilon(m[:500], 1e-5, 0.4)
    np.testing.assert_allclose(joined[:500], exact, atol=1e-6)


def test_many_equal_records():
    same = exposed.epsilon(np.full(30_000, 0.7), 1e-5)
    assert same == pytest.approx(np.full(30_000, float(exposed.epsilon(0.7, 1e-5))))


def test_extremes():
    assert float(exposed.epsilon(0.0, 1e-5)) == 0.0
    assert float(exposed.epsilon(1e8, 1e-5)) == math.inf
    assert float(exposed.advantage(0.0, 0.3)) == 0.0
    assert float(exposed.advantage(1e8, 0.3)) == pytest.approx(0.3)
    assert float(exposed.power(1.0, 0.0)) == 0.0
    assert gaussian_delta(0.7, 0.2) == pytest.approx(float(exposed.delta_in(0.49, 0.2)))
    assert exposed.curve(4.0) == Gaussian(2.0)


def test_noise_counts_as_covariance_of_the_records_behind_the_mean():
    model = known(np.zeros(3), [1.0, 4.0, 9.0])
    z = np.array([1.0, 2.0, 3.0])
    release = Release(size=100, noise=0.2, rate=0.5)
    expected = np.sum(z**2 / (np.array([1.0, 4.0, 9.0]) + 50 * 0.04)) / 100
    assert float(exposed.leakage_scores(z, model, release)) == pytest.approx(expected)
    assert float(exposed.leakage_scores(z, model, Release(100))) == pytest.approx(0.03)


def test_a_misspecified_target_reveals_what_the_theorem_says(rng):
    d, n = 20, 50
    model = known(np.zeros(d), np.ones(d))
    z = rng.normal(size=d) * 1.5
    held = z + rng.normal(size=d)
    found = exposed.misspecified(z, held, model, Release(n))
    out = rng.normal(size=(ROUNDS // 4, d)) / math.sqrt(n)
    statistic_out = out @ held - found.target / 2.0
    inside = rng.normal(size=(ROUNDS // 4, d)) / math.sqrt(n) + z / n
    statistic_in = inside @ held - found.target / 2.0
    threshold = float(found.threshold)
    gap = (statistic_in > threshold).mean() - (statistic_out > threshold).mean()
    expected = float(exposed.advantage(found.effective))
    assert abs(gap - expected) < 3.0 * math.sqrt(0.5 / (ROUNDS // 4))
    own = exposed.misspecified(z, z, model, Release(n))
    assert float(own.effective) == pytest.approx(float(z @ z / n))
    opposite = exposed.misspecified(z, -z, model, Release(n))
    assert float(opposite.effective) == pytest.approx(float(own.effective))
    nothing = exposed.misspecified(z, np.zeros(d), model, Release(n))
    assert float(nothing.effective) == 0.0


def test_the_advantage_has_an_inverse():
    for rate in (1.0, 0.4):
        m = exposed.leakage_at(0.25, rate)
        assert float(exposed.advantage(m, rate)) == pytest.approx(0.25)
    assert exposed.leakage_at(0.4, 0.4) == math.inf


def test_published_sub_sampling_is_off_both_ways():
    """Simulated at m* = 8.9, rate .5 in the theory notes: .549 and .490, against .796 and .414."""
    assert float(exposed.power(8.9, 0.1, 0.5)) == pytest.approx(0.549, abs=5e-4)
    assert float(exposed.power(8.9, 0.01, 0.5)) == pytest.approx(0.490, abs=5e-4)
    assert float(exposed.published_power(8.9, 0.1, 0.5)) == pytest.approx(0.796, abs=5e-4)
    assert float(exposed.published_power(8.9, 0.01, 0.5)) == pytest.approx(0.414, abs=6e-4)


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.1, math.nan])
def test_rates_outside_are_refused(rate):
    with pytest.raises(InputError, match="rate must lie in"):
        Release(100, rate=rate)
    with pytest.raises(InputError, match="rate must lie in"):
        exposed.advantage(1.0, rate)


def test_other_bad_input():
    with pytest.raises(InputError, match="noise must be finite"):
        Release(100, noise=-1.0)
    with pytest.raises(InputError, match="at least 2 records"):
        Release(1)
    with pytest.raises(InputError, match="less than one record"):
        Release(100, rate=0.001)
    with pytest.raises(InputError, match="at least 0"):
        exposed.power([-1.0], 0.1)
    with pytest.raises(InputError, match="epsilon must be"):
        exposed.delta_in(1.0, -0.1)
    with pytest.raises(InputError, match="delta must lie"):
        exposed.epsilon(1.0, 0.0)


def test_plug_in_scores_come_close_to_the_true_ones(rng):
    d, n = 30, 500
    mixing = rng.normal(size=(d, d)) / math.sqrt(d) + np.eye(d)
    truth = known(np.zeros(d), mixing.T @ mixing)
    reference = rng.normal(size=(4000, d)) @ mixing
    z = rng.normal(size=(200, d)) @ mixing
    estimated = exposed.leakage_scores(z, estimate_covariance(reference), Release(n))
    exact = exposed.leakage_scores(z, truth, Release(n))
    assert abs(float(np.mean(estimated / exact)) - 1.0) < 0.05
    assert np.corrcoef(estimated, exact)[0, 1] > 0.97
