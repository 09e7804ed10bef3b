from __future__ import annotations

import numpy as np

from divulge.shift.levels import level_columns, shrunken_means, without_fold

ROWS, LEVELS = 4000, 200


def drawn(rng, spread):
    effect = spread * rng.standard_normal(LEVELS)
    codes = rng.integers(LEVELS, size=ROWS).astype(np.int32)
    return codes, effect, effect[codes] + rng.standard_normal(ROWS)


def test_means_are_shrunken_as_the_levels_ask_for(rng):
    codes, effect, score = drawn(rng, 1.0)
    found = shrunken_means(codes, score, LEVELS)
    assert np.corrcoef(found, effect)[0, 1] > 0.95
    codes, _, noise = drawn(rng, 0.0)
    assert np.abs(shrunken_means(codes, noise, LEVELS)).max() < 0.3 * np.abs(found).max()


def test_a_level_never_seen_says_nothing():
    codes = np.array([0, 0, 1, 1])
    assert shrunken_means(codes, np.array([1.0, 1.2, -1.0, -1.2]), 3)[2] == 0.0


def test_no_outcome_is_in_its_own_column(rng):
    """Other outcomes of the left-out fold, or of a record's own fold, change nothing there."""
    codes, _, score = drawn(rng, 1.0)
    levels, fold = codes[:, None], rng.permutation(ROWS) % 3
    rows = np.arange(ROWS)
    before = without_fold(levels, rows, score[:, None], fold, 0)
    for k in (0, 1):
        other = np.where(fold == k, rng.standard_normal(ROWS), score)
        after = without_fold(levels, rows, other[:, None], fold, 0)
        np.testing.assert_array_equal(before[fold == k], after[fold == k])
    noise = rng.standard_normal((ROWS, 1))
    column = without_fold(levels, rows, noise, fold, 0)[fold != 0, 0]
    assert abs(np.corrcoef(column, noise[fold != 0, 0])[0, 1]) < 0.06


def test_one_column_per_category_and_outcome(rng):
    codes, _, score = drawn(rng, 1.0)
    levels = np.stack([codes, codes % 7], axis=1)
    found = level_columns(levels, np.arange(ROWS), np.stack([score, score**2], axis=1))
    assert found.shape == (ROWS, 4)
