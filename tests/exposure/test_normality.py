"""Columns whose mean is not close to normal are named."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.exposure.exposed import Release
from divulge.exposure.normality import doubts


@pytest.fixture(scope="module")
def reference():
    rng = np.random.default_rng(0)
    columns = [
        rng.normal(size=4000),
        rng.exponential(size=4000),
        rng.lognormal(sigma=2.0, size=4000),
        rng.random(4000) < 0.5,
        rng.random(4000) < 0.01,
    ]
    return np.column_stack(columns).astype(float)


NAMES = ("normal", "exponential", "long tail", "even", "rare")


def test_skewed_and_rare_columns_are_named(reference):
    found = doubts(reference, NAMES, Release(200))
    assert [d.column for d in found] == ["long tail", "rare"]
    rare = found[1]
    p = reference[:, 4].mean()
    assert rare.expected == pytest.approx(200 * p)
    assert rare.skewness == pytest.approx((1 - 2 * p) / np.sqrt(p * (1 - p) * 200), rel=1e-6)
    assert found[0].expected is None
    assert [d.column for d in doubts(reference, NAMES, Release(20))][-1] == "exponential"


def test_more_records_or_noise_cure_it(reference):
    assert doubts(reference[:, [0, 1, 3, 4]], NAMES[:4], Release(20_000)) == []
    assert doubts(reference[:, 3:], NAMES[3:], Release(200, noise=0.1)) == []
    assert doubts(reference[:, 3:], NAMES[3:], Release(200)) != []
    sampled = doubts(reference[:, 3:], NAMES[3:], Release(20_000, rate=0.01))
    assert [d.column for d in sampled] == ["rare"]
