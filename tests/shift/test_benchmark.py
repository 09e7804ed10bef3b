from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from divulge.shift.benchmark import strongest

ROWS = 8000


def truths(log_odds, rng):
    return np.where(rng.random(log_odds.size) < expit(log_odds), 1.0, -1.0)


def test_the_odds_ratio_is_that_of_a_standard_deviation(rng):
    x = rng.standard_normal((ROWS, 4))
    found = strongest(x, tuple("abcd"), None, (), truths(1.0 * x[:, 1] + 0.3 * x[:, 2], rng))
    assert [f.feature for f in found[:2]] == ["b", "c"]
    assert math.log(found[0].odds_ratio) == pytest.approx(1.0, abs=0.12)
    assert math.log(found[1].odds_ratio) == pytest.approx(0.3, abs=0.12)


def test_a_column_that_another_one_repeats_is_not_missed(rng):
    """Left out, it is replaced by its copy."""
    x = rng.standard_normal((ROWS, 1)) + 0.05 * rng.standard_normal((ROWS, 2))
    found = strongest(x, ("a", "b"), None, (), truths(x[:, 0], rng))
    assert all(math.log(f.odds_ratio) < 0.3 for f in found)


def test_squares_and_levels_count(rng):
    x = rng.standard_normal((ROWS, 2))
    levels = rng.integers(100, size=(ROWS, 1)).astype(np.int32)
    effect = 1.2 * rng.standard_normal(100)
    bent = strongest(x, ("a", "b"), None, (), truths(0.7 * (x[:, 0] ** 2 - 1.0), rng))
    assert bent[0].feature == "a"
    assert bent[0].odds_ratio > 1.7
    coded = strongest(x, ("a", "b"), levels, ("c",), truths(effect[levels[:, 0]], rng))
    assert coded[0].feature == "c"
    assert coded[0].odds_ratio > 2.0


def test_without_features_there_is_nothing_to_leave_out():
    assert strongest(np.zeros((10, 0)), (), None, (), np.tile([1.0, -1.0], 5)) == ()
