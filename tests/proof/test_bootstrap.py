from __future__ import annotations

import numpy as np
import pytest

from divulge.errors import InputError
from divulge.proof.bootstrap import bootstrap
from divulge.work import SERIAL, Engine


def test_the_lower_quantile_is_recentred_and_never_above_the_point(rng):
    found = bootstrap(0.5, lambda rows: 0.4 + 0.1 * rows.mean() / 50, 100, error=0.05, rng=rng)
    assert found.lower <= found.point
    assert np.median(found.values) == pytest.approx(0.5)
    assert np.mean(found.values < found.lower) <= 0.05


def test_where_most_resamples_prove_nothing_nothing_is_claimed(rng):
    found = bootstrap(
        0.3, lambda rows: 0.0 if rows[0] < 80 else 0.3, 100, error=0.05, rng=rng, resamples=99
    )
    assert found.lower == 0.0


def test_values_do_not_depend_on_the_number_of_processes():
    one, two = (
        bootstrap(
            0.1, np.mean, 50, error=0.1, rng=np.random.default_rng(0), resamples=8, engine=engine
        )
        for engine in (SERIAL, Engine("loky", 2))
    )
    np.testing.assert_array_equal(one.values, two.values)


def test_bad_input_is_refused(rng):
    with pytest.raises(InputError):
        bootstrap(0.1, np.mean, 5, error=0.0, rng=rng)
    with pytest.raises(InputError):
        bootstrap(0.1, np.mean, 5, error=0.1, rng=rng, resamples=0)
