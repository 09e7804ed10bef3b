"""The nearest points in a unit square, by a grid; compiled by numba on first use, kept on disk."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from divulge.types import Array, Index

_PER_CELL = 2.0


@njit(cache=True)
def nearest_in_square(asked: Array, known: Array, most: int) -> Index:
    """For every point asked about, the places of the ``most`` nearest known ones, nearest first.

    Rings of cells are searched until none beyond them can be nearer; the earlier of two is taken.
    """
    count = known.shape[0]
    side = max(1, int(math.sqrt(count / _PER_CELL)))
    cell = np.empty(count, np.int64)
    start = np.zeros(side * side + 1, np.int64)
    for i in range(count):
        a, b = min(int(known[i, 0] * side), side - 1), min(int(known[i, 1] * side), side - 1)
        cell[i] = a * side + b
        start[cell[i] + 1] += 1
    start = np.cumsum(start)
    held, free = np.empty(count, np.int64), start.copy()
    for i in range(count):
        held[free[cell[i]]] = i
        free[cell[i]] += 1
    out = np.empty((asked.shape[0], most), np.int64)
    far, best = np.empty(most), np.empty(most, np.int64)
    for q in range(asked.shape[0]):
        x, y = asked[q, 0], asked[q, 1]
        a, b = min(int(x * side), side - 1), min(int(y * side), side - 1)
        far[:], best[:] = np.inf, -1
        ring = 0
        while ring <= side and far[most - 1] > ((ring - 1) / side) ** 2:
            for i in range(max(a - ring, 0), min(a + ring, side - 1) + 1):
                inner = abs(i - a) < ring
                for j in range(max(b - ring, 0), min(b + ring, side - 1) + 1):
                    if inner and abs(j - b) < ring:
                        continue
                    for place in range(start[i * side + j], start[i * side + j + 1]):
                        p = held[place]
                        away = (known[p, 0] - x) ** 2 + (known[p, 1] - y) ** 2
                        k = most
                        while k > 0 and (
                            away < far[k - 1] or (away == far[k - 1] and p < best[k - 1])
                        ):
                            k -= 1
                        if k < most:
                            for m in range(most - 1, k, -1):
                                far[m], best[m] = far[m - 1], best[m - 1]
                            far[k], best[k] = away, p
            ring += 1
        out[q] = best
    return out
