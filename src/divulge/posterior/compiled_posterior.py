"""The inner loops of the posterior, compiled by numba on first use and cached on disk.

``pair_sums`` adds up the counts at pairs of nodes. ``along_segment`` is for correlated counts: one
call integrates their likelihood along one segment of the boundary, for all correlations c at once.
What does not depend on c is computed once per node, an exponential only where it is not negligible.
``correlated.py`` says what is computed, and why.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from scipy.special import log_ndtr as scipy_log_ndtr

from divulge.types import Array, Index

_NEGLIGIBLE = 24.0
_LOG_2_PI = math.log(2.0 * math.pi)
_LEFT, _RIGHT, _STEPS = -12.0, 9.0, 512
_TABLE = scipy_log_ndtr(np.linspace(_LEFT, _RIGHT, int(_STEPS * (_RIGHT - _LEFT)) + 1))
"""``log P(Z < x)`` by steps of 1/512; straight lines between them are good to 5e-7."""


@njit(cache=True)
def log_ndtr(x: float) -> float:
    """``log P(Z < x)`` of a standard normal Z."""
    if x >= _RIGHT:
        return 0.0
    if x > _LEFT:
        place = (x - _LEFT) * _STEPS
        j = int(place)
        value: float = _TABLE[j] + (place - j) * (_TABLE[j + 1] - _TABLE[j])
        return value
    square = x * x
    tail = 1.0 - (1.0 - (3.0 - 15.0 / square) / square) / square
    return -0.5 * (square + _LOG_2_PI) + math.log(-tail / x)


@njit(cache=True)
def log_both(h: float, k: float, c: float, angles: Array, weights: Array) -> float:
    """``log P(Z < h, W < k) / P(Z < h) P(W < k)`` for standard normals of correlation c."""
    apart = log_ndtr(h) + log_ndtr(k) + _LOG_2_PI
    whole, extra = math.asin(c), 0.0
    for i in range(angles.size):
        sine = math.sin(whole * angles[i])
        form = (h * h + k * k - 2.0 * h * k * sine) / (2.0 * (1.0 - sine * sine))
        extra += weights[i] * whole * math.exp(-form - apart)
    return math.log(max(1.0 + extra, 1e-12))


@njit(cache=True)
def _cell(x: float, grid: Array) -> int:
    """The j with ``grid[j] <= x <= grid[j + 1]``, for a grid of 0 and a geometric sequence to 1."""
    last = grid.size - 2
    if x <= grid[1]:
        return 0
    step = -math.log(grid[1]) / last
    j = min(max(1 + int((math.log(x) - math.log(grid[1])) / step), 1), last)
    while j > 1 and grid[j] > x:
        j -= 1
    while j < last and grid[j + 1] < x:
        j += 1
    return j


@njit(cache=True, nogil=True)
def along_segment(
    row: Index,
    column: Index,
    low: Array,
    high: Array,
    e: Array,
    d: Array,
    along_delta: bool,
    first: Array,
    second: Array,
    place: Array,
    weight: Array,
    correlations: Array,
    grid: Array,
    none: Array,
    limits: Array,
    angles: Array,
    angle_weights: Array,
) -> Array:
    """Logarithms of the integrals, one row per correlation and one column per pair.

    ``first`` and ``second`` describe both margins, one row per count: count, size, variance factor,
    side of an event (0: none) and the row of its table in ``none`` (log-probabilities) and
    ``limits`` (normal deviates), both by the rate in ``grid``.
    """
    size = place.size
    out = np.empty((correlations.size, row.size))
    fixed, factor, value = np.empty(size), np.empty(size), np.empty(size)
    z, alone = np.empty((2, size)), np.empty(size)
    for p in range(row.size):
        r, q = row[p], column[p]
        t, width = math.exp(-e[q]), high[p] - low[p]
        side_x, side_y = first[r, 3], second[r, 3]
        for m in range(size):
            w = max(low[p] + width * place[m], 1e-300)
            at_w, across = t * w, max(1.0 - d[q] - w, 1e-300)
            factor[m] = weight[m] * width * (t if along_delta else at_w)
            fixed[m] = 0.0
            for i in range(2):
                margin = first[r] if i == 0 else second[r]
                rate = at_w if i == 0 else across
                if margin[3] == 0.0:
                    variance = max(margin[1] * margin[2] * rate * (1.0 - rate), 1e-300)
                    deviate = (margin[0] - margin[1] * rate) / math.sqrt(variance)
                    factor[m] /= math.sqrt(2.0 * math.pi * variance)
                    fixed[m] -= 0.5 * deviate * deviate
                    z[i, m] = deviate
                else:
                    towards = rate if margin[3] > 0.0 else 1.0 - rate
                    which, j = int(margin[4]), _cell(towards, grid)
                    share = min((towards - grid[j]) / (grid[j + 1] - grid[j]), 1.0)
                    low_p, high_p = none[which, j], none[which, j + 1]
                    low_z, high_z = limits[which, j], limits[which, j + 1]
                    fixed[m] += low_p + share * (high_p - low_p)
                    z[i, m] = low_z + share * (high_z - low_z)
        for m in range(size):
            alone[m] = log_ndtr(z[0 if side_x != 0.0 else 1, m])
        for k in range(correlations.size):
            c = correlations[k]
            rest = 1.0 - c * c
            one, two = c / rest, c * c / (2.0 * rest)
            root, constant = math.sqrt(rest), 0.0
            top = -np.inf
            if side_x == 0.0 and side_y == 0.0:
                constant = -0.5 * math.log(rest)
                for m in range(size):
                    a, b = z[0, m], z[1, m]
                    value[m] = fixed[m] + one * a * b - two * (a * a + b * b)
                    top = max(top, value[m])
            elif side_x != 0.0 and side_y != 0.0:
                both = side_x * side_y * c
                for m in range(size):
                    value[m] = fixed[m] + log_both(z[0, m], z[1, m], both, angles, angle_weights)
                    top = max(top, value[m])
            else:
                i = 0 if side_x != 0.0 else 1
                side = side_x if i == 0 else side_y
                for m in range(size):
                    limit = z[i, m]
                    shifted = (limit - side * c * z[1 - i, m]) / root
                    value[m] = fixed[m] + log_ndtr(shifted) - alone[m]
                    top = max(top, value[m])
            total = 0.0
            for m in range(size):
                if value[m] > top - _NEGLIGIBLE:
                    total += factor[m] * math.exp(value[m] - top)
            out[k, p] = constant + top + math.log(total) if total > 0.0 else -np.inf
    return out


@njit(cache=True, nogil=True)
def pair_sums(
    left: Array,
    right: Array,
    ring: Array,
    basis: Array,
    log_rest: Array,
    area: Array,
    k: Index,
    j: Index,
) -> Array:
    """``Gains.pairs`` off the diagonal: the sum over counts of log(gain) - log(area).

    A gain is a difference of cumulated integrals, from the end where less cancels, and what the
    ring along delta adds (none if ``basis`` has no rows).
    """
    out = np.empty(k.size)
    for p in range(k.size):
        a, b = k[p], j[p]
        total = 0.0
        for i in range(left.shape[0]):
            big, small = left[i, a], left[i, b]
            if big >= right[i, b]:
                big, small = right[i, b], right[i, a]
            gain = 0.0
            if big > -np.inf and a != b:
                gain = -math.expm1(min(small - big, 0.0))
            log_gain = big + math.log(gain) if gain > 0.0 else -np.inf
            if basis.shape[0] > 0:
                more = log_rest[p]
                for m in range(basis.shape[0]):
                    more += basis[m, p] * ring[i, b, m]
                most = max(log_gain, more)
                if most > -np.inf:
                    log_gain = most + math.log1p(math.exp(-abs(log_gain - more)))
            total += log_gain - area[p]
        out[p] = total
    return out
