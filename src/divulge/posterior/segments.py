"""The posterior mass of two error rates that a privacy region gains as it grows.

``R(e, d)`` are the pairs (type I error x, type II error y) that an (e, d)-DP mechanism allows
(MCMC-DP-Est, Theorem 1). Its lower left boundary is the segment ``x = exp(-e) w, y = 1 - d - w``
with ``0 <= w <= (1 - d) / (1 + exp(-e))`` and its mirror image in x = y; the upper right boundary
is both, mirrored at (1/2, 1/2). With A ~ Beta(X+1, N0-X+1), B ~ Beta(Y+1, N1-Y+1) and
``G(e, d) = P[(A, B) in R(e, d)]``,

    dG/de = sum over the four segments of  integral x f_A(x) f_B(y) dw,
    dG/dd = sum over the four segments of  integral exp(-e) f_A(x) f_B(y) dw.

Every integrand is positive and log-concave in w, so each is integrated around its mode and nothing
cancels, whatever the counts. Counts need not be whole numbers.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import betaln

from divulge.types import Array

Four = tuple[Array, Array, Array, Array]

NODES = 24
_DROP = 30.0
"""The integrand is followed until it has fallen by this much, in logarithms."""
_NEGLIGIBLE = 40.0
_MODE_STEPS = 22
_WIDTH_STEPS = 4


def log_growth(counts: Array, e: Array, d: Array | float, *, along_delta: bool = False) -> Array:
    """``log dG/de`` (or ``log dG/dd``) for each row of counts and each pair (e, d).

    ``counts`` has the columns X, N0, Y, N1; the answer one row per count and the shape of e.
    """
    e = np.asarray(e, dtype=float)
    d = np.broadcast_to(np.asarray(d, dtype=float), e.shape)
    shape = (counts.shape[0], *e.shape)
    x, n0, y, n1 = (counts[:, j, None] for j in range(4))
    parts = [Segment(*four, e.ravel(), d.ravel(), along_delta) for four in mirrored(x, n0, y, n1)]
    top = np.max([part.height for part in parts], axis=0)
    total = np.zeros_like(top)
    for part in parts:
        total += part.relative_to(top)
    constant = betaln(x + 1.0, n0 - x + 1.0) + betaln(y + 1.0, n1 - y + 1.0)
    return np.asarray((top + np.log(total) - constant).reshape(shape))


def mirrored(x: Array, n0: Array, y: Array, n1: Array) -> tuple[Four, Four, Four, Four]:
    """The counts as each of the four segments sees them."""
    return (x, n0, y, n1), (y, n1, x, n0), (n0 - x, n0, n1 - y, n1), (n1 - y, n1, n0 - x, n0)


class Segment:
    """One segment of the boundary: the integrand's mode, its height there and its width."""

    def __init__(
        self, x: Array, n0: Array, y: Array, n1: Array, e: Array, d: Array, along_delta: bool
    ) -> None:
        shape = (x.shape[0], e.size)
        self.power = x if along_delta else x + 1.0
        self.rest, self.y, self.right = n0 - x, y, n1 - y
        self.t, self.d, self.q = np.exp(-e), d, 1.0 - d
        self.log_t = -e
        self.extra = -e if along_delta else np.zeros_like(e)
        self.end = np.broadcast_to(self.q / (1.0 + self.t), shape)
        self.mode = self._mode(shape)
        everything = np.ones(shape, dtype=bool)
        self.height = self._log(self.mode[..., None], everything)[..., 0].reshape(shape)

    def _slope(self, w: Array) -> Array:
        return np.asarray(
            self.power / w
            - self.rest * self.t / (1.0 - self.t * w)
            - self.y / (self.q - w)
            + self.right / (self.d + w)
        )

    def _mode(self, shape: tuple[int, ...]) -> Array:
        """Bisection on a falling slope; ends of the segment are modes too."""
        low, high = np.zeros(shape), self.end * (1.0 - 1e-12)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = self._slope(high) < 0.0
            for _ in range(_MODE_STEPS):
                middle = 0.5 * (low + high)
                rising = ~inside | (self._slope(middle) > 0.0)
                low, high = np.where(rising, middle, low), np.where(rising, high, middle)
        return np.asarray(np.maximum(np.where(inside, 0.5 * (low + high), high), 1e-300))

    def _log(self, w: Array, where: npt.NDArray[np.bool_]) -> Array:
        """The logarithm of the integrand at w, for the pairs of count and (e, d) in ``where``."""
        row, column = np.nonzero(where)
        w = w.reshape(row.size, -1)
        power, rest, y, right = (v[row] for v in (self.power, self.rest, self.y, self.right))
        t, d, q = (v[column, None] for v in (self.t, self.d, self.q))
        extra = self.extra[column, None]
        return np.asarray(
            extra
            + power * (self.log_t[column, None] + np.log(w))
            + rest * np.log1p(-t * w)
            + y * np.log(np.maximum(q - w, 1e-300))
            + right * np.log(d + w)
        )

    def relative_to(self, top: Array) -> Array:
        """The integral over exp(top), zero where it is negligible."""
        total = np.zeros_like(top)
        where = self.height > top - _NEGLIGIBLE
        if not where.any():
            return total
        low, high = self.window(where, _DROP)
        nodes, weights = gauss_legendre(NODES)
        w = low[:, None] + (high - low)[:, None] * nodes
        values = np.exp(self._log(w, where) - top[where][:, None])
        total[where] = (high - low) * (values @ weights)
        return total

    def window(self, where: npt.NDArray[np.bool_], drop: float) -> tuple[Array, Array]:
        """Where the integrand is within ``drop`` of its mode, in logarithms."""
        mode, height, end = self.mode[where], self.height[where], self.end[where]
        left = self._width(where, mode, height, -mode, drop)
        right = self._width(where, mode, height, end - mode, drop)
        return np.maximum(mode - left, 0.0), np.minimum(mode + right, end)

    def _width(
        self, where: npt.NDArray[np.bool_], mode: Array, height: Array, room: Array, drop: float
    ) -> Array:
        """How far from the mode, at most |room|, the integrand has fallen by ``drop``."""
        row, column = np.nonzero(where)
        power, rest, y, right = (v[row, 0] for v in (self.power, self.rest, self.y, self.right))
        t, d, q = self.t[column], self.d[column], self.q[column]
        bend = (
            power / mode**2
            + rest * (t / (1.0 - t * mode)) ** 2
            + y / np.maximum(q - mode, 1e-300) ** 2
            + right / np.maximum(d + mode, 1e-300) ** 2
        )
        most, sign = np.abs(room), np.sign(room)
        width = np.minimum(np.sqrt(2.0 * drop / np.maximum(bend, 1e-300)), most)
        for _ in range(_WIDTH_STEPS):
            at = mode + sign * np.minimum(width, most * (1.0 - 1e-9))
            fallen = height - self._log(np.maximum(at, 1e-300)[:, None], where)[:, 0]
            factor = np.sqrt(drop / np.maximum(fallen, 1e-3))
            width = np.minimum(width * np.clip(factor, 0.05, 6.0), most)
        return np.asarray(np.minimum(1.1 * width, most))


@lru_cache(maxsize=8)
def gauss_legendre(count: int) -> tuple[Array, Array]:
    """Nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * (nodes + 1.0), 0.5 * weights
