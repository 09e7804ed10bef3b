"""Pairs: the kernel is symmetric, guesses are balanced, and counts keep their error."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.bounds.guessing import Counts
from divulge.bounds.pairs import Pairing, count_top, number_to_guess, share_to_guess


def pairing(prior, lift=None, up=None, down=None, trim=np.inf):
    nothing = np.zeros_like(prior)
    given = (nothing if part is None else part for part in (lift, up, down))
    return Pairing(prior, *given, trim)


@pytest.mark.parametrize(
    "prior", [(0.5, 0.5), (0.9, 0.1), (0.7, 0.2, 0.1), (0.4, 0.0, 0.35, 0.25), (0.1,) * 10]
)
def test_a_pair_does_not_tell_which_is_the_own_value(prior):
    """Each ordered pair is as frequent as the other way round; void no more often than w itself."""
    rng = np.random.default_rng(0)
    w = np.tile(prior, (200_000, 1))
    own = rng.choice(len(prior), size=len(w), p=prior)
    partner = pairing(w).draw(own, rng)
    drawn = partner >= 0
    table = np.zeros((len(prior), len(prior)))
    np.add.at(table, (own[drawn], partner[drawn]), 1)
    assert np.all(np.diag(table) == 0)
    both = table + table.T
    assert np.abs(table - table.T).max() <= 5 * np.sqrt(both.max())
    assert drawn.mean() >= 1.0 - np.square(prior).sum() - 0.01
    if len(set(prior)) == 1:
        assert drawn.all()


def test_a_record_with_one_possible_value_makes_no_pair():
    w = np.array([[1.0, 0.0], [0.0, 1.0]])
    partner = pairing(w).draw(np.array([0, 1]), np.random.default_rng(0))
    assert partner.tolist() == [-1, -1]


def test_what_the_record_may_say_is_taken_away_from_right_guesses():
    """Prior odds of e^0.7 for the guess: of what is kept half is right."""
    rng = np.random.default_rng(1)
    w = np.full((100_000, 2), 0.5)
    own = (rng.random(len(w)) < 1 / (1 + np.exp(-0.7))).astype(np.intp)
    lift = np.tile([0.0, 1.0], (len(w), 1))
    plain = pairing(w, lift)
    partner = plain.draw(own, rng)
    right = plain.evidence(own, partner, rng) > 0
    assert right.mean() == pytest.approx(1 / (1 + np.exp(-0.7)), abs=0.01)
    bounded = pairing(w, lift, up=np.tile([0.0, 0.4], (len(w), 1)), down=np.full_like(w, 0.3))
    kept = bounded.evidence(own, partner, rng)
    assert (kept > 0).mean() == pytest.approx(0.5, abs=0.01)
    assert np.abs(kept) == pytest.approx(1.0 - 0.7)
    assert np.all(pairing(w, lift, up=lift, trim=0.5).evidence(own, partner, rng) == 0.0)
    weak = pairing(w, lift, up=2.0 * lift).evidence(own, partner, rng)
    assert np.all(weak == 0.0)
    assert weak.size == own.size  # not guessed, not thinned


def test_counts_by_hand():
    kept = np.array([1.0, -2.0, 0.0])
    assert count_top(kept, 1, np.random.default_rng(0)) == Counts(3, 1, 0)
    assert count_top(kept, 2, np.random.default_rng(0)) == Counts(3, 2, 1)
    assert count_top(kept, 0, np.random.default_rng(0)) == Counts(3, 0, 0)
    assert number_to_guess(0.0, 1000) == 0
    assert number_to_guess(0.001, 1000) == 40
    assert number_to_guess(0.5, 1000) == 500


def test_ties_are_broken_at_random():
    tied = np.array([1.0] * 60 + [-1.0] * 40)
    right = [count_top(tied, 50, np.random.default_rng(s)).correct for s in range(300)]
    assert np.mean(right) == pytest.approx(30.0, abs=1.0)
    none = [count_top(np.zeros(100), 50, np.random.default_rng(s)).correct for s in range(300)]
    assert np.mean(none) == pytest.approx(25.0, abs=1.0)


def test_no_evidence_is_no_guess():
    assert share_to_guess(np.zeros(100), 1000, 0.05) == 0.0
    assert share_to_guess(np.zeros(0), 1000, 0.05) == 0.0
    assert 0.0 < share_to_guess(np.full(100, 2.0), 1000, 0.05) <= 1.0
