r"""The likelihood of epsilon and strength, with the unknown error rates integrated out exactly.

MCMC-DP-Est draws the true error rates of each attack from the uniform distribution on
``R(eps, delta) \ R(s eps, s delta)`` (eq. 2) and the counts from binomials (eq. 1). Then

    p(X, Y | eps, s) is proportional to
        [G(eps, delta) - G(s eps, s delta)] / [|R(eps, delta)| - |R(s eps, s delta)|],

with G from ``segments.py``. Numerator and denominator are sums of positive terms, in logarithms:
with ``u = s eps``, first from (u, s delta) to (u, delta), then from (u, delta) to (eps, delta). As
s tends to 1 the quotient tends to that of the derivatives along the ray (eps, delta).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp

from divulge.posterior import mesh as meshes
from divulge.posterior.mesh import Mesh
from divulge.posterior.segments import gauss_legendre, log_growth
from divulge.types import Array, Index
from divulge.work.threads import side_by_side

Growth = Callable[[Array, Array, bool], Array]
"""``growth(e, d, along_delta)``: one row of logarithms per count."""
LogPrior = Callable[[Array, Array], Array]

KEEP = 40.0
"""Pairs whose posterior density is lower than the largest by this much, in logarithms, are left."""
_COARSE = 4
_RISE = 0.5
_CHUNK = 60_000


def log_area(e: Array, u: Array, s: Array, delta: float) -> Array:
    """``log(|R(e, delta)| - |R(u, s delta)|)`` for u = s e, without cancellation (eq. 3)."""
    rest = np.exp(-u) / (1.0 + np.exp(-u))
    outer = (1.0 - delta) ** 2 * -np.expm1(u - e) * rest / (1.0 + np.exp(-e))
    ring = delta * (1.0 - s) * (2.0 - delta * (1.0 + s)) * rest
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(2.0 * (outer + ring)))


def log_area_slope(e: Array, delta: float) -> Array:
    """The limit of ``log_area - log(1 - s)`` as s tends to 1."""
    t = np.exp(-e)
    along_e = 2.0 * e * (1.0 - delta) ** 2 * t / (1.0 + t) ** 2
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(along_e + 4.0 * delta * (1.0 - delta) * t / (1.0 + t)))


@dataclass(frozen=True)
class Gains:
    """What G gains between any two nodes of a mesh, for each count."""

    mesh: Mesh
    delta: float
    log_g: Array = field(repr=False)
    """``log dG/de`` at the nodes."""
    left: Array = field(repr=False)
    """Logarithm of the gain from 0 to each node, and below from each node to the last."""
    right: Array = field(repr=False)
    ring: Array | None = field(repr=False)
    """Chebyshev coefficients in s of the mean gain along delta, per count and node."""

    def pairs(self, k: Index, j: Index) -> Array:
        """The log-likelihood of all counts at eps = e[k], s eps = e[j], for j <= k."""
        from divulge.posterior import compiled_posterior

        e, u = self.mesh.e[k], self.mesh.e[j]
        s = np.divide(u, e, out=np.ones_like(u), where=e > 0.0)
        diagonal = np.flatnonzero(j == k)
        basis = _chebyshev(s, self.ring.shape[-1]) if self.ring is not None else None
        with np.errstate(divide="ignore"):
            log_rest = np.log1p(-s)
        area = log_area(e, u, s, self.delta)
        slope = log_area_slope(e[diagonal], self.delta)
        ring = np.zeros((1, 1, 1)) if self.ring is None else self.ring
        rows = np.zeros((0, k.size)) if basis is None else basis
        total = compiled_posterior.pair_sums(
            self.left, self.right, ring, rows, log_rest, area, k, j
        )
        at = k[diagonal]
        ray = _log(self.mesh.e[at]) + self.log_g[:, at]
        if self.ring is not None:
            ray = np.logaddexp(ray, self.ring[:, at].sum(axis=-1))
        with np.errstate(invalid="ignore"):
            total[diagonal] = np.sum(ray - slope, axis=0)
        if self.delta == 0.0:
            origin = np.flatnonzero((k == 0) & (j == 0))
            total[origin] = np.sum(self.log_g[:, 0] - np.log(0.5))
        return np.where(np.isnan(total), -np.inf, total)


def gains(growth: Growth, mesh: Mesh, delta: float, across: int) -> Gains:
    """Tabulate G along e at delta and, for delta above 0, along delta at ``across`` places."""
    log_g = growth(mesh.e, np.full_like(mesh.e, delta), False)
    left, right = cumulated(log_g + np.log(mesh.step))
    ring = None
    if delta > 0.0:
        ring = _rings(growth, mesh.e, delta, across)
    return Gains(mesh, delta, log_g, left, right, ring)


def cumulated(log_density: Array) -> tuple[Array, Array]:
    """Logarithms of the integrals up to and from each of equidistant nodes.

    Between nodes the logarithm is a cubic, and Simpson's rule integrates its exponential. A cubic
    through a peak that the nodes do not resolve can be anything: in the middle it may not rise
    above both ends by more than ``_RISE``, nor fall below them.
    """
    v = log_density
    middle = np.empty((*v.shape[:-1], v.shape[-1] - 1))
    middle[..., 1:-1] = (9.0 * (v[..., 1:-2] + v[..., 2:-1]) - v[..., :-3] - v[..., 3:]) / 16.0
    middle[..., 0] = (3.0 * v[..., 0] + 6.0 * v[..., 1] - v[..., 2]) / 8.0
    middle[..., -1] = (3.0 * v[..., -1] + 6.0 * v[..., -2] - v[..., -3]) / 8.0
    low, high = np.minimum(v[..., :-1], v[..., 1:]), np.maximum(v[..., :-1], v[..., 1:])
    middle = np.clip(middle, low, high + _RISE)
    ends = np.logaddexp(v[..., :-1], v[..., 1:])
    cell = np.logaddexp(ends, np.log(4.0) + middle) - np.log(6.0)
    edge = np.full((*v.shape[:-1], 1), -np.inf)
    left = np.concatenate([edge, np.logaddexp.accumulate(cell, axis=-1)], axis=-1)
    right = np.logaddexp.accumulate(cell[..., ::-1], axis=-1)[..., ::-1]
    return left, np.concatenate([right, edge], axis=-1)


def log_difference(left: Array, right: Array, k: Index, j: Index) -> Array:
    """The logarithm of an integral from j to k, from the end where less cancels."""
    low, high = left[j], left[k]
    from_left = high < right[j]
    big = np.where(from_left, high, right[j])
    small = np.where(from_left, low, right[k])
    with np.errstate(divide="ignore", invalid="ignore"):
        value = big + np.log1p(-np.exp(np.minimum(small - big, 0.0)))
    return np.where((big == -np.inf) | (k == j), -np.inf, value)


def _rings(growth: Growth, e: Array, delta: float, count: int) -> Array:
    """For each node: ``log of 1/(1-s) integral over r from s to 1 of delta dG/dd(e, r delta)``.

    With a single place, its value in the middle stands for all.
    """
    if count == 1:
        middle = growth(e, np.full_like(e, 0.5 * delta), True)
        return np.asarray(middle[..., None] + np.log(delta))
    lobatto = 0.5 * (1.0 - np.cos(np.pi * np.arange(count) / (count - 1)))
    nodes, weights = gauss_legendre(12)
    flat_e, flat_d = (np.ravel(a) for a in np.meshgrid(e, lobatto * delta, indexing="ij"))
    log_d = growth(flat_e, flat_d, True) + np.log(delta)
    log_d = log_d.reshape(log_d.shape[0], e.size, count)
    inverse = np.linalg.inv(_chebyshev(lobatto, count).T)
    means = np.empty_like(log_d)
    for m, s in enumerate(lobatto):
        at = s + (1.0 - s) * nodes
        value = log_d @ (inverse.T @ _chebyshev(at, count))
        top = value.max(axis=-1, keepdims=True)
        means[..., m] = top[..., 0] + np.log(np.exp(value - top) @ weights)
    return np.asarray(means @ inverse.T)


def _chebyshev(s: Array, count: int) -> Array:
    """Chebyshev polynomials on [0, 1], one row per degree."""
    return np.asarray(np.polynomial.chebyshev.chebvander(2.0 * s - 1.0, count - 1).T)


def _log(x: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(x))


@dataclass(frozen=True)
class Likelihood:
    """The log-likelihood at all pairs of nodes (eps = e[k], s eps = e[j]) that matter."""

    mesh: Mesh
    delta: float
    rows: int
    matrix: Array = field(repr=False)
    """``matrix[k, j]``; minus infinity where the density is negligible under every prior asked."""


def binomial_growth(counts: Array) -> Growth:
    """``growth`` of independent binomial counts, a few at a time."""

    def growth(e: Array, d: Array, along_delta: bool) -> Array:
        size = max(1, _CHUNK // e.size)
        parts = [
            log_growth(counts[i : i + size], e, d, along_delta=along_delta)
            for i in range(0, len(counts), size)
        ]
        return np.concatenate(parts)

    return growth


def sharpness(counts: Array) -> float:
    """The largest inverse standard error of an error rate."""
    rates = (counts[:, ::2] + 1.0) / (counts[:, 1::2] + 2.0)
    return float(np.max(np.sqrt((counts[:, 1::2] + 3.0) / (rates * (1.0 - rates)))))


def tabulate(
    counts: Array,
    delta: float,
    *,
    end: float,
    log_priors: Sequence[LogPrior],
    resolution: float = 1.0,
) -> Likelihood:
    """The log-likelihood wherever one of the priors leaves some density."""
    mesh = meshes.build(counts, delta, end, resolution)
    across = int(np.clip(np.ceil(3.0 + 2.0 * delta * sharpness(counts)), 4, 48))
    table = gains(binomial_growth(counts), mesh, delta, across)
    k, j = promising(mesh, table.pairs, log_priors)
    matrix = np.full((mesh.e.size, mesh.e.size), -np.inf)
    matrix[k, j] = table.pairs(k, j)
    return Likelihood(mesh, delta, len(counts), matrix)


def mixed(
    every: Sequence[Gains], log_share: Array, log_prior: LogPrior
) -> tuple[Likelihood, Array]:
    """One likelihood from those at every node of further parameters, and the mass of each node.

    ``log_share`` are the logarithms of the nodes' prior probabilities; the mass has a row per node
    and a column per pair (eps, s eps) that matters.
    """
    mesh = every[0].mesh

    def shared(k: Index, j: Index) -> Array:
        return np.stack(side_by_side(lambda part: part.pairs(k, j), every)) + log_share[:, None]

    def marginal(k: Index, j: Index) -> Array:
        """Over all nodes: one of them alone may put its mass elsewhere."""
        return np.asarray(logsumexp(shared(k, j), axis=0))

    k, j = promising(mesh, marginal, [log_prior])
    values = shared(k, j)
    matrix = np.full((mesh.e.size, mesh.e.size), -np.inf)
    matrix[k, j] = logsumexp(values, axis=0)
    # Trapezoids over s eps within each eps; the row of eps = 0 has no width.
    half = np.where((j == 0) | (j == k), 0.5, 1.0) * (k > 0)
    with np.errstate(divide="ignore"):
        step = np.log(half * mesh.step[k] * mesh.step[j] / np.maximum(mesh.e[k], 1e-12))
    mass = values + log_prior(mesh.e[k], mesh.e[j]) + step
    return Likelihood(mesh, every[0].delta, len(every[0].left), matrix), mass


def promising(
    mesh: Mesh, pairs: Callable[[Index, Index], Array], log_priors: Sequence[LogPrior]
) -> tuple[Index, Index]:
    """The pairs j <= k near any coarse pair whose density is within ``KEEP`` of the largest."""
    size = mesh.e.size
    coarse = np.unique(np.append(np.arange(0, size, _COARSE), size - 1))
    a, b = np.tril_indices(coarse.size)
    value = pairs(coarse[a], coarse[b])
    e, u = mesh.e[coarse[a]], mesh.e[coarse[b]]
    near = np.zeros(a.size, dtype=bool)
    for log_prior in log_priors:
        density = value + log_prior(e, u)
        near |= density > np.max(density) - KEEP
    square = np.zeros((coarse.size + 2, coarse.size + 2), dtype=bool)
    square[a + 1, b + 1] = near
    wide = square.copy()
    for row in (-1, 0, 1):
        for column in (-1, 0, 1):
            wide |= np.roll(square, (row, column), (0, 1))
    cell = np.minimum(np.arange(size) // _COARSE, coarse.size - 1) + 1
    keep = wide[cell[:, None], cell[None, :]] & np.tri(size, dtype=bool)
    k, j = np.nonzero(keep)
    return k, j
