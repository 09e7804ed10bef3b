"""What noisy votes cost given how clear they were: data-dependent accounting of PATE.

Papernot et al. (2018), "Scalable private learning with PATE", Theorem 6 and Propositions 7, 8 and
10: where one label leads by far, its winning says little about any teacher. The epsilon holds from
these votes to every neighbour of them and not back, at a scale of the noise that was fixed without
them. It is itself a function of the labels, so whoever publishes it gives something away; and it is
no promise for other data, as ``vote_guarantee`` is, nor a curve to test an audit against.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfc

from divulge.errors import require, require_probability
from divulge.types import Array

ORDERS = np.concatenate(
    [np.arange(1.25, 10.0, 0.25), np.arange(10.0, 64.0), 2.0 ** np.arange(6, 12)]
)


def losing_chance(votes: Array, scale: float) -> Array:
    """Proposition 7: at most so probable is it that the leading label of a query does not win."""
    ordered = np.sort(np.asarray(votes, dtype=float), axis=1)
    behind = ordered[:, -1:] - ordered[:, :-1]
    chance = 0.5 * erfc(behind / (2.0 * scale)).sum(axis=1)
    return np.asarray(np.minimum(chance, 1.0 - 1.0 / ordered.shape[1]))


def renyi(chance: Array, scale: float, orders: Array = ORDERS) -> Array:
    """Renyi divergence of one query at each order: one row per query.

    Replacing a label moves two counts by 1, so without the votes it is ``order / scale^2``; Theorem
    6 with the orders of Proposition 10 where it applies and is less.
    """
    variance = scale**2
    plain = np.broadcast_to(orders / variance, (chance.size, orders.size))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_q = np.log(chance)[:, None]
        second = scale * np.sqrt(-log_q)
        first = second + 1.0
        first_cost, second_cost = first / variance, second / variance
        most = (second - 1.0) * second_cost - second * (
            np.log1p(1.0 / (first - 1.0)) + np.log1p(1.0 / (second - 1.0))
        )
        fits = (second > 1.0) & (orders < first) & (log_q <= most) & (-log_q > second_cost)
        log_rest = np.log1p(-np.exp(log_q))
        lead = np.log(-np.expm1((log_q + second_cost) * (1.0 - 1.0 / second)))
        usual = log_rest + (orders - 1.0) * (log_rest - lead)
        rare = log_q + (orders - 1.0) * (first_cost - log_q / (first - 1.0))
        found = np.logaddexp(usual, rare) / (orders - 1.0)
    found = np.where(np.isneginf(log_q), 0.0, np.where(fits, found, np.inf))
    return np.asarray(np.minimum(plain, np.maximum(found, 0.0)))


def epsilon_of_votes(votes: Array, scale: float, delta: float) -> float:
    """Epsilon at delta of all queries together, for Gaussian noise of this scale."""
    require_probability("delta", delta)
    require(scale >= 0.0, f"scale must be at least 0. Found {scale!r}.")
    if scale == 0.0:
        return math.inf
    costs = renyi(losing_chance(votes, scale), scale).sum(axis=0)
    # from Renyi to (epsilon, delta): Canonne, Kamath and Steinke (2020), Proposition 12
    epsilons = costs + np.log1p(-1.0 / ORDERS) - (math.log(delta) + np.log(ORDERS)) / (ORDERS - 1.0)
    return max(0.0, float(epsilons.min()))


def scale_of_votes(votes: Array, epsilon: float, delta: float, start: float) -> float:
    """The least scale below ``start`` down to which every step of 5% stays within epsilon.

    The epsilon need not fall with the scale, so the walk ends at the first step that is too large.
    Votes that choose a scale must be public: those of another data set, say.
    """
    scale = start
    if epsilon_of_votes(votes, scale, delta) > epsilon:
        return start
    while scale > 1e-3 and epsilon_of_votes(votes, 0.95 * scale, delta) <= epsilon:
        scale *= 0.95
    return scale
