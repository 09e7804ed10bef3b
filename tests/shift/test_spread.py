from __future__ import annotations

import numpy as np

from divulge.shift.design import read_records
from divulge.shift.spread import fit_spread

ROWS = 3000


def fitted(log_scale, rng, columns=8):
    x = rng.standard_normal((ROWS, columns))
    left = np.exp(log_scale(x)) * rng.standard_normal(ROWS)
    half = rng.permutation(ROWS) % 2
    return x, fit_spread(left, np.zeros(ROWS), read_records(x, rng), half, rng)


def test_a_spread_that_follows_a_product_is_learned(rng):
    x, found = fitted(lambda x: 0.7 * np.sign(x[:, 0] * x[:, 1]), rng)
    assert np.corrcoef(np.log(found.scale), np.sign(x[:, 0] * x[:, 1]))[0, 1] > 0.7


def test_a_spread_that_is_everywhere_the_same_stays_so(rng):
    _, found = fitted(lambda x: np.zeros(len(x)), rng, columns=40)
    assert np.log(found.scale).std() < 0.12


def test_records_without_a_score_get_a_scale(rng):
    x = rng.standard_normal((500, 3))
    half = np.r_[np.arange(400) % 2, np.full(100, -1)]
    found = fit_spread(rng.standard_normal(400), np.zeros(500), read_records(x, rng), half, rng)
    assert found.scale.shape == (500,)
    assert (found.scale > 0.0).all()
