from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from divulge.shift.design import read_records
from divulge.shift.linear import log_losses
from divulge.shift.prognostic import fit_prognostic
from divulge.shift.stack import fit_propensity, stack_log_odds

ROWS = 4000


def variance(x):
    return 0.5 * (x[:, :4] ** 2 - 1.0).sum(axis=1)


def interaction(x):
    return x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3]


def linear(x):
    return 1.5 * x[:, 0] - x[:, 1]


def fit(log_odds, score, coin=0.0, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((ROWS, 15))
    odds = log_odds(x) + coin
    truth = np.where(rng.random(ROWS) < expit(odds), 1.0, -1.0)
    records = read_records(x, rng)
    prognostic = fit_prognostic(score(x) + rng.standard_normal(ROWS), records, rng)
    order = rng.permutation(ROWS)
    head, tail = order[: ROWS // 2], order[ROWS // 2 :]
    result = fit_propensity(truth, records, prognostic, head, tail, coin=coin, rng=rng)
    return result, odds, truth, head, tail


def losses(predicted, truth):
    return float(log_losses(predicted, (truth > 0).astype(float)).mean())


@pytest.mark.parametrize(
    "shift",
    [
        pytest.param(variance, marks=pytest.mark.slow),
        interaction,
        pytest.param(linear, marks=pytest.mark.slow),
    ],
)
def test_near_the_oracle(shift):
    result, odds, truth, head, tail = fit(shift, lambda x: x[:, 5])
    oracle, constant = losses(odds[tail], truth[tail]), result.log_loss_constant
    own = losses(result.predicted, truth[tail])
    assert own < oracle + 0.25 * (constant - oracle)
    assert result.log_loss == pytest.approx(losses(result.fitted, truth[head]))
    assert result.log_loss < result.log_loss_linear + 0.002
    if shift is not linear:
        assert result.log_loss_linear > 0.98 * constant


def test_no_shift_is_learned_as_none():
    result, *_ = fit(lambda x: np.zeros(len(x)), variance)
    assert np.abs(result.predicted).mean() < 0.15


def test_a_loaded_coin_moves_the_log_odds():
    result, odds, truth, _, tail = fit(lambda x: 0.5 * x[:, 0], linear, coin=2.5)
    assert np.mean(result.predicted) == pytest.approx(np.mean(odds[tail]), abs=0.25)
    assert losses(result.predicted, truth[tail]) < losses(odds[tail], truth[tail]) + 0.01


def test_stacking_calibrates_and_drops_what_does_not_help(rng):
    odds = rng.standard_normal(20_000)
    outcome = (rng.random(20_000) < expit(odds)).astype(float)
    noise = rng.standard_normal(20_000)
    columns = np.stack([3.0 * odds + noise, noise], axis=1)  # the noise would get minus a third
    intercept, weights = stack_log_odds(columns, outcome)
    assert weights[0] == pytest.approx(0.3, abs=0.03)
    assert weights[1] == 0.0
    assert intercept == pytest.approx(0.0, abs=0.05)


def test_one_kind_of_truth_gives_a_constant():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200, 3))
    records = read_records(x, rng)
    prognostic = fit_prognostic(rng.standard_normal(200), records, rng)
    half = np.arange(100), np.arange(100, 200)
    result = fit_propensity(np.ones(200), records, prognostic, *half, coin=0.0, rng=rng)
    assert np.ptp(result.predicted) < 1e-9
    assert result.predicted[0] > 3.0
