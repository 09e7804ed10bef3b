from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from divulge.errors import CannotConclude
from divulge.proof.draw import DRY, draw, number_of_trials


@pytest.mark.parametrize(("members", "nonmembers"), [(1000, 1000), (3000, 1000), (100, 5000)])
def test_the_draw_takes_rows_of_the_right_kind_once(members, nonmembers, rng):
    truth = np.concatenate([np.ones(members), -np.ones(nonmembers)])
    drawn = draw(truth, rng)
    np.testing.assert_array_equal(truth[drawn.rows], drawn.truth)
    assert np.unique(drawn.rows).size == len(drawn)
    assert len(drawn) > 0.55 * min(truth.size, 20 * min(members, nonmembers))


def test_a_pool_runs_dry_almost_never():
    m = number_of_trials(1000, 1000, 0.5)
    assert binom.sf(1000, m, 0.5) + binom.sf(1000, m, 0.5) <= DRY
    assert binom.sf(1000, m + 1, 0.5) * 2 > DRY


def test_truths_are_independent_coins(rng):
    """Unlike a fixed split, the number of members varies as a binomial does."""
    truth = np.repeat([1.0, -1.0], 200)
    counts = [int((draw(truth, rng).truth > 0).sum()) for _ in range(300)]
    m = number_of_trials(200, 200, 0.5)
    assert np.std(counts) == pytest.approx(np.sqrt(m / 4), rel=0.15)


def test_too_few_is_said(rng):
    with pytest.raises(CannotConclude, match="at least 20"):
        draw(np.repeat([1.0, -1.0], 9), rng)
