"""Line-ups as trials: what may be counted, and that nothing leaks backwards."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.bounds import forecasting, lineups
from divulge.bounds.lineups import LineUpCounts, of_group
from divulge.bounds.recursion import epsilon_lower_bound, mu_lower_bound
from divulge.errors import InputError
from divulge.proof.lineup import LineUp
from divulge.proof.prove import prove
from divulge.proof.rule import Rule

FIRST = np.zeros(200, dtype=np.intp)


def scores(leak, rows=200, candidates=5, seed=0):
    out = np.random.default_rng(seed).normal(size=(rows, candidates))
    out[:, 0] += leak
    return out


def test_shuffling_keeps_every_line_up_whole():
    score = scores(0.0)
    prior = np.random.default_rng(1).dirichlet(np.ones(5), 200)
    shown = LineUp(score, FIRST, prior, np.arange(200) + 1).shuffled(np.random.default_rng(2))
    rows = shown.copies - 1
    at = np.arange(200)
    assert np.array_equal(shown.score[at, shown.value], score[rows, 0])
    assert np.array_equal(shown.prior[at, shown.value], prior[rows, 0])
    assert np.array_equal(np.sort(shown.score), np.sort(score[rows]))
    assert np.bincount(shown.value, minlength=5).min() > 20


def test_uneven_line_ups_are_bet_on_and_not_counted():
    prior = np.full((200, 5), 0.2)
    prior[:150] = [0.4, 0.2, 0.2, 0.2, 0.0]
    score = scores(3.0)
    score[:150, 4] = np.nan  # a candidate that is not there
    proof = prove(LineUp(score, FIRST, prior), Rule(), np.random.default_rng(0))
    assert proof.bet.trials == 200
    assert proof.counts.trials <= 50
    none = prove(LineUp(score[:150], FIRST[:150], prior[:150]), Rule(), np.random.default_rng(0))
    assert none.counts is None
    assert [b.method for b in none.bounds] == ["betting"]


def test_counted_guesses_depend_on_learned_truths_only():
    score, prior = scores(1.0), np.full((200, 5), 0.2)
    other = FIRST.copy()
    other[80:] = 3
    one, two = (forecasting.forecast(score, prior, v, 80) for v in (FIRST, other))
    assert np.array_equal(one, two)
    assert not np.allclose(one[80:], prior[80:])
    assert np.array_equal(one[:32], prior[:32])


def test_numbers_follow_from_the_line_ups_alone():
    assert lineups.numbers(1000) == (50, 200, 1000)
    assert lineups.numbers(30) == (10, 30)
    assert lineups.numbers(5) == (5,)


def test_bounds_are_the_best_number_at_its_share_of_the_error():
    counts = LineUpCounts(100, 8, (10, 100), (10, 40))
    pairs = ((10, 10), (100, 40))
    mu = max(mu_lower_bound(100, r, c, 0.01, candidates=8) for r, c in pairs)
    epsilon = max(epsilon_lower_bound(100, r, c, 1e-5, 0.01, candidates=8) for r, c in pairs)
    assert counts.mu(0.02) == mu > 0.0
    assert counts.epsilon(1e-5, 0.02) == pytest.approx(epsilon, abs=2e-6)


def test_group_privacy():
    assert of_group(0.5, 1e-3, 1) == (0.5, 1e-3)
    epsilon, delta = of_group(0.5, 1e-3, 3)
    assert epsilon == 1.5
    assert delta == pytest.approx(1e-3 * (np.exp(1.5) - 1.0) / (np.exp(0.5) - 1.0))
    alone = LineUpCounts(100, 8, (100,), (90,))
    three = LineUpCounts(100, 8, (100,), (90,), copies=3)
    assert three.mu(0.05) == pytest.approx(alone.mu(0.05) / 3.0)
    assert three.epsilon(1e-5, 0.05) < alone.epsilon(1e-5, 0.05) / 3.0
    assert three.epsilon(0.0, 0.05) == pytest.approx(alone.epsilon(0.0, 0.05) / 3.0, abs=1e-5)


def test_ties_are_broken_at_random():
    """A model that says nothing is right once in K, whatever stands first."""
    rng = np.random.default_rng(0)
    counts = lineups.count(np.zeros((4000, 4)), np.zeros(4000, dtype=np.intp), rng)
    assert abs(counts.correct[-1] / 4000 - 0.25) < 0.03


@pytest.mark.parametrize("candidates", [2, 8, 32])
def test_more_candidates_prove_more(candidates):
    proof = prove(
        LineUp(scores(2.0, candidates=candidates), FIRST), Rule(), np.random.default_rng(0)
    )
    assert proof.bet.epsilon > {2: 1.5, 8: 3.0, 32: 4.0}[candidates]


@pytest.mark.parametrize(
    ("score", "value", "prior", "copies"),
    [
        (np.zeros(5), FIRST[:5], None, None),
        (np.zeros((5, 1)), FIRST[:5], None, None),
        (np.zeros((5, 3)), FIRST[:4], None, None),
        (np.zeros((5, 3)), FIRST[:5], np.ones((5, 2)) / 2, None),
        (np.zeros((5, 3)), FIRST[:5], None, FIRST[:5]),
    ],
)
def test_shapes_must_agree(score, value, prior, copies):
    with pytest.raises(InputError):
        LineUp(score, value, prior, copies)
