"""Bounds under independent scores, at mechanisms that keep to the assumption: enumerated.

For mu every trial lies on the curve: right with probability ``fbar(v)``, wrong with v, alike or
not. For epsilon at delta each record answers by randomised response and is disclosed by a coin of
its own, so the number of correct guesses has a known distribution.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from divulge.bounds import independent
from divulge.mechanisms.tight import Disclosing
from divulge.selftest.case import Check
from divulge.selftest.exact.at_delta import equal_weights

_ROUNDED = 1e-9


def every_trial_guessed(error: float) -> list[float]:
    """Randomised response on the curve: ``P(Bin(n, Phi(mu / 2)) >= c)`` for every c that claims."""
    out = []
    for n, mu in ((60, 0.0), (60, 0.8), (400, 0.3), (400, 1.5)):
        p = ndtr(mu / 2.0)
        claims = (
            c
            for c in range(n + 1)
            if independent.mu_lower_bound(n, c, n - c, error) > mu + _ROUNDED
        )
        out.append(float(binom.sf(next(claims, n + 1) - 1, n, p)))
    return out


def some_trials_guessed(error: float) -> list[float]:
    """Right, wrong or not guessed: all outcomes of trials that are alike, and of two kinds."""
    out = []
    for n, mu, rates in ((30, 0.5, (0.2,)), (30, 1.0, (0.02,)), (24, 0.7, (0.05, 0.3))):
        joint = np.ones((1, 1))
        for i in range(n):
            v = rates[i % len(rates)]
            r = float(ndtr(ndtri(v) + mu))
            step = np.array([[1.0 - r - v, v], [r, 0.0]])
            grown = np.zeros((joint.shape[0] + 1, joint.shape[1] + 1))
            for a in range(2):
                for b in range(2):
                    grown[a : a + joint.shape[0], b : b + joint.shape[1]] += step[a, b] * joint
            joint = grown
        for share in (0.25, 0.75):
            total = 0.0
            for right, wrong in zip(*np.nonzero(joint > 1e-14), strict=True):
                found = independent.mu_lower_bound(n, int(right), int(wrong), error, share)
                total += float(joint[right, wrong]) * (found > mu + _ROUNDED)
            out.append(total)
    return out


def disclosed(error: float) -> list[float]:
    """Every record by its own coin: exact counts, all trials guessed, the disclosed ones right."""
    out = []
    for m, epsilon, delta in ((50, 0.5, 0.01), (200, 1.0, 0.02), (400, 0.0, 0.1), (400, 0.0, 0.3)):
        low, high = m // 2, m + 1
        while high - low > 1:
            c = (low + high) // 2
            found = independent.epsilon_lower_bound(equal_weights(m, m, c), delta, error)
            low, high = (low, c) if found > epsilon else (c, high)
        out.append(float(Disclosing(epsilon, delta).correct(m, m)[high:].sum()))
    return out


def cases() -> Iterator[Check]:
    """Mu, then epsilon at delta."""
    name, edge = "independent scores", "trials on the curve"
    yield Check(name, "mu", None, edge, "every trial guessed", every_trial_guessed, attained=0.1)
    yield Check(name, "mu", None, edge, "some trials guessed", some_trials_guessed)
    yield Check(name, "epsilon", None, "disclosing each record", "exact counts", disclosed)
