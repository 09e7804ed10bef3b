"""Mu proved for a number of guesses that scores chose: the recursion against tangents."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from divulge.bounds import guessing, recursion, tangents
from divulge.curves import Gaussian
from divulge.curves.families import Curve
from divulge.mechanisms.worst_case import worst_case

COUNTS = [(120, 60, 55), (1000, 200, 190), (10_000, 400, 395), (10_000, 10_000, 6000)]


class Lines(Curve):
    """The least of the lines, as a curve of its own: the plain recursion takes any."""

    def __init__(self, mu, trials):
        self.epsilons, self.deltas = tangents.lines(mu, trials)

    def __call__(self, alpha):
        return self.inverse(1.0 - np.asarray(alpha))

    def inverse(self, power):
        values = (power - tangents.WIDER * self.deltas) * np.exp(-self.epsilons)
        return np.asarray(max(0.0, float(values.max())))

    def delta(self, epsilon):
        raise NotImplementedError

    def mu(self):
        raise NotImplementedError


@pytest.mark.parametrize("counts", COUNTS)
def test_it_is_the_recursion_against_the_lines(counts):
    found = tangents.mu_lower_bound(*counts, 0.05)
    plain = recursion.largest_rejected(
        lambda mu: Lines(mu, counts[0]), *counts, error=tangents.price(0.05)
    )
    assert found == pytest.approx(plain, abs=3e-6)
    assert 0.0 < found < recursion.mu_lower_bound(*counts, 0.05)


@pytest.mark.parametrize("counts", COUNTS)
def test_most_of_the_power_is_kept(counts):
    ratio = tangents.mu_lower_bound(*counts, 0.05) / recursion.mu_lower_bound(*counts, 0.05)
    assert ratio > 0.7


def test_lines_lie_above_the_curve_and_grow_with_mu():
    alpha = np.linspace(0.0, 1.0, 2001)
    for trials in (50, 1000, 10**6):
        before = alpha
        for mu in (0.0, 1e-4, 0.01, 0.3, 1.0, 3.0, 8.0):
            epsilons, deltas = tangents.lines(mu, trials)
            lines = (np.exp(epsilons)[:, None] * alpha + deltas[:, None]).min(axis=0)
            assert (lines >= Gaussian(mu).tpr(alpha) - 1e-12).all()
            assert (lines >= before - 1e-12).all()
            before = lines


def test_larger_mu_are_refuted_less():
    for counts in COUNTS:
        said = [tangents.rejects(float(mu), *counts, 0.05) for mu in np.linspace(0.0, 3.0, 200)]
        assert said == sorted(said, reverse=True)


def test_no_mechanism_that_chooses_the_number_is_refuted_too_often():
    """A linear program over all numbers at once, a few guesses among them."""
    m, mu, error = 60, 0.4, 0.05
    refute = {}
    for r in (5, 10, 20, 40, 60):
        claims = (c for c in range(r // 2, r + 1) if tangents.rejects(mu, m, r, c, error))
        refute[r] = next(claims, r + 1)
    grid = [(float(e), Gaussian(mu).delta(float(e))) for e in np.linspace(0.0, 3.0, 40)]
    assert 0.0 < worst_case(m, refute, grid) <= error


def test_nothing_is_proved_by_chance():
    claims = [tangents.mu_lower_bound(200, 200, c, 0.05) > 0.0 for c in range(201)]
    assert float(binom.pmf(np.arange(201), 200, 0.5) @ np.array(claims)) <= 0.05
    assert tangents.mu_lower_bound(100, 0, 0) == 0.0
    assert tangents.mu_lower_bound(100, 50, 25) == 0.0
    assert not any(tangents.rejects(0.0, 40, 40, c, 0.05) for c in range(21))


def test_the_number_may_be_any(rng):
    scores = rng.normal(size=(2000, 1))
    truth = np.where(rng.random(2000) < 0.5, 1.0, -1.0)
    from divulge.trials import Trials

    counts = guessing.calibrated(Trials(scores + truth[:, None], truth), rng)
    proved = tangents.mu_lower_bound(counts.trials, counts.guesses, counts.correct)
    assert 0.0 < proved < guessing.MU.bound(counts, 0.05)
