"""Forecasts learned as values are revealed: what they learn, and what they must not see."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.bounds.direct import bet_values
from divulge.bounds.forecasting import FIRST, forecast
from divulge.errors import InputError


def line_up(mu, candidates, rows, seed, ties=False):
    """The score of the true value is N(mu, 1) among N(0, 1)."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, candidates, rows)
    s = rng.normal(size=(rows, candidates))
    s[np.arange(rows), y] += mu
    return np.round(s) if ties else s, np.full((rows, candidates), 1.0 / candidates), y


def test_later_values_do_not_change_a_forecast():
    s, w, y = line_up(1.5, 6, 400, 0)
    first = forecast(s, w, y)
    other = y.copy()
    other[200:] = (other[200:] + 1) % 6
    again = forecast(s, w, other)
    assert np.allclose(first.sum(axis=1), 1.0)
    assert np.array_equal(first[:FIRST], w[:FIRST])
    assert np.array_equal(first[:200], again[:200])
    assert not np.allclose(first[-1], again[-1])


def test_it_comes_near_to_the_exact_forecast():
    s, w, y = line_up(2.0, 8, 3000, 1)
    exact = np.exp(2.0 * s)
    exact /= exact.sum(axis=1, keepdims=True)
    learned = bet_values(forecast(s, w, y), w, y).epsilon
    assert learned > 0.9 * bet_values(exact, w, y).epsilon > 3.0


def test_it_learns_what_is_not_linear():
    """Only a score far above says something: a few records are remembered."""
    rng = np.random.default_rng(2)
    s, w, y = line_up(0.0, 4, 4000, 3)
    known = rng.random(4000) < 0.1
    s[known, y[known]] = 6.0 + rng.normal(size=known.sum())
    q = forecast(s, w, y)
    assert np.median(q[2000:][known[2000:], y[2000:][known[2000:]]]) > 0.95
    assert bet_values(q, w, y).epsilon > 2.0


@pytest.mark.slow
def test_nothing_is_found_where_nothing_is():
    """Of 300 line-ups of noise at most 5% are claimed, ties among them."""
    false = sum(
        bet_values(forecast(s, w, y), w, y).leak
        for s, w, y in (line_up(0.0, 5, 150, 100 + k, ties=k % 2 == 0) for k in range(300))
    )
    assert false <= 24


def test_priors_are_kept_and_missing_values_ignored():
    rng = np.random.default_rng(4)
    w = rng.dirichlet(np.ones(3), 500)
    y = (rng.random((500, 1)) > np.cumsum(w, axis=1)).sum(axis=1)
    s = rng.normal(size=(500, 3))
    assert np.abs(forecast(s, w, y)[-100:] - w[-100:]).max() < 0.15
    s, w, y = line_up(2.0, 3, 500, 5)
    wide = np.column_stack([s, np.full(500, np.nan)]), np.column_stack([w, np.zeros(500)])
    assert np.allclose(forecast(*wide, y)[:, :3], forecast(s, w, y))
    with pytest.raises(InputError, match="finite"):
        forecast(np.where(s > 9, s, np.inf), w, y)


def test_several_scores_are_combined():
    s, w, y = line_up(1.0, 4, 3000, 6)
    t = np.random.default_rng(7).normal(size=s.shape)
    t[np.arange(3000), y] += 1.0
    one = bet_values(forecast(s, w, y), w, y).epsilon
    both = bet_values(forecast(np.stack([s, t], axis=2), w, y), w, y).epsilon
    assert both > one + 0.3
