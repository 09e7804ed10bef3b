"""Draws of one game: whatever their dependence, the combination must keep its error.

The draws share records, so nobody knows how they depend on each other. The worst exchangeable
coupling of two draws with the right margins is a linear program over all pairs of outcomes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.stats import binom

from divulge.bounds import repeated
from divulge.bounds.guessing import Counts
from divulge.selftest.case import Check
from divulge.types import Array

TRIALS = (24, 33, 40, 57)


def worst_coupling(margin: Array, claims: npt.NDArray[np.bool_]) -> float:
    """The largest probability of a claim over all symmetric couplings of two such margins."""
    size = margin.size
    first, second = np.triu_indices(size)
    same = first == second
    gain = np.where(
        same, claims[first, second], claims[first, second] + 1.0 * claims[second, first]
    )
    pair = np.arange(first.size)
    matrix = coo_array(
        (np.ones(2 * pair.size), (np.r_[first, second], np.r_[pair, pair])),
        shape=(size, pair.size),
    )
    # A pair off the diagonal stands for both orders; one on it counts once in its margin.
    weights = matrix.tocsr()
    weights = weights.multiply(np.where(same, 0.5, 1.0)[None, :]).tocsr()
    found = linprog(-gain, A_eq=weights, b_eq=margin)
    return float(-found.fun)


def counted(error: float) -> list[float]:
    """Twice the mean p-value: two draws of fair coins, all guessed, where nothing leaks."""
    out = []
    for trials in TRIALS:
        values = np.arange(trials + 1)
        claims = np.zeros((values.size, values.size), dtype=bool)
        for a in values[values > trials / 2]:
            for b in values:
                counts = [Counts(trials, trials, int(a)), Counts(trials, trials, int(b))]
                claims[a, b] = repeated.count_bound(counts, error=error) > 0.0
                claims[b, a] |= repeated.count_bound(counts[::-1], error=error) > 0.0
        out.append(worst_coupling(binom.pmf(values, trials, 0.5), claims))
    return out


def cases() -> Iterator[Check]:
    """Counts."""
    name = "draws, twice the mean p-value"
    yield Check(name, "mu", None, "null, worst coupling", "two draws, 24 to 57 coins", counted)
