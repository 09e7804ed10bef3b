from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from divulge.shift.design import read_records
from divulge.shift.prognostic import fit_prognostic, leak_slope, residual_score


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2500, 10))
    difficulty = 0.7 * x[:, 0] + 0.5 * (x[:, 1] ** 2 - 1.0) + 0.7 * x[:, 2] * x[:, 3]
    spread = np.exp(0.4 * x[:, 4])
    score = difficulty + spread * rng.standard_normal(2500)
    return x, difficulty, spread, score, fit_prognostic(score, read_records(x, rng), rng)


def test_it_predicts_what_x_says_and_no_more(fitted):
    _, difficulty, _, score, prognostic = fitted
    explained = difficulty.var() / score.var()
    assert explained - 0.05 < prognostic.r2 <= explained + 0.03
    assert np.corrcoef(prognostic.mean, difficulty)[0, 1] > 0.95


def test_what_is_left_does_not_depend_on_x(fitted):
    x, difficulty, _, score, prognostic = fitted
    left = residual_score(score, prognostic, np.zeros(score.size), 0.0)
    raw = (score - score.mean()) / score.std()
    for function in (x[:, 0], x[:, 1] ** 2, x[:, 2] * x[:, 3], difficulty):
        assert abs(np.corrcoef(raw, function)[0, 1]) > 0.2
        assert abs(np.corrcoef(left, function)[0, 1]) < 0.07


def test_the_scale_follows_the_noise(fitted):
    _, _, spread, score, prognostic = fitted
    assert np.corrcoef(np.log(prognostic.scale), np.log(spread))[0, 1] > 0.85
    left = residual_score(score, prognostic, np.zeros(score.size), 0.0)
    assert left.std() == pytest.approx(1.0, abs=0.05)


def test_columns_that_matter_are_relevant(fitted):
    prognostic = fitted[-1]
    assert prognostic.relevance[:4].min() > 2.0 * prognostic.relevance[4:].max()
    assert prognostic.some(np.array([3, 1])).mean[1] == prognostic.mean[1]


def test_a_leak_is_measured_and_its_mean_put_back(fitted, rng):
    x, _, _, _, prognostic = fitted
    log_odds = x[:, 0]
    truth = np.where(rng.random(len(x)) < expit(log_odds), 1.0, -1.0)
    score = prognostic.mean + 0.8 * ((truth > 0) - expit(log_odds))
    assert leak_slope(score, prognostic, log_odds, truth) == pytest.approx(0.8)
    left = residual_score(score, prognostic, log_odds, 0.8)
    assert np.abs(left[truth < 0]).max() < 1e-9  # the non-members' mean was subtracted


@pytest.mark.parametrize(
    "score",
    [
        lambda x, rng: x[:, 0],
        lambda x, rng: np.sign(x[:, 0] + rng.standard_normal(len(x))),
        lambda x, rng: np.where(rng.random(len(x)) < 0.02, 1.0, 0.0),
    ],
    ids=["a function of x", "two values", "mostly ties"],
)
def test_odd_scores(score, rng):
    x = rng.standard_normal((300, 3))
    prognostic = fit_prognostic(score(x, rng), read_records(x, rng), rng)
    for part in (prognostic.mean, prognostic.learners, prognostic.scale, prognostic.r2):
        assert np.isfinite(part).all()
    assert (prognostic.scale > 0.0).all()
