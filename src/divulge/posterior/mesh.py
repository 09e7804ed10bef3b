"""A grid that is fine where counts decide, and fourth-order integration on it.

Nodes are equidistant in ``xi(e) = a log(1 + e/b) + sum_i c k arctan((e - e_i) / (k w_i))``: evenly
spread for log e, and dense around each observed point ``e_i`` on the scale ``w_i`` on which its
count can tell one epsilon from the next. As xi is smooth, so are integrands as functions of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from divulge.errors import require
from divulge.types import Array

_BASE = 27.0
_PEAK = 1.5
"""Nodes per factor e of epsilon, and per width of an observed point."""
_REACH = 2.0
_MOST = 360.0
"""Nodes spent on observed points, at most, before ``resolution`` multiplies them."""


@dataclass(frozen=True)
class Mesh:
    """Nodes ``e`` with ``xi(e)`` = 0, 1, 2, ..., and the step ``de/dxi`` at each."""

    e: Array
    step: Array
    xi: Array = field(repr=False)
    """``xi`` at the points ``fine``, to place any other e between the nodes."""
    fine: Array = field(repr=False)

    def place(self, e: Array) -> Array:
        """Where e lies on the scale on which the nodes are 0, 1, 2, ..."""
        return np.asarray(np.interp(e, self.fine, self.xi))


def points(counts: Array, delta: float) -> tuple[Array, Array]:
    """The epsilon on whose boundary each observed pair of rates lies, and its standard error."""
    x, n0, y, n1 = counts.T
    a, b = (x + 0.5) / (n0 + 1.0), (y + 0.5) / (n1 + 1.0)
    below = a + b <= 1.0
    a, b = np.where(below, a, 1.0 - a), np.where(below, b, 1.0 - b)
    first = np.maximum(1.0 - delta - b, 1e-12) / a
    second = np.maximum(1.0 - delta - a, 1e-12) / b
    e = np.maximum(np.log(np.maximum(first, second)), 0.0)
    swap = second > first
    a, b, m0, m1 = np.where(swap, (b, a, n1, n0), (a, b, n0, n1))
    variance = (1.0 - a) / (a * (m0 + 1.0)) + b / ((1.0 - b) * (m1 + 1.0))
    return e, np.sqrt(variance)


def reach(counts: Array, delta: float) -> float:
    """An epsilon beyond which the likelihood hardly changes."""
    centre, width = points(counts, delta)
    return float(np.max(centre + 8.0 * width))


def build(
    counts: Array,
    delta: float,
    end: float,
    resolution: float = 1.0,
    *,
    strength: float | None = None,
) -> Mesh:
    """Nodes from 0 to ``end``, refined around every observed point.

    With a fixed strength s the likelihood of epsilon also bends where s eps meets a point.
    """
    require(resolution > 0.0, f"resolution must be above 0. Found {resolution!r}.")
    centre, width = points(counts, delta)
    if strength is not None and 0.0 < strength < 1.0:
        mirrored = centre / strength < end
        centre = np.concatenate([centre, centre[mirrored] / strength])
        width = np.concatenate([width, width[mirrored] / strength])
    smallest = float(np.clip(width.min() / 5.0, 1e-6, 1e-2))
    each = min(_PEAK, _MOST / (len(centre) * _REACH * np.pi))
    scale = _REACH * width

    def raw(e: Array) -> Array:
        total = _BASE * np.log1p(e / smallest)
        for c, s in zip(centre, scale, strict=True):
            total = total + each * _REACH * (np.arctan((e - c) / s) + np.arctan(c / s))
        return np.asarray(resolution * total)

    count = max(16, int(np.ceil(raw(np.array([end]))[0])))
    stretch = count / raw(np.array([end]))[0]  # so that the last node is the end

    def measure(e: Array) -> Array:
        return np.asarray(stretch * raw(e))

    def density(e: Array) -> Array:
        total = _BASE / (e + smallest)
        for c, s in zip(centre, scale, strict=True):
            total = total + each * _REACH / s / (1.0 + ((e - c) / s) ** 2)
        return np.asarray(stretch * resolution * total)

    start = np.concatenate([[0.0], np.geomspace(smallest * 1e-3, end, 4000)])
    nearby = (centre[:, None] + width[:, None] * np.linspace(-12.0, 12.0, 97)).ravel()
    fine = np.unique(np.concatenate([start, nearby[(nearby > 0.0) & (nearby < end)]]))
    xi = measure(fine)
    e = np.interp(np.arange(count + 1), xi, fine)
    for _ in range(3):
        e = np.clip(e - (measure(e) - np.arange(e.size)) / density(e), 0.0, end)
    e[0], e[-1] = 0.0, end
    return Mesh(e=e, step=1.0 / density(e), xi=xi, fine=fine)


def cells(values: Array) -> Array:
    """Integrals between neighbouring nodes of a function on equidistant nodes, fourth order."""
    v = values
    out = np.empty((*v.shape[:-1], v.shape[-1] - 1))
    out[..., 1:-1] = (13.0 * (v[..., 1:-2] + v[..., 2:-1]) - v[..., :-3] - v[..., 3:]) / 24.0
    out[..., 0] = (9.0 * v[..., 0] + 19.0 * v[..., 1] - 5.0 * v[..., 2] + v[..., 3]) / 24.0
    out[..., -1] = (9.0 * v[..., -1] + 19.0 * v[..., -2] - 5.0 * v[..., -3] + v[..., -4]) / 24.0
    return np.maximum(out, 0.0)


def triangle_cells(values: Array) -> Array:
    """The same for each row k of a square matrix, whose function ends at node k."""
    v = values
    size = v.shape[0]
    out = np.zeros((size, size - 1))
    out[:, 1:-1] = (13.0 * (v[:, 1:-2] + v[:, 2:-1]) - v[:, :-3] - v[:, 3:]) / 24.0
    out[:, 0] = (9.0 * v[:, 0] + 19.0 * v[:, 1] - 5.0 * v[:, 2] + v[:, 3]) / 24.0
    k = np.arange(3, size)
    last = 9.0 * v[k, k] + 19.0 * v[k, k - 1] - 5.0 * v[k, k - 2] + v[k, k - 3]
    out[k, k - 1] = last / 24.0
    for row in (1, 2):
        out[row, :row] = 0.5 * (v[row, :row] + v[row, 1 : row + 1])
    return np.asarray(np.where(np.tri(size, size - 1, -1, dtype=bool), np.maximum(out, 0.0), 0.0))


def weights(size: int) -> Array:
    """The weight of each of equidistant nodes in the sum of all ``cells``."""
    out = np.ones(size)
    if size >= 8:
        ends = np.array([8.0, 31.0, 20.0, 25.0]) / 24.0
        out[:4], out[-4:] = ends, ends[::-1]
    return out


def hermite(place: Array, value: Array, slope: Array) -> Array:
    """Cubic between equidistant nodes 0, 1, ... from values and slopes (last axis)."""
    j = np.clip(place.astype(np.intp), 0, value.shape[-1] - 2)
    ends = [np.take_along_axis(a, i, -1) for a in (value, slope) for i in (j, j + 1)]
    return cubic(place - j, *ends)


def cubic(r: Array, v0: Array, v1: Array, s0: Array, s1: Array) -> Array:
    """A cubic on [0, 1] from values and slopes at its ends, kept monotone (Fritsch-Carlson)."""
    rise = v1 - v0
    s0, s1 = np.clip(s0, 0.0, 3.0 * rise), np.clip(s1, 0.0, 3.0 * rise)
    return np.asarray(v0 + r * (s0 + r * (3.0 * rise - 2.0 * s0 - s1 + r * (s0 + s1 - 2.0 * rise))))
