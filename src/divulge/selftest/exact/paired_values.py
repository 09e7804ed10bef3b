"""Pairs and two priors at the edge: symmetric draws, balanced guesses, and every posterior."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from divulge.bounds import compiled_values, direct
from divulge.selftest.case import Check
from divulge.selftest.exact.shown_values import vertices
from divulge.types import Array

PRIORS = ((0.5, 0.5), (0.85, 0.15), (0.6, 0.3, 0.1), (0.1, 0.2, 0.3, 0.4))
_STEPS = 400


def _ordered_pairs(prior: Array) -> Array:
    """The probability of every ordered pair, by a fine grid of both uniforms."""
    k = prior.size
    grid = (np.arange(_STEPS) + 0.5) / _STEPS
    first, second = (u.ravel() for u in np.meshgrid(grid, grid))
    out = np.zeros((k, k))
    for y in range(k):
        partner = compiled_values.draw_partners(
            np.full(first.size, y),
            np.tile(prior, (first.size, 1)),
            np.column_stack([first, second]),
        )
        drawn = np.bincount(partner[partner >= 0], minlength=k) / first.size
        out[y] = prior[y] * drawn
    return out


def symmetry(error: float) -> list[float]:
    """By how much the probability of a pair differs from that of its reverse, at most."""
    out = []
    for prior in PRIORS:
        table = _ordered_pairs(np.array(prior))
        out.append(float(np.abs(table - table.T).max()))
    return out


def balanced(error: float) -> list[float]:
    """Of the pairs that are kept: how often the guess is right, if the prior is as far off as said.

    Two values, w even; the record's own prior odds of the guess are ``e^u``.
    """
    out = []
    grid = (np.arange(100_000) + 0.5) / 100_000
    for u in (0.1, 0.7, 2.0):
        likely = 1.0 / (1.0 + np.exp(-u))
        lift = np.tile([0.0, 9.0], (grid.size, 1))
        off = np.tile([0.0, u], (grid.size, 1))
        share = []
        for y in (0, 1):
            own = np.full(grid.size, y)
            kept = compiled_values.pair_evidence(own, 1 - own, lift, off, 0.0 * off, grid, 9.0)
            share.append((1.0 - likely, likely)[y] * kept.size / grid.size)
        out.append(share[1] / sum(share))
    return out


def expected_factors(error: float) -> list[float]:
    """The mean factor of one bet under the worst posterior of either of two priors."""
    rng = np.random.default_rng(18)
    out = []
    for values, epsilon in product((2, 3, 5), (0.0, 0.4, 1.5)):
        one, two = (rng.dirichlet(np.full(values, 2.0)) for _ in range(2))
        low, high = np.minimum(one, two), np.maximum(one, two)
        q = rng.dirichlet(np.full(values, 0.7)) * (1.0 - 1e-6) + 1e-6 / values
        gain = np.exp(
            direct.log_factors(
                np.tile(q, (values, 1)),
                np.tile(low, (values, 1)),
                np.arange(values),
                epsilon,
                upper=np.tile(high, (values, 1)),
            )
        )
        out += [max(float(p @ gain) for p in vertices(w, epsilon)) for w in (one, two)]
    return out


def cases() -> Iterator[Check]:
    """The draws, the guesses, the bets."""
    yield Check(
        "pairs, symmetric",
        "mu",
        None,
        "any",
        "2 to 4 values",
        symmetry,
        quantity="difference of a pair from its reverse",
        limit=1.0 / _STEPS,
    )
    yield Check(
        "pairs, balanced",
        "mu",
        None,
        "prior off by what is allowed",
        "two values",
        balanced,
        quantity="share of right guesses",
        limit=0.5 + 1e-4,
    )
    yield Check(
        "attribute, direct bets",
        "epsilon",
        0.0,
        "every vertex, two priors",
        "one bet",
        expected_factors,
        quantity="expected factor",
        limit=1.0 + 1e-9,
    )
