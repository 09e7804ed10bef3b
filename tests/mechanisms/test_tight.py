"""Mechanisms that attain (epsilon, delta), and the exact number of their correct guesses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from divulge.bounds import guessing
from divulge.errors import InputError
from divulge.mechanisms import Disclosing
from divulge.mechanisms.worst_case import worst_case


@pytest.mark.parametrize("together", [False, True])
def test_the_exact_count_is_that_of_the_game(together):
    mechanism = Disclosing(1.0, 0.2, together)
    pmf = mechanism.correct(6, 4)
    assert pmf.sum() == pytest.approx(1.0)
    rng = np.random.default_rng(0)
    seen = np.zeros(5)
    for _ in range(4000):
        trials = mechanism.sample(6, rng)
        guess = guessing.top_guesses(mechanism.evidence(trials.score), 4, rng)
        seen[guessing.count_correct(guess, trials.truth).correct] += 1
    assert np.abs(seen / 4000 - pmf).max() < 4 * np.sqrt(0.25 / 4000)


def test_one_trial_is_the_worst_that_its_privacy_allows():
    mechanism = Disclosing(0.7, 0.1)
    right = mechanism.correct(1, 1)[1]
    assert right == pytest.approx(0.1 + 0.9 * expit(0.7))
    assert right == pytest.approx(worst_case(1, {1: 1}, [(0.7, 0.1)]))


@pytest.mark.parametrize("together", [False, True])
def test_it_keeps_to_its_privacy(together):
    mechanism = Disclosing(0.5, 0.05, together)
    tail = mechanism.correct(12, 12)[9:].sum()
    assert tail <= worst_case(12, {12: 9}, [(0.5, 0.05)]) + 1e-9


def test_bad_parameters_are_refused():
    with pytest.raises(InputError, match="delta"):
        Disclosing(1.0, 1.0)
    with pytest.raises(InputError, match="guesses"):
        Disclosing(1.0, 0.1).correct(3, 4)
