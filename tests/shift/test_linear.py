from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from divulge.shift.linear import log_losses, logistic_ridge, ridge


def gcv(x, y, penalty):
    """Closed form of the generalised cross-validation error and the coefficients."""
    n = len(y)
    z = (x - x.mean(0)) / x.std(0)
    gram = z.T @ z + penalty * np.eye(x.shape[1])
    beta = np.linalg.solve(gram, z.T @ (y - y.mean()))
    freedom = np.trace(np.linalg.solve(gram, z.T @ z)) + 1
    return np.sum((y - y.mean() - z @ beta) ** 2) / (1 - freedom / n) ** 2, beta / x.std(0)


def test_ridge_is_the_closed_form_at_the_best_penalty(rng):
    x = rng.standard_normal((300, 6)) * [1, 2, 3, 1, 1, 1] + 5.0
    y = x @ [1.0, 0.5, 0.0, 0.0, -1.0, 0.0] + rng.standard_normal(300)
    fit = ridge(x, y)
    candidates = [gcv(x, y, 300 * a) for a in np.logspace(-5, 1.5, 27)]
    _, best = min(candidates, key=lambda c: c[0])
    np.testing.assert_allclose(fit.slopes, best, rtol=1e-8)
    assert fit(x).mean() == pytest.approx(y.mean())


def test_weights_count_rows(rng):
    x, y = rng.standard_normal((200, 3)), rng.standard_normal(200)
    times = rng.integers(1, 4, 200)
    weighted = ridge(x, y, times.astype(float))
    repeated = ridge(np.repeat(x, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.slopes, repeated.slopes, atol=0.02)


def test_noise_is_shrunk_away(rng):
    fit = ridge(rng.standard_normal((400, 100)), rng.standard_normal(400))
    assert np.linalg.norm(fit.slopes) < 0.2


def test_constant_and_duplicated_columns_do_no_harm(rng):
    x = rng.standard_normal((200, 1))
    y = 2.0 * x[:, 0] + 1.0
    columns = np.hstack([x, x, np.full((200, 1), 7.0)])
    for fit in (ridge(columns, y), logistic_ridge(columns, (y > 1.0).astype(float))):
        assert np.isfinite(fit(columns)).all()
        assert fit.slopes[2] == 0.0
        assert fit.slopes[0] == pytest.approx(fit.slopes[1])


def test_logistic_with_offset_recovers_coefficients(rng):
    x = rng.standard_normal((20_000, 3)) + 1.0
    offset = 2.0 * rng.standard_normal(20_000)
    truth = np.array([1.0, -0.5, 0.0])
    y = (rng.random(20_000) < expit(offset + 0.3 + x @ truth)).astype(float)
    fit = logistic_ridge(x, y, offset=offset)
    np.testing.assert_allclose(fit.slopes, truth, atol=0.08)
    assert fit.intercept == pytest.approx(0.3, abs=0.1)


def test_logistic_is_the_minimum_of_its_penalised_loss(rng):
    x = rng.standard_normal((150, 4))
    x = (x - x.mean(0)) / x.std(0)
    y = (rng.random(150) < expit(x[:, 0])).astype(float)
    fit = logistic_ridge(x, y, penalty=3.0)

    def loss(b):
        return log_losses(b[0] + x @ b[1:], y).sum() + 1.5 * b[1:] @ b[1:]

    best = minimize(loss, np.zeros(5)).x
    np.testing.assert_allclose(np.r_[fit.intercept, fit.slopes], best, atol=1e-3)


def test_separable_outcomes_stay_finite(rng):
    x = rng.standard_normal((100, 5))
    fit = logistic_ridge(x, (x[:, 0] > 0.0).astype(float))
    assert np.isfinite(fit(x)).all()
    assert np.mean((fit(x) > 0.0) == (x[:, 0] > 0.0)) > 0.9
