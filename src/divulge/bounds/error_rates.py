"""A lower bound on epsilon from the two error counts of an attack, and draws from a region.

Whoever tells ``A(D)`` from ``A(D + z)`` with type I error x and type II error y proves that (x, y)
lies in ``R(eps, delta)`` (Kairouz, Oh and Viswanath 2017, Theorem 2.1), so

    eps >= max(log((1 - delta - y) / x), log((1 - delta - x) / y)).

Upper Clopper-Pearson limits in place of both rates make it a bound that holds with confidence.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from divulge.bounds.checks import check_delta, check_error_counts
from divulge.errors import require_probability
from divulge.result import Bound
from divulge.types import Array

METHOD = "clopper-pearson"
THEOREM = (
    "Kairouz, Oh, Viswanath 2017, Theorem 2.1, with Clopper-Pearson limits of both errors of every "
    "attack (union bound)"
)
INDEPENDENT = (
    "within a row the decisions are independent: every model was trained independently, and no "
    "other decision of the row influenced its threshold"
)
FIXED = "the attacks were fixed before these counts were seen, and no row was left out"
_UP = 1.0 + 1e-9  # limits are rounded up: the smaller claim


def upper_limits(counts: npt.ArrayLike, error: float) -> Array:
    """Upper limits of both error rates of each row, all of which hold with 1 - error."""
    table = check_error_counts(counts)
    require_probability("error", error)
    share = error / (2.0 * len(table))
    wrong, total = table[:, ::2], table[:, 1::2]
    right = np.maximum(total - wrong, 1e-300)
    limit = betaincinv(wrong + 1.0, right, 1.0 - share) * _UP
    return np.where(wrong == total, 1.0, np.minimum(limit, 1.0))


def epsilon_by_row(counts: npt.ArrayLike, delta: float = 0.0, error: float = 0.05) -> Array:
    """What each row proves about epsilon, all of it together with confidence 1 - error."""
    delta = check_delta(delta)
    x, y = upper_limits(counts, error).T
    best = np.maximum((1.0 - delta - y) / x, (1.0 - delta - x) / y)
    return np.asarray(np.log(np.maximum(best, 1.0)))


def epsilon_from_errors(counts: npt.ArrayLike, delta: float = 0.0, error: float = 0.05) -> float:
    """The largest epsilon that any row proves; the error is split over rows and both errors."""
    return float(np.max(epsilon_by_row(counts, delta, error)))


def state(
    counts: npt.ArrayLike, deltas: tuple[float, ...], error: float, assumptions: tuple[str, ...]
) -> tuple[Bound, ...]:
    """One headline bound per delta. All rest on the same limits, so they hold together."""
    return tuple(
        Bound(
            parameter="epsilon",
            delta=float(delta),
            value=epsilon_from_errors(counts, delta, error),
            confidence=1.0 - error,
            method=METHOD,
            theorem=THEOREM,
            assumptions=assumptions,
            headline=True,
            standing="proved",
        )
        for delta in deltas
    )


def draw_rates(
    epsilon: Array, strength: Array, delta: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Error rates uniform on ``R(eps, delta)`` without ``R(s eps, s delta)`` (eq. 2).

    The region is swept by a boundary that first moves along delta at s eps, then along eps at
    delta; a moment is drawn by the area swept, then a place on the boundary by its speed there.
    """
    e, s = np.broadcast_arrays(np.asarray(epsilon, dtype=float), np.asarray(strength, dtype=float))
    u = s * e
    rest = 1.0 / (1.0 + np.exp(u))
    ring = 2.0 * rest * ((1.0 - s * delta) ** 2 - (1.0 - delta) ** 2)
    outer = (1.0 - delta) ** 2 * (np.tanh(0.5 * e) - np.tanh(0.5 * u))
    first = rng.random(e.shape) * (ring + outer) < ring
    level = rng.random(e.shape)
    kept = (1.0 - s * delta) ** 2 * (1.0 - level) + (1.0 - delta) ** 2 * level
    q = np.where(first, np.sqrt(kept), 1.0 - delta)
    low, high = np.tanh(0.5 * u), np.tanh(0.5 * e)
    swept = low + (high - low) * level
    moving = 2.0 * np.arctanh(np.minimum(swept, 1.0 - 1e-16))
    t = np.exp(-np.where(first, u, moving))
    place = rng.random(e.shape)
    w = q / (1.0 + t) * np.where(first, place, np.sqrt(place))
    x, y = t * w, q - w
    swap = rng.random(e.shape) < 0.5
    x, y = np.where(swap, y, x), np.where(swap, x, y)
    turn = rng.random(e.shape) < 0.5
    return np.where(turn, 1.0 - x, x), np.where(turn, 1.0 - y, y)
