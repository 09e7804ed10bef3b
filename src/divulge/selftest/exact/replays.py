"""Replays of one game: whatever their dependence, the combination must keep its error.

The replays share records, so nobody knows how they depend on each other. The worst exchangeable
coupling of two replays with the right margins is a linear program over all pairs of outcomes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.stats import binom

from divulge.bounds import repeated
from divulge.bounds.guessing import Counts
from divulge.selftest.case import Check
from divulge.selftest.exact.counting import all_truths
from divulge.types import Array

TRIALS, FLIPS = (24, 33, 40, 57), 5


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
    """Twice the mean p-value: two replays of fair coins, all guessed, where nothing leaks."""
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


def betted(error: float) -> float:
    """The mean e-value: two replays of five coins, nearly everything staked on each."""
    flips = all_truths(FLIPS) > 0
    bets = repeated.Bets(np.full((FLIPS, 1), 12.0), np.zeros((FLIPS, 1)))
    shown = np.zeros(FLIPS, dtype=np.uint8)
    replays = [repeated.Replay(np.ascontiguousarray(true), shown) for true in flips]
    claims = np.zeros((len(replays), len(replays)), dtype=bool)
    for a, first in enumerate(replays):
        for b, second in enumerate(replays):
            claims[a, b] = _rejects(bets, (first, second), error)
    return worst_coupling(np.full(len(replays), 1.0 / len(replays)), claims)


def _rejects(bets: repeated.Bets, replays: tuple[repeated.Replay, ...], error: float) -> bool:
    """Whether epsilon 0 is rejected: then some point of a fine grid above it is as well."""
    bound, _ = repeated.bet_epsilon(bets, replays, error=error, step=1e-3)
    return bound > 0.0


def single(error: float) -> float:
    """One replay alone is Ville's inequality."""
    flips = all_truths(10) > 0
    evidence = np.full((10, 1), 1.5)
    bets = repeated.Bets(evidence, np.zeros((10, 1)))
    shown = np.zeros(10, dtype=np.uint8)
    return float(
        np.mean(
            [
                repeated.bet_epsilon(
                    bets, (repeated.Replay(np.ascontiguousarray(t), shown),), error=error, step=1e-3
                )[0]
                > 0.0
                for t in flips
            ]
        )
    )


def cases() -> Iterator[Check]:
    """Counts and bets."""
    rows: tuple[
        tuple[str, str, float | None, str, Callable[[float], npt.ArrayLike], float], ...
    ] = (
        (
            "replays, twice the mean p-value",
            "mu",
            None,
            "two replays, 24 to 57 coins",
            counted,
            0.0,
        ),
        ("replays, mean e-value", "epsilon", 0.0, "two replays of 5 coins", betted, 0.3),
        ("replays, one alone", "epsilon", 0.0, "all truths of 10 trials", single, 0.0),
    )
    for name, parameter, delta, setting, compute, attained in rows:
        mechanism = "null" if compute is single else "null, worst coupling"
        yield Check(name, parameter, delta, mechanism, setting, compute, attained=attained)
