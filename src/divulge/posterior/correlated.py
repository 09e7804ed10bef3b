"""The exact posterior from correlated counts: shadow models that were cross-fed (Algorithm 5).

Decisions that share their shadow models are correlated, by ``tau`` within a hypothesis and ``rho``
between the two (MCMC-DP-Est, eq. 7 and Appendix B). With ``V = 1 + (N-1) tau`` the counts have V
times the variance of a binomial, and ``c = N rho / V`` is their correlation, whose prior is uniform
on (-1, 1). A Gauss-Legendre grid in (tau, c), with the exact (eps, s) inside, needs no sampler.

The likelihood of one pair of counts given its error rates is the product of two margins and a
Gaussian copula. A margin is the normal of eq. 7, so that two of them give eq. 7 exactly. That
density is infinite at rate 0 for a count of 0 (and at 1 for a full one): there the margin is the
extended beta-binomial (Prentice 1986), which has the same mean and variance for every tau allowed,
and the copula is that of an event: a count of 0 says that a normal deviate fell below a limit. An
event that is certain then says nothing about the other count, whatever the correlation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, logsumexp, ndtri

from divulge.bounds.checks import check_delta, check_error_counts
from divulge.errors import require
from divulge.posterior import fixed as fixed_strengths
from divulge.posterior import mesh as meshes
from divulge.posterior.exact import Posterior, log_prior, of_fixed, of_likelihood
from divulge.posterior.likelihood import Gains, Likelihood, gains, promising, sharpness
from divulge.posterior.mesh import Mesh
from divulge.posterior.priors import EpsilonPrior, StrengthPrior
from divulge.posterior.segments import Segment, gauss_legendre, mirrored
from divulge.types import Array, Index

SIGMA_TAU = 0.01
MARGINS = ("beta-binomial", "normal")
TAUS, CORRELATIONS = 8, 8
RESOLUTION = 0.6
_NODES, _MANY = 48, 192
_STRONG = 0.9
"""From this correlation on, the density is narrow and needs many nodes along a segment."""
_DROP = 16.0
_TAIL = 4.5
_NEGLIGIBLE = 25.0
_ZERO_TERMS = 2000
_LIMIT = 8.0
_ANGLES = 16


@dataclass(frozen=True)
class Dependence:
    """The posterior of tau and of the correlation c on their grid."""

    tau: Array
    correlation: Array
    weight: Array = field(repr=False)
    """One row per tau; sums to 1."""

    def summary(self) -> dict[str, float]:
        """Means and standard deviations."""
        found = {}
        for name, grid, weight in (
            ("tau", self.tau, self.weight.sum(axis=1)),
            ("correlation", self.correlation, self.weight.sum(axis=0)),
        ):
            mean = float(weight @ grid)
            found[f"{name}_mean"] = mean
            found[f"{name}_sd"] = float(np.sqrt(max(weight @ (grid - mean) ** 2, 0.0)))
        return found


@dataclass(frozen=True)
class Correlated:
    """The likelihood with tau and c integrated out: per pair of eps and s eps, or per eps."""

    mesh: Mesh
    delta: float
    likelihood: Likelihood | None
    log_likelihood: Array | None
    dependence: Dependence

    def posterior(self, epsilon: EpsilonPrior, strength: StrengthPrior) -> Posterior:
        """The posterior under given priors."""
        if self.likelihood is not None:
            return of_likelihood(self.likelihood, epsilon, strength)
        assert self.log_likelihood is not None
        return of_fixed(self.mesh, self.log_likelihood, self.delta, epsilon, strength)


class CorrelatedGrowth:
    """``growth`` of likelihood.py for counts with variance factors V and correlation c."""

    def __init__(self, counts: Array, tau: float, margins: str) -> None:
        self.counts, self.tau, self.margins = counts, tau, margins
        self.inflation = 1.0 + (counts[:, 1::2] - 1.0) * tau
        self.kept: dict[tuple[bytes, bytes, bool, int], list[tuple[Any, ...]]] = {}

    def at(self, c: float, e: Array, d: Array, along_delta: bool) -> Array:
        """The logarithms of dG/de, or dG/dd; what does not depend on c is kept."""
        nodes = _NODES if abs(c) < _STRONG else _MANY
        key = (e.tobytes(), d.tobytes(), along_delta, nodes)
        if key not in self.kept:
            self.kept[key] = self._segments(e, d, along_delta, nodes)
        total = np.full((self.counts.shape[0], e.size), -np.inf)
        for where, base, zx, zy, sides in self.kept[key]:
            value = base + log_copula(c, zx, zy, sides)
            top = value.max(axis=1)
            safe = np.where(np.isfinite(top), top, 0.0)
            with np.errstate(divide="ignore"):
                part = safe + np.log(np.exp(value - safe[:, None]).sum(axis=1))
            total[where] = np.logaddexp(total[where], part)
        return total

    def _segments(self, e: Array, d: Array, along_delta: bool, count: int) -> list[tuple[Any, ...]]:
        """Nodes along each segment: place, logarithm without the copula, and both deviations."""
        v0, v1 = self.inflation[:, 0, None], self.inflation[:, 1, None]
        x, n0, y, n1 = (self.counts[:, i, None] for i in range(4))
        wide = (x / (2 * v0), n0 / (2 * v0), y / (2 * v1), n1 / (2 * v1))
        swapped = (False, True, False, True)
        windows = [Segment(*four, e, d, along_delta) for four in mirrored(*wide)]
        top = np.max([w.height for w in windows], axis=0)
        nodes, weights = gauss_legendre(count)
        # Clustered at both ends, where a density may have the root of a rate as its denominator.
        place = np.sin(0.5 * np.pi * nodes) ** 2
        log_weights = np.log(
            weights * np.pi * np.sin(0.5 * np.pi * nodes) * np.cos(0.5 * np.pi * nodes)
        )
        out = []
        for window, four, swap in zip(windows, mirrored(x, n0, y, n1), swapped, strict=True):
            where = window.height > top - _NEGLIGIBLE
            if not where.any():
                continue
            row, column = np.nonzero(where)
            low, high = window.window(where, _DROP)
            w = np.maximum(low[:, None] + (high - low)[:, None] * place, 1e-300)
            at_w = np.exp(-e[column])[:, None] * w
            across = np.maximum(1.0 - d[column][:, None] - w, 1e-300)
            first, second = (v1, v0) if swap else (v0, v1)
            at_x, zx, side_x = self._margin(four[0][row], four[1][row], at_w, first[row])
            at_y, zy, side_y = self._margin(four[2][row], four[3][row], across, second[row])
            speed = -e[column][:, None] if along_delta else np.log(at_w)
            base = at_x + at_y + speed + log_weights + np.log(high - low)[:, None]
            out.append((where, base, zx, zy, np.stack([side_x, side_y])))
        return out

    def _margin(
        self, count: Array, size: Array, rate: Array, v: Array
    ) -> tuple[Array, Array, npt.NDArray[np.int8]]:
        """The logarithm of one margin, its normal deviate, and the side of an event: 0 if exact.

        A count of 0 is the event that the deviate lies below its limit (side 1), a full one that
        its negative does (side -1); the limit then stands in the deviate's place.
        """
        variance = np.maximum(size * v * rate * (1.0 - rate), 1e-300)
        z = (count - size * rate) / np.sqrt(variance)
        value = -0.5 * z**2 - 0.5 * np.log(2.0 * np.pi * variance)
        side = np.zeros(count.shape[0], dtype=np.int8)
        if self.margins == "beta-binomial":
            edge = np.flatnonzero((count[:, 0] == 0.0) | (count[:, 0] == size[:, 0]))
            empty = count[edge] == 0.0
            towards = np.where(empty, rate[edge], 1.0 - rate[edge])
            side[edge] = np.where(empty[:, 0], 1, -1)
            for n in np.unique(size[edge]):
                at = edge[size[edge, 0] == n]
                value[at] = log_none(towards[size[edge, 0] == n], float(n), self.tau)
                z[at] = np.clip(ndtri(np.exp(value[at])), -_LIMIT, _LIMIT)
        return value, z, side


def log_copula(c: float, zx: Array, zy: Array, sides: npt.NDArray[np.int8]) -> Array:
    """The logarithm of the Gaussian copula, one row per pair of margins.

    Its density for two deviates, ``P(Z < limit | other) / P(Z < limit)`` for an event and a
    deviate, and ``P(both) / P(one) P(other)`` for two events, by Plackett's integral in the angle.
    """
    rest = 1.0 - c * c
    out = (2.0 * c * zx * zy - c * c * (zx * zx + zy * zy)) / (2.0 * rest) - 0.5 * np.log(rest)
    for limit, other, side, free in ((zx, zy, *sides), (zy, zx, *sides[::-1])):
        one = np.flatnonzero((side != 0) & (free == 0))
        shifted = limit[one] - side[one, None] * c * other[one]
        out[one] = log_ndtr(shifted / np.sqrt(rest)) - log_ndtr(limit[one])
    both = np.flatnonzero((sides[0] != 0) & (sides[1] != 0))
    if both.size:
        out[both] = _log_both(zx[both], zy[both], (sides[0] * sides[1])[both, None] * c)
    return np.asarray(out)


def _log_both(h: Array, k: Array, c: Array) -> Array:
    """``log P(Z < h, W < k) / P(Z < h) P(W < k)`` for standard normals of correlation c."""
    apart = log_ndtr(h) + log_ndtr(k) + np.log(2.0 * np.pi)
    extra = np.zeros_like(h)
    for node, weight in zip(*gauss_legendre(_ANGLES), strict=True):
        angle = np.arcsin(c) * node
        form = (h * h + k * k - 2.0 * h * k * np.sin(angle)) / (2.0 * np.cos(angle) ** 2)
        extra += weight * np.arcsin(c) * np.exp(-form - apart)
    return np.asarray(np.log(np.maximum(1.0 + extra, 1e-12)))


def log_none(rate: Array, n: float, tau: float) -> Array:
    """``log P(count = 0)`` of the extended beta-binomial with n trials and correlation tau.

    The product over i of ``1 - rate (1 - tau) / (1 + (i - 1) tau)``, tabulated in the rate; many
    trials are taken in groups.
    """
    edges = np.linspace(0.0, n, int(min(n, _ZERO_TERMS)) + 1)
    i, size = 0.5 * (edges[1:] + edges[:-1]) - 0.5, np.diff(edges)
    scale = (1.0 - tau) / np.maximum(1.0 + (i - 1.0) * tau, 1e-12)
    grid = np.concatenate([[0.0], np.geomspace(1e-9, 1.0, 1500)])
    left = 1.0 - grid[:, None] * scale[None, :]
    with np.errstate(divide="ignore"):
        table = np.where(left > 0.0, np.log(np.maximum(left, 1e-300)), -690.0) @ size
    return np.asarray(np.interp(rate, grid, table))


def check_margins(margins: str) -> None:
    """InputError unless the name is one of MARGINS."""
    require(margins in MARGINS, f"Unknown margins {margins!r}. Choose from {', '.join(MARGINS)}.")


def correlated(
    counts: npt.ArrayLike,
    delta: float = 0.0,
    *,
    epsilon_prior: EpsilonPrior | None = None,
    strength: StrengthPrior | None = None,
    sigma_tau: float = SIGMA_TAU,
    margins: str = "beta-binomial",
    resolution: float = RESOLUTION,
    taus: int = TAUS,
    correlations: int = CORRELATIONS,
) -> Correlated:
    """The likelihood with tau and c integrated out; ``.posterior(...)`` adds the other priors."""
    table, delta = check_error_counts(counts), check_delta(delta)
    check_margins(margins)
    require(0.0 < sigma_tau <= 1.0, f"sigma_tau must lie in (0, 1]. Found {sigma_tau!r}.")
    most = float(table[:, 1::2].max())
    require(most > 1.0, "Correlated counts need more than one negative and one positive.")
    of_e, of_s = epsilon_prior or EpsilonPrior(), strength or StrengthPrior()
    mesh = meshes.build(
        table, delta, of_e.end(meshes.reach(table, delta)), resolution, strength=of_s.fixed
    )
    low, high = -1.0 / (most - 1.0), min(1.0, _TAIL * sigma_tau)
    nodes, weights = gauss_legendre(taus)
    tau = low + (high - low) * nodes
    log_tau = np.log(weights) - 0.5 * (tau / sigma_tau) ** 2
    nodes, weights = gauss_legendre(correlations)
    # Dense towards both ends, where the posterior of c may be narrow.
    c = np.sin(np.pi * (nodes - 0.5))
    log_c = np.log(weights * np.cos(np.pi * (nodes - 0.5)))
    across = int(np.clip(np.ceil(2.0 + 2.0 * delta * sharpness(table)), 2, 24))
    shares = [(t, j) for t in range(taus) for j in range(correlations)]
    log_share = np.array([log_tau[t] + log_c[j] for t, j in shares])
    log_share -= logsumexp(log_share)
    if of_s.fixed is not None:
        rows = _along(table, tau, c, mesh, delta, of_s.fixed, max(4, across), margins)
        values = rows + log_share[:, None]
        total = logsumexp(values, axis=0)
        weight = of_e.log_density(mesh.e) + np.log(mesh.step)
        return Correlated(mesh, delta, None, total, _dependence(tau, c, values + weight))
    every = _gains(table, tau, c, mesh, delta, across, margins)
    prior = log_prior(of_e, of_s)

    def marginal(k: Index, j: Index) -> Array:
        """Over all (tau, c): one of them alone may put its mass elsewhere."""
        parts = [part.pairs(k, j) + share for part, share in zip(every, log_share, strict=True)]
        return np.asarray(logsumexp(np.stack(parts), axis=0))

    k, j = promising(mesh, marginal, [prior])
    values = np.stack([part.pairs(k, j) for part in every]) + log_share[:, None]
    matrix = np.full((mesh.e.size, mesh.e.size), -np.inf)
    matrix[k, j] = logsumexp(values, axis=0)
    # Trapezoids over s eps within each eps; the row of eps = 0 has no width.
    half = np.where((j == 0) | (j == k), 0.5, 1.0) * (k > 0)
    with np.errstate(divide="ignore"):
        step = np.log(half * mesh.step[k] * mesh.step[j] / np.maximum(mesh.e[k], 1e-12))
    weight = prior(mesh.e[k], mesh.e[j]) + step
    found = Likelihood(mesh, delta, len(table), matrix)
    return Correlated(mesh, delta, found, None, _dependence(tau, c, values + weight))


def _gains(
    counts: Array, tau: Array, c: Array, mesh: Mesh, delta: float, across: int, margins: str
) -> list[Gains]:
    """What G gains between the nodes, for every tau and within it every c."""
    out = []
    for one in tau:
        growth = CorrelatedGrowth(counts, float(one), margins)
        out += [gains(partial(growth.at, float(value)), mesh, delta, across) for value in c]
    return out


def _along(
    counts: Array,
    tau: Array,
    c: Array,
    mesh: Mesh,
    delta: float,
    s: float,
    across: int,
    margins: str,
) -> Array:
    """The log-likelihood at each node of epsilon for a fixed strength, one row per (tau, c)."""
    out = []
    for one in tau:
        growth = CorrelatedGrowth(counts, float(one), margins)
        for value in c:
            at = partial(growth.at, float(value))
            out.append(fixed_strengths.log_likelihood(at, mesh, delta, s, across).sum(axis=0))
    return np.stack(out)


def _dependence(tau: Array, c: Array, log_mass: Array) -> Dependence:
    """The posterior of tau and c from the mass that each pair puts anywhere."""
    evidence = logsumexp(log_mass, axis=1).reshape(tau.size, c.size)
    return Dependence(tau, c, np.exp(evidence - logsumexp(evidence)))
