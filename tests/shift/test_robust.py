from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from divulge.shift import robust

TRIM = 1.5


def world(rows, columns=8, *, leak=0.0, coin=0.0, seed=1):
    """Variance and linear shift, and a score that depends on the same functions of x."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, columns))
    shift = 0.4 * (x[:, 0] ** 2 - 1.0) + 0.7 * x[:, 1]
    truth = np.where(rng.random(rows) < expit(coin + shift), 1.0, -1.0)
    score = shift + rng.standard_normal(rows) + leak * (truth > 0)
    return score, truth, (x - x.mean(0)) / x.std(0)


def fit(score, truth, features, *, coin=0.0, seed=5, progress=None):
    rng = np.random.default_rng(seed)
    order = rng.permutation(truth.size)
    fitted = robust.fit(
        score, truth, features, order, round(truth.size / 2),
        trim=TRIM, coin=coin, error=0.025, rng=rng, progress=progress,
    )  # fmt: skip
    return fitted, order


def check(fitted, trials):
    for part in (fitted.log_odds, fitted.score, fitted.bet_log_odds, fitted.bet_score):
        assert part.shape == (trials,)
        assert np.isfinite(part).all()
    for value in (fitted.allowance, fitted.allowance_mu):
        assert value >= 0.0  # infinite is allowed, NaN is not
    assert fitted.c_lb is None or fitted.c_lb >= 0.0  # None: too little to try a baseline on
    assert all(type(v) is float and np.isfinite(v) for v in fitted.quality.values())


@pytest.fixture(scope="module")
def fitted():
    score, truth, features = world(2000)
    return *fit(score, truth, features), score, truth, features


def test_the_shift_is_learned_and_the_score_freed_of_it(fitted):
    result, order, score, truth, _ = fitted
    tail = order[1000:]
    check(result, 2000)
    assert result.c_lb == 0.0
    assert 0.0 < result.allowance < 0.6
    assert result.quality["propensity_log_loss"] < result.quality["propensity_log_loss_linear"]
    assert np.corrcoef(score[tail], truth[tail])[0, 1] > 0.2
    inside = np.abs(result.log_odds[tail]) <= TRIM
    surprise = (truth[tail] > 0) - expit(result.log_odds[tail])
    left = result.score[tail]
    assert abs(np.corrcoef(left[inside], surprise[inside])[0, 1]) < 0.08


def test_counted_quantities_ignore_the_tails_truths(fitted):
    result, order, score, truth, features = fitted
    flipped = truth.copy()
    flipped[order[1000:]] *= -1.0
    again, _ = fit(score, flipped, features)
    np.testing.assert_array_equal(again.log_odds, result.log_odds)
    np.testing.assert_array_equal(again.score, result.score)


def test_bets_ignore_the_truths_of_their_own_block(fitted):
    result, order, score, truth, features = fitted
    flipped = truth.copy()
    flipped[order[1500:]] *= -1.0
    again, _ = fit(score, flipped, features)
    np.testing.assert_array_equal(again.bet_log_odds, result.bet_log_odds)
    np.testing.assert_array_equal(again.bet_score, result.bet_score)
    assert again.allowance != result.allowance  # which looks at every truth


def test_bets_use_what_was_revealed_before(fitted):
    result, order, *_ = fitted
    early, last = order[:1500], order[1500:]
    np.testing.assert_array_equal(result.bet_log_odds[early], result.log_odds[early])
    np.testing.assert_array_equal(result.bet_score[early], result.score[early])
    assert not np.array_equal(result.bet_log_odds[last], result.log_odds[last])


def test_a_leak_stays_in_the_residual_score():
    score, truth, features = world(1600, leak=1.0)
    result, order = fit(score, truth, features)
    tail = order[800:]
    inside = tail[np.abs(result.log_odds[tail]) <= TRIM]
    surprise = (truth[inside] > 0) - expit(result.log_odds[inside])
    assert np.corrcoef(result.score[inside], surprise)[0, 1] > 0.3
    assert abs(result.score[inside][truth[inside] < 0].mean()) < 0.2  # centred on non-members
    assert result.allowance < 0.6


@pytest.mark.slow
def test_a_loaded_coin():
    score, truth, features = world(2000, coin=2.0)
    result, _ = fit(score, truth, features, coin=2.0)
    check(result, 2000)
    assert np.median(result.log_odds) == pytest.approx(2.0, abs=0.5)
    assert result.allowance < 1.5


@pytest.mark.slow
def test_the_seed_decides_and_the_stages_are_told(fitted):
    result, _, score, truth, features = fitted
    told = []
    again, _ = fit(score, truth, features, progress=lambda *stage: told.append(stage))
    np.testing.assert_array_equal(again.bet_score, result.bet_score)
    assert again.allowance == result.allowance
    assert [t[1] for t in told] == list(range(robust.STAGES))
    assert len({t[0] for t in told}) == len(told)


def one_hot(rng, rows):
    return np.eye(20)[rng.integers(0, 20, rows)]


FEATURES = {
    "one column": lambda rng, rows: rng.standard_normal((rows, 1)),
    "one binary column": lambda rng, rows: rng.integers(0, 2, (rows, 1)).astype(float),
    "constant": lambda rng, rows: np.hstack([np.zeros((rows, 1)), rng.standard_normal((rows, 1))]),
    "all constant": lambda rng, rows: np.zeros((rows, 2)),
    "binary": lambda rng, rows: rng.integers(0, 2, (rows, 6)).astype(float),
    "one-hot": lambda rng, rows: np.hstack([one_hot(rng, rows), one_hot(rng, rows)]),
    "outliers": lambda rng, rows: rng.standard_cauchy((rows, 3)) ** 3,
    "duplicated": lambda rng, rows: np.repeat(rng.standard_normal((rows, 2)), 3, axis=1),
}
SCORES = {
    "one differs": lambda rng, x: (np.arange(len(x)) == 7).astype(float),
    "normal": lambda rng, x: x[:, 0] / (1.0 + np.abs(x[:, 0])) + rng.standard_normal(len(x)),
    "two values": lambda rng, x: (rng.random(len(x)) < 0.5).astype(float),
    "ties": lambda rng, x: np.round(np.maximum(rng.standard_normal(len(x)) - 1.0, 0.0), 1),
    "huge": lambda rng, x: np.exp(300.0 * rng.standard_normal(len(x)).clip(-2.0, 2.0)),
}


MOST_TELLING = ("one binary column", "one-hot", "huge")


def quick_first(names, quick):
    """All the names, of which the others are slow."""
    return [n if n in quick else pytest.param(n, marks=pytest.mark.slow) for n in names]


def degenerate(features, score, rows, seed=1):
    rng = np.random.default_rng(seed)
    x = FEATURES[features](rng, rows)
    scale = x.std(axis=0)
    x = (x - x.mean(axis=0)) / np.where(scale > 0.0, scale, 1.0)
    truth = np.where(rng.random(rows) < 0.5, 1.0, -1.0)
    return SCORES[score](rng, x), truth, x


@pytest.mark.parametrize("features", quick_first(FEATURES, MOST_TELLING))
def test_odd_features(features):
    result, _ = fit(*degenerate(features, "normal", 450))
    check(result, 450)


@pytest.mark.parametrize(
    "score", quick_first([name for name in SCORES if name != "normal"], MOST_TELLING)
)
def test_odd_scores(score):
    result, _ = fit(*degenerate("binary", score, 450))
    check(result, 450)


@pytest.mark.parametrize("rows", [pytest.param(100, marks=pytest.mark.slow), 101])
def test_few_trials(rows):
    result, _ = fit(*degenerate("duplicated", "ties", rows))
    check(result, rows)
    assert result.allowance == np.inf


@pytest.mark.slow
def test_disjoint_groups():
    rng = np.random.default_rng(1)
    truth = np.where(rng.random(600) < 0.5, 1.0, -1.0)
    x = rng.standard_normal((600, 3)) + 8.0 * truth[:, None]
    result, order = fit(rng.standard_normal(600), truth, (x - x.mean(0)) / x.std(0))
    check(result, 600)
    assert np.mean(np.abs(result.log_odds[order[300:]]) <= TRIM) < 0.05
    assert result.allowance == np.inf
