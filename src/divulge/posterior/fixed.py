"""The likelihood of epsilon for one fixed strength: 0 (no assumption) to 1 (strongest attacks).

Strength 1 is the assumption of Zanella-Beguelin et al. (2023) and of most audits before: the
likelihood is then ``(eps G_e + delta G_d) / (eps A_e + delta A_d)``, the limit along the ray
(MCMC-DP-Est, Remark 2).
"""

from __future__ import annotations

import numpy as np

from divulge.posterior import mesh as meshes
from divulge.posterior.likelihood import (
    Growth,
    binomial_growth,
    log_area,
    log_area_slope,
    log_difference,
    sharpness,
)
from divulge.posterior.mesh import Mesh
from divulge.posterior.segments import gauss_legendre
from divulge.types import Array


def fixed_strength(
    counts: Array, delta: float, s: float, *, end: float, resolution: float = 1.0
) -> tuple[Mesh, Array]:
    """The mesh of epsilon and the log-likelihood of all counts at its nodes."""
    mesh = meshes.build(counts, delta, end, resolution, strength=s)
    across = int(np.clip(np.ceil(3.0 + delta * sharpness(counts)), 4, 32))
    return mesh, log_likelihood(binomial_growth(counts), mesh, delta, s, across).sum(axis=0)


def log_likelihood(growth: Growth, mesh: Mesh, delta: float, s: float, across: int) -> Array:
    """One row of log-likelihoods per count; ``across`` nodes integrate from s delta to delta."""
    e = mesh.e
    full = np.full_like(e, delta)
    if s == 1.0:
        with np.errstate(divide="ignore", invalid="ignore"):
            ray = np.log(e) + growth(e, full, False)
            if delta > 0.0:
                ray = np.logaddexp(ray, np.log(delta) + growth(e, full, True))
            value = ray - log_area_slope(e, delta)
        if delta == 0.0:
            value[:, 0] = growth(e[:1], full[:1], False)[:, 0] - np.log(0.5)
        return value
    u = s * e
    gain = _between(growth, u, e, delta)
    if delta > 0.0:
        nodes, weights = gauss_legendre(across)
        r = s + (1.0 - s) * nodes
        flat_u, flat_d = (a.ravel() for a in np.meshgrid(u, r * delta, indexing="ij"))
        ring = growth(flat_u, flat_d, True).reshape(gain.shape[0], u.size, -1)
        top = ring.max(axis=-1)
        mean = top + np.log(np.exp(ring - top[..., None]) @ weights)
        gain = np.logaddexp(gain, mean + np.log((1.0 - s) * delta))
    with np.errstate(invalid="ignore"):
        value = gain - log_area(e, u, np.full_like(e, s), delta)
    if delta == 0.0:
        value[:, 0] = growth(e[:1], full[:1], False)[:, 0] - np.log(0.5)
    return value


def _between(growth: Growth, u: Array, e: Array, delta: float) -> Array:
    """``log of G(e, delta) - G(u, delta)`` through cells between all the nodes in order."""
    nodes = np.unique(np.concatenate([u, e]))
    at, weights = gauss_legendre(3)
    inside = (nodes[:-1, None] + np.diff(nodes)[:, None] * at).ravel()
    log_g = growth(inside, np.full_like(inside, delta), False)
    log_g = log_g.reshape(log_g.shape[0], nodes.size - 1, at.size)
    top = log_g.max(axis=-1)
    cell = top + np.log(np.exp(log_g - top[..., None]) @ weights) + np.log(np.diff(nodes))
    edge = np.full((cell.shape[0], 1), -np.inf)
    left = np.concatenate([edge, np.logaddexp.accumulate(cell, axis=1)], axis=1)
    right = np.logaddexp.accumulate(cell[:, ::-1], axis=1)[:, ::-1]
    right = np.concatenate([right, edge], axis=1)
    k, j = np.searchsorted(nodes, e), np.searchsorted(nodes, u)
    return np.stack([log_difference(a, b, k, j) for a, b in zip(left, right, strict=True)])
