"""Draws combined: against slow forms, against one draw, and in coverage."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.bounds import recursion
from divulge.bounds.choice import price
from divulge.bounds.guessing import Counts
from divulge.bounds.repeated import alone_bound, count_bound
from divulge.curves import Gaussian
from divulge.errors import InputError


def test_one_count_is_the_recursion():
    counts = Counts(1000, 200, 150)
    assert count_bound([counts]) == recursion.mu_lower_bound(1000, 200, 150, 0.05)
    delta = 1e-5
    error, against = price(1000, delta, 0.05, tau=0.001)
    expected = recursion.epsilon_lower_bound(1000, 200, 150, against, error, tau=0.001)
    assert count_bound([counts], delta=delta, tau=0.001) == expected
    assert 0.0 < expected < recursion.epsilon_lower_bound(1000, 200, 150, delta, 0.05, tau=0.001)


def test_equal_counts_pay_for_half_of_the_error():
    counts = Counts(1000, 200, 150)
    both = count_bound([counts] * 20)
    assert both == pytest.approx(recursion.mu_lower_bound(1000, 200, 150, 0.025), abs=1e-3)
    assert both <= recursion.mu_lower_bound(1000, 200, 150, 0.025)


def test_a_hopeless_draw_costs_its_share_only():
    good, bad = Counts(1000, 200, 150), Counts(1000, 200, 90)
    mixed = count_bound([good, bad, good, good])
    assert 0.0 < mixed <= count_bound([good] * 4)


def test_the_combined_count_is_rejected_at_the_stated_p_values():
    """At the bound the running mean of (2 - 2 p / error)_+ reaches 1, just above it it does not."""
    counts = [Counts(1000, 200, c) for c in (140, 152, 146, 150)]
    error, bound = 0.05, count_bound([Counts(1000, 200, c) for c in (140, 152, 146, 150)])

    def reaches(mu):
        values = []
        for c in counts:
            low, high = 0.0, 1.0
            for _ in range(40):
                middle = (low + high) / 2
                hit = recursion.rejects(
                    Gaussian(mu), c.trials, c.guesses, c.correct, error=max(middle, 1e-12)
                )
                low, high = (low, middle) if hit else (middle, high)
            values.append(max(0.0, 2.0 - 2.0 * high / error))
        return (np.cumsum(values) / np.arange(1, 5)).max() >= 1.0

    assert reaches(bound)
    assert not reaches(bound + 0.1)  # p-values are rounded up, so the bound may be a little low


def test_null_draws_keep_their_error():
    """Exchangeable draws over the same records, nothing leaks: at most 20% of games claim."""
    false = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        evidence, label = rng.normal(size=(60, 2)), rng.integers(2, size=60)
        counts = []
        for _ in range(6):
            true = rng.random(60) < 0.5
            shown = np.where(true, label, rng.integers(2, size=60))
            guess = evidence[np.arange(60), shown] > 0.0
            counts.append(Counts(60, 60, int((guess == true).sum())))
        false += count_bound(counts, error=0.2) > 0.0
    assert false <= 0.2 * 300 + 3 * np.sqrt(300 * 0.2 * 0.8)
    assert false > 0


def test_bad_input():
    with pytest.raises(InputError, match="no draws"):
        count_bound([])
    with pytest.raises(InputError, match="error"):
        count_bound([Counts(10, 5, 5)], error=0.0)
    assert alone_bound(Counts(10, 0, 0), delta=None, error=0.05) == 0.0
