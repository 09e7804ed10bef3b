from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import laplace, norm

from divulge import curves
from divulge.errors import InputError

ALPHA = np.linspace(0.0, 1.0, 401)
EXAMPLES = [
    curves.ApproximateDP(1.0),
    curves.ApproximateDP(0.5, 0.1),
    curves.ApproximateDP(0.0, 0.2),
    curves.Gaussian(0.0),
    curves.Gaussian(1.3),
    curves.Laplace(2.0),
    curves.SubsampledGaussian(2.0, 0.3),
    curves.WithFailure(curves.Gaussian(1.0), 0.05),
    curves.from_roc([0.1, 0.3], [0.5, 0.8]),
]


@pytest.mark.parametrize("curve", EXAMPLES, ids=repr)
def test_a_curve_is_convex_decreasing_below_the_diagonal_and_symmetric(curve):
    f = curve(ALPHA)
    assert np.all(f <= 1.0 - ALPHA + 1e-9)
    assert np.all(np.diff(f) <= 1e-9)
    assert np.all(np.diff(f, 2) >= -1e-7)
    inside = (f > 1e-9) & (ALPHA > 0)
    np.testing.assert_allclose(curve(f[inside]), ALPHA[inside], atol=1e-6)


@pytest.mark.parametrize("curve", EXAMPLES, ids=repr)
def test_inverse_is_f_mirrored(curve):
    np.testing.assert_allclose(curve.inverse(ALPHA), curve(1.0 - ALPHA), atol=1e-9)


@pytest.mark.parametrize("curve", EXAMPLES, ids=repr)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.5])
def test_delta_is_the_supremum_over_the_curve(curve, epsilon):
    fine = np.concatenate([[0.0], np.geomspace(1e-12, 1.0, 20001), np.linspace(0, 1, 20001)])
    supremum = np.max(1.0 - curve(fine) - math.exp(epsilon) * fine)
    assert curve.delta(epsilon) == pytest.approx(max(0.0, supremum), abs=5e-5)


@pytest.mark.parametrize("curve", EXAMPLES, ids=repr)
def test_epsilon_inverts_delta(curve):
    for delta in (0.21, 0.3):
        epsilon = curve.epsilon(delta)
        assert curve.delta(epsilon) <= delta + 1e-9
        if epsilon > 1e-6:
            assert curve.delta(epsilon - 1e-6) > delta - 1e-9


@given(st.floats(0.01, 8.0), st.floats(1e-10, 0.4))
def test_mu_and_epsilon_convert_back_and_forth(mu, delta):
    epsilon = curves.epsilon_from_mu(mu, delta)
    if epsilon > 1e-9:
        assert curves.mu_from_epsilon(epsilon, delta) == pytest.approx(mu, rel=1e-6)


def test_gaussian_matches_the_two_normals():
    threshold = np.linspace(-3, 4, 50)
    np.testing.assert_allclose(
        curves.Gaussian(1.5)(norm.sf(threshold)), norm.cdf(threshold - 1.5), atol=1e-12
    )


def test_laplace_matches_the_two_laplace_distributions():
    threshold = np.linspace(-3, 5, 81)
    np.testing.assert_allclose(
        curves.Laplace(2.0)(laplace.sf(threshold)), laplace.cdf(threshold - 2.0), atol=1e-12
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_mu_is_the_smallest_gaussian_below_the_curve(epsilon):
    for curve in (curves.ApproximateDP(epsilon), curves.Laplace(epsilon)):
        alpha = np.geomspace(1e-10, 0.999, 4000)
        mu = curve.mu()
        assert np.all(curves.Gaussian(mu + 1e-9)(alpha) <= curve(alpha) + 1e-12)
        assert np.any(curves.Gaussian(mu - 1e-3)(alpha) > curve(alpha))


def test_composition_closed_forms():
    assert curves.Gaussian(3.0).compose(curves.Gaussian(4.0)) == curves.Gaussian(5.0)
    both = curves.ApproximateDP(1.0, 0.1).compose(curves.ApproximateDP(0.5, 0.2))
    assert both.epsilon_ == 1.5
    assert both.delta_ == pytest.approx(1 - 0.9 * 0.8)
    failing = curves.ApproximateDP(0.0, 0.1).compose(curves.Gaussian(1.0))
    assert failing == curves.WithFailure(curves.Gaussian(1.0), 0.1)
    assert failing.delta(0.5) == pytest.approx(1 - 0.9 * (1 - curves.Gaussian(1.0).delta(0.5)))
    with pytest.raises(InputError, match="No closed form"):
        curves.Gaussian(1.0).compose(curves.Laplace(1.0))


@pytest.mark.parametrize("sampling", [1.0, 0.4])
def test_dp_accounting_agrees(sampling):
    accounting = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    mu = 1.2
    distribution = accounting.from_gaussian_mechanism(
        1.0 / mu, sampling_prob=sampling, value_discretization_interval=1e-3
    )
    ours = curves.SubsampledGaussian(mu, sampling)
    for epsilon in (0.0, 0.2, 0.8, 1.5):
        assert ours.delta(epsilon) == pytest.approx(
            distribution.get_delta_for_epsilon(epsilon), abs=2e-3
        )
    theirs = curves.from_privacy_loss(distribution)
    np.testing.assert_allclose(theirs(ALPHA), ours(ALPHA), atol=3e-3)
    assert theirs.advantage() == pytest.approx(ours.advantage(), abs=2e-3)
    assert np.all(theirs(ALPHA) <= ours(ALPHA) + 1e-4), "never promises more privacy"


def test_sampled_roc_of_gaussian_scores_is_near_its_curve(rng):
    truth = np.repeat([1.0, -1.0], 20_000)
    roc = curves.from_scores(rng.normal(size=truth.size) + truth / 2, truth)
    assert roc.tpr(0.1) == pytest.approx(float(curves.Gaussian(1.0).tpr(0.1)), abs=0.02)
    assert roc.advantage() == pytest.approx(curves.Gaussian(1.0).advantage(), abs=0.02)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: curves.Gaussian(-1.0),
        lambda: curves.ApproximateDP(1.0, 1.5),
        lambda: curves.SubsampledGaussian(1.0, 0.0),
        lambda: curves.Gaussian(1.0)(1.5),
        lambda: curves.Gaussian(1.0)(float("nan")),
        lambda: curves.from_roc([0.1], [0.2, 0.3]),
        lambda: curves.Gaussian(1.0).epsilon(1.0),
    ],
)
def test_bad_input_is_refused(bad):
    with pytest.raises(InputError):
        bad()


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.0, 2.3])
def test_epsilon_at_delta_0_is_exact(epsilon):
    assert curves.ApproximateDP(epsilon).epsilon(0.0) == pytest.approx(epsilon, abs=1e-9)
    assert curves.Laplace(epsilon).epsilon(0.0) == pytest.approx(epsilon, abs=1e-9)
    assert curves.Gaussian(epsilon).epsilon(0.0) == math.inf
    assert curves.SubsampledGaussian(epsilon, 0.5).epsilon(0.0) == math.inf
    assert curves.Gaussian(0.0).epsilon(0.0) == 0.0


def test_a_curve_from_few_epsilons_promises_no_more_than_the_accountant():
    class Exact:
        def get_delta_for_epsilon(self, epsilons):
            return [curves.Gaussian(1.3).delta(e) for e in epsilons]

    for grid in ([1.0], [0.5, 1.0, 2.0], None):
        curve = curves.from_privacy_loss(Exact(), grid)
        assert np.all(curve(ALPHA) <= curves.Gaussian(1.3)(ALPHA) + 1e-9)
        np.testing.assert_allclose(curve(curve(ALPHA[ALPHA < 0.5])), ALPHA[ALPHA < 0.5], atol=1e-6)


def test_inverse_keeps_small_powers():
    for curve in (curves.Laplace(2.0), curves.SubsampledGaussian(2.0, 1.0), curves.Gaussian(2.0)):
        y = np.array([1e-12, 1e-9])
        np.testing.assert_allclose(curve.tpr(curve.inverse(y)), y, rtol=1e-3)
    assert curves.SubsampledGaussian(2.0, 1.0).inverse(1e-11) == pytest.approx(
        float(curves.Gaussian(2.0).inverse(1e-11)), rel=1e-6
    )
