"""Counts at delta and for mu: the worst mechanism of the given privacy, by linear programming.

If c correct guesses of r prove theta, the largest probability of c or more over all mechanisms that
keep to theta is found exactly (``mechanisms/worst_case.py``), also where the mechanism chooses the
number of guesses. Beside it stand mechanisms that attain (epsilon, delta) with known counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from divulge.bounds import counting, recursion, tangents
from divulge.bounds.guessing import Counts, Target
from divulge.curves import Gaussian
from divulge.mechanisms.tight import Disclosing
from divulge.mechanisms.worst_case import worst_case
from divulge.selftest.case import Check

GAMES = ((20, 20, 17), (20, 20, 20), (60, 60, 45), (60, 20, 17), (240, 60, 48))
"""Trials, guesses and correct ones."""
PAIRS = (1e-5, 1e-3, 0.01)
WORST = "worst mechanism, linear program"
_GRID = 24


def on_curve(mu: float) -> list[tuple[float, float]]:
    """Pairs (epsilon, delta) on the Gaussian curve, dense where they matter."""
    far = np.linspace(0.0, 5.0 * mu + mu * mu / 2.0, _GRID)
    grid = np.union1d(np.linspace(0.0, 1.2 * mu, _GRID // 2), far)
    return [(float(e), Gaussian(mu).delta(float(e))) for e in grid]


def for_mu(error: float) -> list[float]:
    """All right is left out: there the grid of pairs would not be fine enough."""
    out = []
    for m, r, c in GAMES:
        mu = recursion.mu_lower_bound(m, r, c, error)
        if c < r and mu > 0.0:
            out.append(worst_case(m, {r: c}, on_curve(mu)))
    return out


@dataclass(frozen=True)
class AtDelta:
    """A bound on epsilon at delta, ``bound(m, r, c, delta, error)``, at its edges."""

    bound: Callable[[int, int, int, float, float], float]
    deltas: tuple[float, ...] = PAIRS

    def __call__(self, error: float) -> list[float]:
        out = []
        for m, r, c in GAMES:
            for delta in self.deltas:
                epsilon = self.bound(m, r, c, delta, error)
                if epsilon > 0.0:
                    out.append(worst_case(m, {r: c}, [(epsilon, delta)]))
        return out


def disclosing(error: float) -> list[float]:
    """Exact counts of mechanisms that disclose each record, or all of them, by a coin."""
    out = []
    for epsilon, delta in ((0.5, 0.01), (1.0, 0.02), (0.2, 0.03)):
        for together in (False, True):
            mechanism = Disclosing(epsilon, delta, together)
            for m, r in ((50, 50), (200, 20)):
                pmf = mechanism.correct(m, r)
                claims = [
                    recursion.epsilon_lower_bound(m, r, c, delta, error) > epsilon
                    for c in range(r + 1)
                ]
                out.append(float(pmf @ np.array(claims)))
    return out


def budget(error: float) -> list[float]:
    """Nothing leaks, a proxy is off by tau: every guess is right with probability (1 + tau) / 2."""
    out = []
    for m, tau in ((100, 0.05), (400, 0.02), (1000, 0.01)):
        c = next(
            c
            for c in range(m // 2, m + 2)
            if c > m or recursion.mu_lower_bound(m, m, c, error, tau=tau) > 0.0
        )
        out.append(float(binom.sf(c - 1, m, 0.5 * (1.0 + tau))))
    return out


def chosen(error: float) -> list[float]:
    """The mechanism chooses the number of guesses: the linear program over all of them."""
    out = []
    sizes = (12, 24, 48, 84, 120, 240)
    for epsilon, delta in ((0.1, 1e-3), (0.5, 1e-3), (1.0, 3e-3)):
        target = Target(delta)
        refute = {r: _least(240, r, target, error, epsilon) for r in sizes}
        out.append(worst_case(240, refute, [(epsilon, delta)]))
    return out


def chosen_mu(error: float) -> list[float]:
    """The same for mu: nothing is paid, because 40 guesses and more add up to less."""
    refute = {r: _least(120, r, Target(None), error, 0.2) for r in (40, 58, 83, 120)}
    return [worst_case(120, refute, on_curve(0.2))]


def tangents_chosen(error: float) -> list[float]:
    """Mu proved by tangents, the number chosen by the mechanism, a few guesses among them."""
    out = []
    for m, mu, sizes in ((120, 0.3, (10, 25, 65, 120)), (240, 0.4, (40, 80, 160, 240))):
        refute = {
            r: next(
                (c for c in range(r // 2, r + 1) if tangents.rejects(mu, m, r, c, error)), r + 1
            )
            for r in sizes
        }
        out.append(worst_case(m, refute, on_curve(mu)))
    return out


def _least(trials: int, guesses: int, target: Target, error: float, value: float) -> int:
    """The fewest correct guesses that claim more than the value; one too many if none do."""
    low, high = guesses // 2, guesses + 1
    while high - low > 1:
        middle = (low + high) // 2
        if target.bound(Counts(trials, guesses, middle), error) > value:
            high = middle
        else:
            low = middle
    return high


def cases() -> Iterator[Check]:
    """Recursion, the two theorems, tau, and the price of choosing."""
    where = f"{len(GAMES)} games, up to m = 240"
    yield Check("recursion mu", "mu", None, WORST, where, for_mu, attained=0.75)
    at = AtDelta(recursion.epsilon_lower_bound)
    name = "recursion epsilon"
    yield Check(name, "epsilon", PAIRS[0], WORST, where, at, attained=0.75)
    yield Check(name, "epsilon", None, "disclosing", "exact counts", disclosing)
    yield Check("recursion mu, tau", "mu", None, "null, proxy off", "exact counts", budget)
    for name, bound in (
        ("steinke", counting.steinke_epsilon_lower_bound),
        ("zero-run 5.1.1", counting.zero_run_epsilon_lower_bound),
    ):
        small = AtDelta(bound, (1e-5,))
        yield Check(name, "epsilon", 1e-5, WORST, where, small, attained=0.75)
        yield Check(name, "epsilon", None, WORST, f"{where}, larger delta", AtDelta(bound))
    yield Check("price of choosing", "epsilon", None, WORST, "six numbers, m = 240", chosen)
    yield Check("price of choosing", "mu", None, WORST, "four numbers, m = 120", chosen_mu)
    yield Check("tangents mu", "mu", None, WORST, "four numbers, up to m = 240", tangents_chosen)
