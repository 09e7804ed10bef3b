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

*Priors that are not known exactly.* If the prior is only known to lie between ``t L`` and ``t H``
for some t, value by value, the posteriors are among those with ``t L <= p <= e^eps t H`` for some
t: a projection of a convex cone, so convex, and the projection on it is ``clip(q, t L, e^eps t H)``
with the t for which it sums to 1, by the same argument. So one may bet against two priors of which
one is right (``L`` the smaller and ``H`` the larger of both), whichever it is in each trial.

Epsilon walks up a grid; the bound is the last point before the first that is not rejected.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.bounds.betting import GRID_END, GRID_STEP, BettingResult
from divulge.errors import require, require_probability
from divulge.types import Array, Index

_Any = npt.NDArray[Any]
_Sorted = tuple[_Any, _Any, _Any, _Any, _Any, _Any, _Any, _Any, _Any, _Any]

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
    upper: Array | None = None,
    copies: npt.NDArray[Any] | None = None,
    error: float = 0.05,
    step: float = GRID_STEP,
    end: float = GRID_END,
) -> BettingResult:
    """Bet ``forecast`` against every epsilon of the grid, row by row in the order given.

    ``forecast`` and ``prior`` have one row per trial and one column per value, each row a
    distribution; a prior of 0 is a value that is not there. A row of the forecast may depend on the
    values of the rows above it, and on nothing below. With ``upper`` the prior is known only to lie
    between multiples of ``prior`` and ``upper``, which then need not be distributions. ``copies``
    says in how many training records each value stands.
    """
    from divulge.bounds import compiled_values

    require_probability("error", error)
    sorted_ = _sorted(forecast, prior, value, upper, copies)
    trials = len(sorted_[-1])
    goal = float(np.log(_SAFE / error))
    start = np.full(trials, -1.0)
    rejected: list[int] = []
    while len(rejected) * step <= end:
        at = compiled_values.reach(*sorted_, len(rejected) * step, goal, start)
        if at < 0:
            break
        rejected.append(at + 1)
    blocks = _blocks(trials)
    wealth = np.cumsum(compiled_values.log_factors(*sorted_, 0.0))[blocks - 1]
    return BettingResult(
        epsilon=max(0, len(rejected) - 1) * step,
        error=error,
        trials=trials,
        rejected_at=np.array(rejected, dtype=np.int64),
        wealth=np.minimum(np.exp(np.minimum(wealth, 100.0)), _MOST_WEALTH),
        blocks=blocks,
        step=step,
    )


def log_factors(
    forecast: Array,
    prior: Array,
    value: Index,
    epsilon: float,
    *,
    upper: Array | None = None,
    copies: npt.NDArray[Any] | None = None,
) -> Array:
    """The logarithm of what each row multiplies the wealth by, against one epsilon."""
    from divulge.bounds import compiled_values

    sorted_ = _sorted(forecast, prior, value, upper, copies)
    return np.asarray(compiled_values.log_factors(*sorted_, epsilon))


def _sorted(
    forecast: Array,
    prior: Array,
    value: Index,
    upper: Array | None,
    copies: npt.NDArray[Any] | None,
) -> _Sorted:
    """What the compiled loops need: ratios to both edges in order, the own ones, and the groups."""
    from divulge.bounds import compiled_values

    q, w, h, y = _checked(forecast, prior, upper, value)
    group = np.ones(len(q)) if copies is None else np.asarray(copies, dtype=float)
    require(bool((group >= 1.0).all()) and group.size == len(q), "copies must be at least 1 each.")
    lower = compiled_values.sort_ratios(q, w)
    higher = lower if h is w else compiled_values.sort_ratios(q, h)
    rows = np.arange(len(q))
    own = q[rows, y]
    (ratio, sum_q, sum_w, count), (above, sum_above, sum_upper, _) = lower, higher
    sums = (ratio, sum_q, sum_w, above, sum_above, sum_upper)
    return (*sums, count, own / w[rows, y], own / h[rows, y], group)


def projection(forecast: Array, prior: Array, epsilon: float, upper: Array | None = None) -> Array:
    """The point of the set nearest to each row of the forecast, by bisection: the cross-check."""
    high_edge = np.exp(epsilon) * (prior if upper is None else upper)
    there = prior > 0.0
    least = np.divide(forecast, prior, out=np.full_like(forecast, np.inf), where=there).min(axis=1)
    most = np.divide(forecast, high_edge, out=np.zeros_like(forecast), where=there).max(axis=1)
    low, high = np.minimum(least, most), np.maximum(least, most)
    for _ in range(200):
        t = 0.5 * (low + high)
        lifted = np.clip(forecast, t[:, None] * prior, t[:, None] * high_edge)
        above = lifted.sum(axis=1) >= 1.0
        low, high = np.where(above, low, t), np.where(above, t, high)
    return np.asarray(np.clip(forecast, high[:, None] * prior, high[:, None] * high_edge))


def explaining(forecast: Array, prior: Array, upper: Array | None = None) -> Array:
    """The smallest epsilon whose set holds each row of the forecast: what is staked, in epsilon."""
    there = prior > 0.0
    over = np.where(there, prior if upper is None else upper, 1.0)
    most = np.where(there, forecast / over, 0.0).max(axis=1)
    least = np.where(there, forecast / np.where(there, prior, 1.0), np.inf).min(axis=1)
    return np.asarray(np.maximum(np.log(most) - np.log(least), 0.0))


def _blocks(trials: int) -> npt.NDArray[np.int64]:
    return np.unique(np.linspace(1, trials, min(trials, _DRAWN)).astype(np.int64))


def _checked(
    forecast: Array, prior: Array, upper: Array | None, value: Index
) -> tuple[Array, Array, Array, Index]:
    q, w = (np.ascontiguousarray(a, dtype=float) for a in (forecast, prior))
    y = np.ascontiguousarray(value, dtype=np.intp)
    require(q.ndim == 2 and q.shape == w.shape, "forecast and prior must be tables of one shape.")
    require(y.shape == (len(q),) and len(q) > 0, "There must be one value per row, and a row.")
    for name, table in (("forecast", q), ("prior", w))[: 2 if upper is None else 1]:
        sound = bool(np.isfinite(table).all() and (table >= 0.0).all())
        sound = sound and bool(np.abs(table.sum(axis=1) - 1.0).max() <= _SUM)
        require(sound, f"Every row of the {name} must be a distribution.")
    inside = bool(((y >= 0) & (y < q.shape[1])).all())
    require(inside and bool((w[np.arange(len(w)), y] > 0.0).all()), "A value has the prior 0.")
    require(
        bool((q[w > 0.0] > 0.0).all()), "A forecast of 0 for a possible value stakes all on it."
    )
    q = np.where(w > 0.0, q, 0.0)
    q = q / q.sum(axis=1, keepdims=True)
    if upper is None:
        w = w / w.sum(axis=1, keepdims=True)
        return q, w, w, y
    h = np.ascontiguousarray(upper, dtype=float)
    sound = h.shape == w.shape and bool(np.isfinite(h).all() and ((h >= w) & (w >= 0.0)).all())
    require(sound, "upper must be a table of the prior's shape, and nowhere below it.")
    return q, w, np.where(w > 0.0, h, 0.0), y
