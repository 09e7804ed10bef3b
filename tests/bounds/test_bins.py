"""Bins found at once are the bins of scikit-learn, and so are the trees grown on them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from divulge.bounds.bins import BINS, Binned, edges


def columns(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Smooth, rounded, heavy-tailed, few values, tied at zero, and with missing values."""
    smooth = rng.normal(size=rows)
    rounded, heavy = np.round(rng.normal(size=rows), 2), rng.standard_cauchy(rows)
    few, tied = rng.integers(9, size=rows), np.maximum(0.0, rng.normal(size=rows))
    holes = np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows))
    return np.column_stack([smooth, rounded, heavy, few, tied, holes])


@pytest.mark.parametrize("kind", ["random", "equal", "some zero"])
def test_the_same_probabilities_as_without(kind, rng):
    x, fresh = columns(rng, 2000), columns(rng, 1000)
    y = (rng.random(2000) < 1 / (1 + np.exp(-x[:, 0] - x[:, 1] * x[:, 4]))).astype(int)
    weight = {
        "random": rng.random(2000),
        "equal": np.ones(2000),
        "some zero": rng.random(2000) * (rng.random(2000) < 0.7),
    }[kind]

    def boosting() -> HistGradientBoostingClassifier:
        return HistGradientBoostingClassifier(max_iter=20, random_state=0)

    plain = boosting().fit(x, y, sample_weight=weight)
    binned = Binned(boosting()).fit(x, y, sample_weight=weight)
    assert np.array_equal(binned.predict_proba(fresh), plain.predict_proba(fresh))
    assert np.array_equal(binned.decision_function(fresh), plain.decision_function(fresh))
    assert np.ptp(plain.predict_proba(fresh)[:, 1]) > 0.5


def test_every_bin_has_its_share_of_the_weight(rng):
    value, weight = rng.normal(size=100_000), rng.random(100_000)
    bins = np.searchsorted(edges(value, weight), value)
    share = np.bincount(bins, weights=weight) / weight.sum()
    assert share.size == BINS
    assert share == pytest.approx(1.0 / BINS, abs=2e-5)


def test_few_values_are_left_alone(rng):
    assert edges(rng.integers(BINS, size=5000).astype(float), np.ones(5000)) is None
