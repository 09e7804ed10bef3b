"""Boosting on bins found at once grows the trees of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from divulge.bounds.tree_boosting import (
    BINS,
    CLASSES,
    LOGISTIC,
    SQUARED,
    Trees,
    binned,
    boosted,
    boosted_classifier,
    edges,
)

TREES = Trees(rounds=25, rate=0.12, leaves=8, least=20, penalty=5.0)
WIDE = Trees(rounds=20, rate=0.1, leaves=31, least=20, penalty=0.0)


def columns(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Smooth, rounded, heavy-tailed, few values, tied at zero."""
    smooth = rng.normal(size=rows)
    rounded, heavy = np.round(rng.normal(size=rows), 2), rng.standard_cauchy(rows)
    few, tied = rng.integers(9, size=rows), np.maximum(0.0, rng.normal(size=rows))
    return np.column_stack([smooth, rounded, heavy, few, tied])


def options(trees: Trees) -> dict:
    return {
        "max_iter": trees.rounds,
        "learning_rate": trees.rate,
        "max_leaf_nodes": trees.leaves,
        "min_samples_leaf": trees.least,
        "l2_regularization": trees.penalty,
        "early_stopping": False,
    }


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["random", "equal", "some zero", "none"])
def test_the_same_probabilities_as_scikit_learn(kind, classes, rng):
    """Those compute slopes in single precision; a tie may fall the other way for a few rows."""
    x, fresh = columns(rng, 2000), columns(rng, 1000)
    likely = 1 / (1 + np.exp(-x[:, 0] - x[:, 1] * x[:, 4]))
    y = (rng.random(2000) < likely).astype(int) + (rng.random(2000) < 0.2) * (classes - 2)
    weight = {
        "random": rng.random(2000),
        "equal": np.ones(2000),
        "some zero": rng.random(2000) * (rng.random(2000) < 0.7),
        "none": None,
    }[kind]
    plain = HistGradientBoostingClassifier(**options(WIDE)).fit(x, y, sample_weight=weight)
    ours = boosted_classifier(x, y, weight, WIDE)
    assert (ours.classes_ == plain.classes_).all()
    apart = np.abs(ours.predict_proba(fresh) - plain.predict_proba(fresh)).max(axis=1)
    assert np.mean(apart < 1e-5) > 0.98
    assert apart.max() < 0.1
    assert np.ptp(ours.predict_proba(fresh)[:, 1]) > 0.5


@pytest.mark.parametrize("loss", [SQUARED, LOGISTIC])
def test_columns_that_are_bins_already(loss, rng):
    x, fresh = (rng.integers(0, 48, (1500, 6)).astype(np.uint8) for _ in range(2))
    y = np.sin(x[:, 0] / 8.0) + 0.02 * x[:, 1] + rng.normal(size=1500)
    y = (y > y.mean()).astype(float) if loss == LOGISTIC else y
    kind = HistGradientBoostingClassifier if loss == LOGISTIC else HistGradientBoostingRegressor
    plain = kind(**options(TREES), max_bins=48).fit(x, y)
    told = plain.decision_function(fresh) if loss == LOGISTIC else plain.predict(fresh)
    ours = boosted(x, y, None, loss, TREES, 48).margins(fresh)[:, 0]
    assert np.mean(np.abs(ours - told) < 1e-5) > 0.98
    assert np.ptp(told) > 1.0


def test_a_leaf_has_its_rows_and_too_few_rows_make_one_leaf(rng):
    x = rng.integers(0, 48, (39, 2)).astype(np.uint8)
    y = rng.normal(size=39)
    assert boosted(x, y, None, SQUARED, TREES, 48).margins(x)[:, 0] == pytest.approx(y.mean())


def test_every_bin_has_its_share_of_the_weight(rng):
    value, weight = rng.normal(size=100_000), rng.random(100_000)
    bins = np.searchsorted(edges(value, weight), value)
    share = np.bincount(bins, weights=weight) / weight.sum()
    assert share.size == BINS
    assert share == pytest.approx(1.0 / BINS, abs=2e-5)


def test_few_values_have_a_bin_each(rng):
    value = rng.integers(BINS, size=5000).astype(float)
    ends = edges(value, np.ones(5000))
    assert np.unique(binned(value[:, None], [ends])).size == np.unique(value).size


@pytest.mark.parametrize("loss", [SQUARED, LOGISTIC])
@pytest.mark.parametrize("kind", [1, 5, 8])
def test_weights_and_any_number_of_columns(kind, loss, rng):
    """A row of weight two is two rows, but for the rows that a leaf has to have."""
    few = Trees(rounds=25, rate=0.12, leaves=8, least=1, penalty=5.0)
    x = rng.integers(0, 48, (600, kind)).astype(np.uint8)
    y = x[:, 0] / 24.0 + rng.normal(size=600)
    y = (y > 1.0).astype(float) if loss == LOGISTIC else y
    weight = rng.integers(1, 4, size=600)
    once = boosted(x, y, weight.astype(float), loss, few, 48).margins(x)
    copies = boosted(np.repeat(x, weight, axis=0), np.repeat(y, weight), None, loss, few, 48)
    assert np.mean(np.abs(once - copies.margins(x)) < 1e-8) > 0.98


@pytest.mark.parametrize("loss", [LOGISTIC, CLASSES])
def test_a_class_without_weight_is_unlikely_and_finite(loss, rng):
    x = rng.integers(0, 48, (200, 2)).astype(np.uint8)
    y = (rng.random(200) < 0.5).astype(float)
    target = y if loss == LOGISTIC else np.stack([1.0 - y, y], axis=1)
    for weight in (y, 1.0 - y):
        for trees in (TREES, WIDE):
            found = boosted(x, target, weight, loss, trees, 48).margins(x)
            assert np.isfinite(found).all()
            likely = found[:, -1] > (0.0 if loss == LOGISTIC else found[:, 0])
            assert (likely == weight[y == 1.0].any()).all()


@pytest.mark.parametrize("rows", [40, 2000])
def test_infinite_and_missing_values(rows, rng):
    x = rng.normal(size=(rows, 4))
    x[:, 0] = np.where(rng.random(rows) < 0.5, -np.inf, np.inf)
    x[: rows // 4, 1], x[rows // 4 : rows // 2, 1] = -np.inf, np.inf
    x[::3, 2], x[:, 3] = np.nan, np.nan
    y = (x[:, 0] > 0.0) | (x[:, 1] == np.inf)
    ends = [edges(column, np.ones(rows)) for column in x.T]
    assert all(np.isfinite(own).all() for own in ends)
    bins = binned(x, ends)
    assert np.unique(bins[:, 0]).size == 2
    assert np.unique(bins[~np.isfinite(x[:, 1]), 1]).size == 2
    found = boosted_classifier(x, y, None, TREES).predict_proba(x)
    assert np.isfinite(found).all()
    assert rows == 40 or ((found[:, 1] > 0.5) == y).all()


def test_without_a_column_there_is_one_leaf(rng):
    y = rng.normal(size=200)
    nothing = np.zeros((200, 0), np.uint8)
    assert boosted(nothing, y, None, SQUARED, TREES).margins(nothing)[:, 0] == pytest.approx(
        y.mean()
    )


def test_what_compiled_code_cannot_check_is_refused():
    bins, y = np.full((50, 1), 60, np.uint8), np.ones(50)
    for wrong in (
        lambda: boosted(bins, y, None, SQUARED, TREES, 48),
        lambda: boosted(bins, np.full(50, np.nan), None, SQUARED, TREES),
        lambda: boosted(bins, y, np.zeros(50), SQUARED, TREES),
    ):
        with pytest.raises(AssertionError):
            wrong()
