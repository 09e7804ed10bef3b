"""The simulator plays the algorithms as written."""

from __future__ import annotations

import math

import numpy as np
import pytest

from divulge.crosschecks.per_datum import (
    Bernoulli,
    Mean,
    Normal,
    play,
    play_any,
    round_of_any,
    round_of_target,
)
from divulge.errors import InputError
from divulge.exposure import exposed
from divulge.exposure.covariance import known
from divulge.exposure.exposed import Release

P = np.linspace(0.3, 0.7, 30)


def everything(records, rng):
    return records.copy()


def test_the_target_replaces_one_record(rng):
    target = np.full(30, 7.0)
    bits = []
    for _ in range(200):
        table, bit = round_of_target(everything, Bernoulli(P), 12, target, rng)
        assert table.shape == (12, 30)
        assert int((table == 7.0).all(axis=1).sum()) == int(bit)
        bits.append(bit)
    assert 60 < sum(bits) < 140


def test_the_target_of_the_average_game_is_in_the_table_iff_the_bit_says_so(rng):
    for _ in range(100):
        target, table, bit = round_of_any(everything, Bernoulli(P), 12, rng)
        assert bool((table == target).all(axis=1).any()) == bit


def test_distributions_have_their_moments(rng):
    assert np.abs(Bernoulli(P).sample(20_000, rng).mean(axis=0) - P).max() < 0.02
    factor = np.array([[1.0, 0.0], [0.5, 2.0]])
    drawn = Normal(np.array([1.0, -1.0]), factor).sample(50_000, rng)
    np.testing.assert_allclose(np.cov(drawn.T), factor @ factor.T, atol=0.1)


def test_the_mean_mechanism(rng):
    records = rng.normal(size=(10, 3))
    np.testing.assert_allclose(Mean()(records, rng), records.mean(axis=0))
    halves = np.array([Mean(rate=0.5)(np.arange(10.0)[:, None], rng) for _ in range(300)])
    assert set(np.round(halves * 5).ravel() % 1) == {0.0}
    noisy = np.array([Mean(noise=0.3)(records, rng) for _ in range(4000)])
    np.testing.assert_allclose(noisy.std(axis=0), 0.3, rtol=0.06)


def test_an_adversary_that_knows_wins_always():
    played = play(everything, Bernoulli(P), 5, np.full(30, 7.0), lambda t: float(t.max() > 2), 50)
    assert played.won.all()
    assert played.advantage() == 1.0


def test_the_average_game_reaches_the_mean_advantage():
    """A record drawn from the distribution has the mean advantage over records (004, B.3)."""
    n, rounds = 20, 6000
    model, release = known(P, P * (1 - P)), Release(20)

    def adversary(target, released):
        shift = model.inner(target - P, released - P)
        return float(shift > model.mahalanobis(target) / (2 * n))

    played = play_any(Mean(), Bernoulli(P), n, adversary, rounds, rng=8)
    rng = np.random.default_rng(0)
    m = exposed.leakage_scores(Bernoulli(P).sample(4000, rng), model, release)
    expected = float(exposed.advantage(m).mean())
    assert abs(played.advantage() - expected) < 3 * math.sqrt(1.0 / rounds)
    assert abs(2 * played.won.mean() - 1 - played.advantage()) < 0.05


def test_the_same_seed_gives_the_same_rounds():
    first, second = (
        play(Mean(0.1, 0.5), Bernoulli(P), 10, P, lambda o: float(o[0]), 20, rng=3)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.score, second.score)
    assert len(set(first.score)) > 5


def test_bad_input(rng):
    with pytest.raises(InputError, match="rounds"):
        play(Mean(), Bernoulli(P), 10, P, lambda o: 0.0, 0)
    with pytest.raises(InputError, match="at least 2 records"):
        round_of_any(Mean(), Bernoulli(P), 1, rng)
    with pytest.raises(InputError, match="rate must lie"):
        Mean(rate=2.0)(np.zeros((3, 2)), rng)
