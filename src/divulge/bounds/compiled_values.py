"""The inner loops of bets on values, compiled: projections by sorted ratios, and drawn pairs."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_STEPS = 200


@njit(cache=True)
def sort_ratios(
    q: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Ratios q / w in rising order with running sums of q and w, and their number."""
    rows, values = q.shape
    ratio = np.empty((rows, values))
    sum_q = np.zeros((rows, values + 1))
    sum_w = np.zeros((rows, values + 1))
    count = np.zeros(rows, dtype=np.int64)
    for i in range(rows):
        there = np.flatnonzero(w[i] > 0.0)
        found = q[i][there] / w[i][there]
        order = np.argsort(found)
        count[i] = there.size
        for j in range(there.size):
            k = there[order[j]]
            ratio[i, j] = found[order[j]]
            sum_q[i, j + 1] = sum_q[i, j] + q[i, k]
            sum_w[i, j + 1] = sum_w[i, j] + w[i, k]
    return ratio, sum_q, sum_w, count


@njit(cache=True)
def _factor(
    ratio: np.ndarray,
    sum_q: np.ndarray,
    sum_w: np.ndarray,
    above: np.ndarray,
    sum_above: np.ndarray,
    sum_upper: np.ndarray,
    count: int,
    own: float,
    own_above: float,
    epsilon: float,
    start: float,
) -> tuple[float, float]:
    """``log(q_y / p*_y)`` and t; 0 where the forecast lies in the set."""
    least, most = ratio[0], above[count - 1]
    edge = math.exp(epsilon)
    if most <= edge * least:
        return 0.0, start
    low, high = least, most / edge
    t = start if low < start < high else 0.5 * (low + high)
    for _ in range(_STEPS):
        # values below t times the prior are lifted to it, those above the other edge pressed to it
        lifted = np.searchsorted(ratio[:count], t)
        pressed = np.searchsorted(above[:count], edge * t)
        slope = sum_w[lifted] + edge * (sum_upper[count] - sum_upper[pressed])
        total = t * slope + sum_above[pressed] - sum_q[lifted]
        if total >= 1.0:
            high = t
        else:
            low = t
        following = t + (1.0 - total) / slope if slope > 0.0 else 0.5 * (low + high)
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - t) <= 1e-15 * t:
            t = following
            break
        t = following
    if own < t:
        return math.log(own / t), t
    if own_above > edge * t:
        return math.log(own_above / (edge * t)), t
    return 0.0, t


@njit(cache=True)
def reach(
    ratio: np.ndarray,
    sum_q: np.ndarray,
    sum_w: np.ndarray,
    above: np.ndarray,
    sum_above: np.ndarray,
    sum_upper: np.ndarray,
    count: np.ndarray,
    own: np.ndarray,
    own_above: np.ndarray,
    group: np.ndarray,
    epsilon: float,
    goal: float,
    start: np.ndarray,
) -> int:
    """The trial at which the logarithm of the wealth first reaches the goal; -1 if never."""
    wealth = 0.0
    for i in range(own.size):
        gain, start[i] = _factor(
            ratio[i],
            sum_q[i],
            sum_w[i],
            above[i],
            sum_above[i],
            sum_upper[i],
            count[i],
            own[i],
            own_above[i],
            epsilon * group[i],
            start[i],
        )
        wealth += gain
        if wealth >= goal:
            return i
    return -1


@njit(cache=True)
def log_factors(
    ratio: np.ndarray,
    sum_q: np.ndarray,
    sum_w: np.ndarray,
    above: np.ndarray,
    sum_above: np.ndarray,
    sum_upper: np.ndarray,
    count: np.ndarray,
    own: np.ndarray,
    own_above: np.ndarray,
    group: np.ndarray,
    epsilon: float,
) -> np.ndarray:
    """The logarithm of what every trial multiplies the wealth by."""
    out = np.empty(own.size)
    for i in range(own.size):
        out[i], _ = _factor(
            ratio[i],
            sum_q[i],
            sum_w[i],
            above[i],
            sum_above[i],
            sum_upper[i],
            count[i],
            own[i],
            own_above[i],
            epsilon * group[i],
            -1.0,
        )
    return out


@njit(cache=True, nogil=True)
def draw_partners(own: np.ndarray, w: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Another value for every record, so that the pair does not tell which is its own; -1: none.

    Proposed in proportion to w among the others, kept with ``min(1, (1 - w_y) / (1 - w_v))``.
    ``uniforms`` has two columns.
    """
    rows, values = w.shape
    out = np.full(rows, -1, dtype=np.int64)
    for i in range(rows):
        y = own[i]
        total = 0.0
        for j in range(values):
            total += w[i, j]
        rest = total - w[i, y]
        if rest <= 0.0:
            continue
        goal, v, left = uniforms[i, 0] * rest, -1, 0.0
        for j in range(values):
            if j == y or w[i, j] <= 0.0:
                continue
            v = j
            left += w[i, j]
            if goal < left:
                break
        if v >= 0 and uniforms[i, 1] * (total - w[i, v]) < rest:
            out[i] = v
    return out


@njit(cache=True, nogil=True)
def pair_evidence(
    own: np.ndarray,
    partner: np.ndarray,
    lift: np.ndarray,
    up: np.ndarray,
    down: np.ndarray,
    uniforms: np.ndarray,
    trim: float,
) -> np.ndarray:
    """Evidence of the pairs that balancing keeps, positive where the guess is right.

    ``lift`` is ``log(q / w)``. The value with the larger lift is guessed; the record alone speaks
    for it by ``up`` of its own and ``down`` of the other at most, which balancing takes away.
    """
    out = np.empty(own.size)
    kept = 0
    for i in range(own.size):
        v = partner[i]
        if v < 0:
            continue
        y = own[i]
        found = lift[i, y] - lift[i, v]
        right = found > 0.0
        prior = up[i, y] + down[i, v] if right else up[i, v] + down[i, y]
        size = abs(found) - prior
        if size <= 0.0 or prior > trim:
            out[kept] = 0.0
        elif not right:
            out[kept] = -size
        elif uniforms[i] < math.exp(-prior):
            out[kept] = size
        else:
            continue
        kept += 1
    return out[:kept]
