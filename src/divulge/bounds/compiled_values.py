"""The inner loops of direct bets, compiled: projections by sorted ratios and running sums."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_STEPS = 200


@njit(cache=True)
def sort_ratios(
    q: np.ndarray, w: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Ratios q / w in rising order with running sums of q and w, their number, and y's place."""
    rows, values = q.shape
    ratio = np.empty((rows, values))
    sum_q = np.zeros((rows, values + 1))
    sum_w = np.zeros((rows, values + 1))
    count = np.zeros(rows, dtype=np.int64)
    place = np.zeros(rows, dtype=np.int64)
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
            if k == y[i]:
                place[i] = j
    return ratio, sum_q, sum_w, count, place


@njit(cache=True)
def _factor(
    ratio: np.ndarray,
    sum_q: np.ndarray,
    sum_w: np.ndarray,
    count: int,
    place: int,
    epsilon: float,
    start: float,
) -> tuple[float, float]:
    """``log(q_y / p*_y)`` and t; 0 where the forecast lies in the set."""
    least, most = ratio[0], ratio[count - 1]
    edge = math.exp(epsilon)
    if most <= edge * least:
        return 0.0, start
    low, high = least, most / edge
    t = start if low < start < high else 0.5 * (low + high)
    for _ in range(_STEPS):
        # values below t are lifted to it, values above edge * t are pressed to it
        lifted = np.searchsorted(ratio[:count], t)
        pressed = np.searchsorted(ratio[:count], edge * t)
        slope = sum_w[lifted] + edge * (sum_w[count] - sum_w[pressed])
        total = t * slope + sum_q[pressed] - sum_q[lifted]
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
    own = ratio[place]
    nearest = min(max(own, t), edge * t)
    return math.log(own / nearest), t


@njit(cache=True)
def reach(
    ratio: np.ndarray,
    sum_q: np.ndarray,
    sum_w: np.ndarray,
    count: np.ndarray,
    place: np.ndarray,
    group: np.ndarray,
    epsilon: float,
    goal: float,
    start: np.ndarray,
) -> int:
    """The trial at which the logarithm of the wealth first reaches the goal; -1 if never."""
    wealth = 0.0
    for i in range(place.size):
        gain, start[i] = _factor(
            ratio[i], sum_q[i], sum_w[i], count[i], place[i], epsilon * group[i], start[i]
        )
        wealth += gain
        if wealth >= goal:
            return i
    return -1


@njit(cache=True)
def running_wealth(
    ratio: np.ndarray,
    sum_q: np.ndarray,
    sum_w: np.ndarray,
    count: np.ndarray,
    place: np.ndarray,
    group: np.ndarray,
    epsilon: float,
    blocks: np.ndarray,
    start: np.ndarray,
) -> np.ndarray:
    """The logarithm of the wealth after each block of trials."""
    out = np.zeros(blocks.size)
    wealth, at = 0.0, 0
    for i in range(place.size):
        gain, start[i] = _factor(
            ratio[i], sum_q[i], sum_w[i], count[i], place[i], epsilon * group[i], start[i]
        )
        wealth += gain
        if at < blocks.size and i + 1 == blocks[at]:
            out[at] = wealth
            at += 1
    return out
