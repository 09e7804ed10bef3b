"""Direct bets: a lower bound on pure epsilon from bets on a value that is one of several.

A record's value y is one of k, with probabilities ``w`` given what the record shows. If the
mechanism is eps-DP under replacement of that value, its posterior p given the model, the records
and every value revealed before satisfies ``p_j / w_j <= e^eps p_i / w_i`` for all i and j: a convex
set, P_eps(w). A forecast q is staked against the point of that set nearest to it,
``p* = clip(q, t w, e^eps t w)`` with the one t for which p* sums to 1, and the wealth is multiplied
by ``q_y / p*_y``. As p* is the reverse information projection of q on a convex set,
``sum_j p_j q_j / p*_j <= 1`` for every p in it: the wealth is a non-negative supermartingale, by
Ville's inequality it ever reaches ``1 / error`` with probability at most ``error``.

With two values and prior log-odds ``log w_1 / w_0`` this is the bet of ``betting.py``. A value that
stands in ``g`` training records is one trial against P_{g eps}(w): replacing it is g replacements.

Epsilon walks up a grid; the bound is the last point before the first that is not rejected.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.bounds.betting import GRID_END, GRID_STEP, BettingResult
from divulge.errors import require, require_probability
from divulge.types import Array, Index

_SAFE = 1.0 + 1e-6
"""Goals are larger by this: more than rounding adds up to over any number of trials."""
_SUM = 1e-6
_MOST_WEALTH = 1e30
_DRAWN = 400


def bet_values(
    forecast: Array,
    prior: Array,
    value: Index,
    *,
    copies: npt.NDArray[Any] | None = None,
    error: float = 0.05,
    step: float = GRID_STEP,
    end: float = GRID_END,
) -> BettingResult:
    """Bet ``forecast`` against every epsilon of the grid, row by row in the order given.

    ``forecast`` and ``prior`` have one row per trial and one column per value, each row a
    distribution; a prior of 0 is a value that is not there. A row of the forecast may depend on the
    values of the rows above it, and on nothing below. ``copies`` says in how many training records
    each value stands.
    """
    from divulge.bounds import compiled_values

    require_probability("error", error)
    q, w, y = _checked(forecast, prior, value)
    group = np.ones(len(q)) if copies is None else np.asarray(copies, dtype=float)
    require(bool((group >= 1.0).all()) and group.size == len(q), "copies must be at least 1 each.")
    sorted_ = compiled_values.sort_ratios(q, w, y)
    goal = float(np.log(_SAFE / error))
    start = np.full(len(q), -1.0)
    rejected: list[int] = []
    blocks = _blocks(len(q))
    wealth = compiled_values.running_wealth(*sorted_, group, 0.0, blocks, start)
    while len(rejected) * step <= end:
        at = compiled_values.reach(*sorted_, group, len(rejected) * step, goal, start)
        if at < 0:
            break
        rejected.append(at + 1)
    return BettingResult(
        epsilon=max(0, len(rejected) - 1) * step,
        error=error,
        trials=len(q),
        rejected_at=np.array(rejected, dtype=np.int64),
        wealth=np.minimum(np.exp(np.minimum(wealth, 100.0)), _MOST_WEALTH),
        blocks=blocks,
        step=step,
    )


def projection(forecast: Array, prior: Array, epsilon: float) -> Array:
    """The point of P_eps(w) nearest to each row of the forecast, by bisection: the cross-check."""
    ratio = np.divide(forecast, prior, out=np.ones_like(forecast), where=prior > 0.0)
    low, high = ratio.min(axis=1) * np.exp(-epsilon), ratio.max(axis=1)
    for _ in range(200):
        t = 0.5 * (low + high)
        lifted = np.clip(forecast, t[:, None] * prior, np.exp(epsilon) * t[:, None] * prior)
        above = lifted.sum(axis=1) >= 1.0
        low, high = np.where(above, low, t), np.where(above, t, high)
    return np.asarray(
        np.clip(forecast, high[:, None] * prior, np.exp(epsilon) * high[:, None] * prior)
    )


def _blocks(trials: int) -> npt.NDArray[np.int64]:
    return np.unique(np.linspace(1, trials, min(trials, _DRAWN)).astype(np.int64))


def _checked(forecast: Array, prior: Array, value: Index) -> tuple[Array, Array, Index]:
    q, w = (np.ascontiguousarray(a, dtype=float) for a in (forecast, prior))
    y = np.ascontiguousarray(value, dtype=np.intp)
    require(q.ndim == 2 and q.shape == w.shape, "forecast and prior must be tables of one shape.")
    require(y.shape == (len(q),) and len(q) > 0, "There must be one value per row, and a row.")
    for name, table in (("forecast", q), ("prior", w)):
        sound = bool(np.isfinite(table).all() and (table >= 0.0).all())
        sound = sound and bool(np.abs(table.sum(axis=1) - 1.0).max() <= _SUM)
        require(sound, f"Every row of the {name} must be a distribution.")
    inside = bool(((y >= 0) & (y < q.shape[1])).all())
    require(inside and bool((w[np.arange(len(w)), y] > 0.0).all()), "A value has the prior 0.")
    require(
        bool((q[w > 0.0] > 0.0).all()), "A forecast of 0 for a possible value stakes all on it."
    )
    q = np.where(w > 0.0, q, 0.0)
    return q / q.sum(axis=1, keepdims=True), w / w.sum(axis=1, keepdims=True), y
