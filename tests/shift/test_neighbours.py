from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from divulge.shift.compiled_near import nearest_in_square
from divulge.shift.neighbours import MARGIN, Near, largest, margin_among, near_slopes

ROWS, GROUPS = 3000, 250


def looked(rng, effect, leak=0.0, spread=0.0, levels=False):
    """Small groups with an effect on membership and on the mean or the spread of the score."""
    which = rng.integers(GROUPS, size=ROWS)
    x = 2.0 * rng.standard_normal((GROUPS, 6))[which] + 0.2 * rng.standard_normal((ROWS, 6))
    moved = effect * rng.standard_normal(GROUPS)[which]
    member = rng.random(ROWS) < expit(moved)
    scale = np.exp(spread * moved)
    left = (0.0 if spread else moved) + leak * member + scale * rng.standard_normal(ROWS)
    left -= leak * 0.5
    codes = which.astype(np.int32)[:, None] if levels else None
    x = rng.standard_normal((ROWS, 6)) if levels else x
    return near_slopes(x, codes, member - 0.5, left, 0.25, rng)


def test_small_groups_that_both_models_missed_are_seen(rng):
    assert largest(looked(rng, 1.0), 0.0) > 0.5


def test_so_are_levels_of_a_category(rng):
    found = looked(rng, 1.0, levels=True)
    assert max(found, key=lambda n: n.value / n.standard_error).where == "level of category 1"
    assert largest(found, 0.0) > 0.5


def test_so_are_records_with_the_same_number(rng):
    """Many have a number between two rounded ones, so that the nearest are no guide."""
    amount = np.rint(rng.normal(5000.0, 800.0, ROWS))
    amount = np.where(rng.random(ROWS) < 0.5, 12.0 * np.rint(amount / 12.0), amount)
    moved = np.where(amount % 12.0 == 0.0, 1.0, -1.0)
    member = rng.random(ROWS) < expit(moved)
    x = np.column_stack([(amount - 5000.0) / 800.0, rng.standard_normal((ROWS, 2))])
    found = near_slopes(x, None, member - 0.5, moved + rng.standard_normal(ROWS), 0.25, rng)
    same = [n for n in found if n.where == "same number in column 1" and n.shape == "mean"]
    assert len(same) == 1
    assert same[0].value > 5.0 * same[0].standard_error
    assert not [
        n for n in found if n.where in ("same number in column 2", "same number in column 3")
    ]


def test_so_is_their_spread(rng):
    found = {(n.where, n.shape): n for n in looked(rng, 1.0, spread=0.6)}
    near = found["nearest 3", "square"]
    assert near.value > 4.0 * near.standard_error


@pytest.mark.parametrize("leak", [0.0, 2.0])
def test_a_leak_alone_is_not_charged(rng, leak):
    assert largest(looked(rng, 0.0, leak=leak), leak) == 0.0


def test_what_works_against_the_leak_does_not_explain_it(rng):
    found = [n for n in looked(rng, 1.0) if n.shape == "mean"]
    assert largest(found, 1.0) > 0.5
    assert largest(found, -1.0) == 0.0


def pairs(errors, disjoint=True):
    """Covariances in so many pairs of columns, of these sizes in standard errors."""
    return [
        Near(f"pair {i}", "mean", 0.01 * e, 0.01, 2.0, len(errors), about(i, disjoint))
        for i, e in enumerate(errors)
    ]


def about(number, disjoint):
    return frozenset((2 * number, 2 * number + 1) if disjoint else (0, number + 1))


def test_many_small_functions_that_both_models_missed_are_charged_together():
    """None of them is beyond chance among a hundred, and only two beyond the margin of one."""
    small = [3.4, 3.1, 2.8, 2.7, 2.6, 2.5]
    found = pairs(small + [0.0] * 100)
    assert max(small) < margin_among(len(found), MARGIN)
    assert largest(found, 1.0) == pytest.approx(0.02 * sum(small))
    assert largest(found, -1.0) == 0.0


def test_one_column_is_not_counted_in_each_of_its_pairs():
    assert largest(pairs([2.8] * 10 + [0.0] * 100, disjoint=False), 1.0) == 0.0


def test_chance_is_hardly_ever_charged(rng):
    """Two counts of tests as rare as three standard errors: 0.13% each, and some in between."""
    charged = [largest(pairs(rng.standard_normal(137).tolist()), 1.0) > 0.0 for _ in range(3000)]
    assert np.mean(charged) < 0.01


def test_the_largest_of_many_is_held_against_what_the_largest_by_chance_is():
    assert margin_among(1, MARGIN) == MARGIN
    assert margin_among(137, MARGIN) == pytest.approx(4.27, abs=0.01)
    assert largest(pairs([4.4] + [0.0] * 136), 1.0) == pytest.approx(0.088)
    assert largest(pairs([4.1] + [0.0] * 136), 1.0) == 0.0


def test_equal_records_are_not_each_others_neighbours(rng):
    """A model gives them one score: what it remembers of one shows in the other."""
    x = np.repeat(rng.standard_normal((ROWS // 2, 6)), 2, axis=0)
    member = rng.random(ROWS) < 0.5
    first = member[::2].repeat(2)
    left = 1.5 * first + rng.standard_normal(ROWS // 2).repeat(2)
    assert largest(near_slopes(x, None, member - 0.5, left, 0.25, rng), 1.0) == 0.0


@pytest.mark.parametrize(("asked", "known"), [(300, 500), (40, 3), (5, 1)])
def test_the_grid_finds_the_nearest_ones_also_among_ties(asked, known):
    rng = np.random.default_rng(known)
    here, there = rng.random((asked, 2)), rng.random((known, 2))
    there[: known // 3] = there[0]
    most = min(3, known)
    found = nearest_in_square(here, there, most)
    away = ((here[:, None] - there[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(found, np.argsort(away, axis=1, kind="stable")[:, :most])
