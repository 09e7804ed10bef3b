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
from functools import lru_cache, partial

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, ndtri

from divulge.bounds.checks import check_delta, check_error_counts
from divulge.errors import require
from divulge.posterior import fixed as fixed_strengths
from divulge.posterior import mesh as meshes
from divulge.posterior.exact import Posterior, log_prior, of_fixed, of_likelihood
from divulge.posterior.likelihood import Gains, Likelihood, gains, mixed, sharpness
from divulge.posterior.mesh import Mesh
from divulge.posterior.priors import EpsilonPrior, StrengthPrior
from divulge.posterior.segments import Segment, gauss_legendre, mirrored
from divulge.types import Array
from divulge.work.threads import side_by_side

SIGMA_TAU = 0.01
MARGINS = ("beta-binomial", "normal")
TAUS, CORRELATIONS = 8, 8
RESOLUTION = 0.6
_NODES, _MANY, _WIDTHS = 32, 128, 20.0
"""Fewest and most nodes along a segment, and how many for one width sqrt(1 - c^2) of a density."""
_DROP = 16.0
_TAIL = 4.5
_NEGLIGIBLE = 25.0
_ZERO_TERMS = 2000
_LIMIT = 8.0
_ANGLES = 16
_FLAT = 0.2
"""Up to this many of its widths, delta is so small that one place along it will do."""
_GRID = np.concatenate([[0.0], np.geomspace(1e-9, 1.0, 1500)])
"""Rates at which the probability of no error at all is tabulated."""


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
    """``growth`` of likelihood.py for counts with variance factors V, for every correlation c."""

    def __init__(self, counts: Array, tau: float, margins: str, correlations: Array) -> None:
        self.counts, self.correlations = counts, correlations
        self.inflation = 1.0 + (counts[:, 1::2] - 1.0) * tau
        self.kept: dict[tuple[bytes, bytes, bool], Array] = {}
        sizes = np.unique(counts[:, 1::2])
        self.none = np.stack([log_none(_GRID, float(n), tau) for n in sizes])
        self.limits = np.clip(ndtri(np.exp(self.none)), -_LIMIT, _LIMIT)
        self.margins = [self._margin(i, sizes, margins) for i in (0, 1)]

    def _margin(self, i: int, sizes: Array, margins: str) -> Array:
        """One margin: count, size, variance factor, side of an event, and the row of its table.

        A count of 0 is the event that the deviate lies below its limit (side 1), a full one that
        its negative does (side -1); the limit then stands in the deviate's place.
        """
        count, size = self.counts[:, 2 * i], self.counts[:, 2 * i + 1]
        side = np.where(count == 0.0, 1.0, np.where(count == size, -1.0, 0.0))
        side *= margins == "beta-binomial"
        table = np.searchsorted(sizes, size).astype(float)
        return np.column_stack([count, size, self.inflation[:, i], side, table])

    def at(self, place: int, e: Array, d: Array, along_delta: bool) -> Array:
        """The logarithms of dG/de, or dG/dd, for the correlation at a place of the list."""
        key = (e.tobytes(), d.tobytes(), along_delta)
        if key not in self.kept:
            self.kept[key] = self._grown(e, d, along_delta)
        return np.asarray(self.kept[key][place])

    def _grown(self, e: Array, d: Array, along_delta: bool) -> Array:
        """For every correlation, count and (e, d): the four segments added up."""
        from divulge.posterior import compiled_posterior

        v0, v1 = self.inflation[:, 0, None], self.inflation[:, 1, None]
        x, n0, y, n1 = (self.counts[:, i, None] for i in range(4))
        wide = (x / (2 * v0), n0 / (2 * v0), y / (2 * v1), n1 / (2 * v1))
        windows = [Segment(*four, e, d, along_delta) for four in mirrored(*wide)]
        top = np.max([w.height for w in windows], axis=0)
        total = np.full((self.correlations.size, *top.shape), -np.inf)
        seen = [m.copy() for m in self.margins]
        for m in seen:  # from the other end, as the upper right boundary sees them
            m[:, 0], m[:, 3] = m[:, 1] - m[:, 0], -m[:, 3]
        pairs = (self.margins, self.margins[::-1], seen, seen[::-1])
        nodes = np.clip(_WIDTHS / np.sqrt(1.0 - self.correlations**2), _NODES, _MANY).astype(int)
        for window, (first, second) in zip(windows, pairs, strict=True):
            where = window.height > top - _NEGLIGIBLE
            if not where.any():
                continue
            row, column = np.nonzero(where)
            low, high = window.window(where, _DROP)
            for count in np.unique(nodes):
                chosen = nodes == count
                part = compiled_posterior.along_segment(
                    row, column, low, high, e, np.ascontiguousarray(d), along_delta, first, second,
                    *_clustered(int(count)), self.correlations[chosen],
                    _GRID, self.none, self.limits, *gauss_legendre(_ANGLES),
                )  # fmt: skip
                at = np.flatnonzero(chosen)[:, None]
                total[at, row, column] = np.logaddexp(total[at, row, column], part)
        return total


@lru_cache(maxsize=4)
def _clustered(count: int) -> tuple[Array, Array]:
    """Nodes and weights on [0, 1], dense at both ends, where a rate's root may be a denominator."""
    nodes, weights = gauss_legendre(count)
    sine, cosine = np.sin(0.5 * np.pi * nodes), np.cos(0.5 * np.pi * nodes)
    return sine**2, weights * np.pi * sine * cosine


def log_none(rate: Array, n: float, tau: float) -> Array:
    """``log P(count = 0)`` of the extended beta-binomial with n trials and correlation tau.

    The product over i of ``1 - rate (1 - tau) / (1 + (i - 1) tau)``, tabulated in the rate; many
    trials are taken in groups.
    """
    edges = np.linspace(0.0, n, int(min(n, _ZERO_TERMS)) + 1)
    i, size = 0.5 * (edges[1:] + edges[:-1]) - 0.5, np.diff(edges)
    scale = (1.0 - tau) / np.maximum(1.0 + (i - 1.0) * tau, 1e-12)
    left = 1.0 - _GRID[:, None] * scale[None, :]
    with np.errstate(divide="ignore"):
        table = np.where(left > 0.0, np.log(np.maximum(left, 1e-300)), -690.0) @ size
    return np.asarray(np.interp(rate, _GRID, table))


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
    widths = delta * sharpness(table)
    across = 1 if widths <= _FLAT else int(np.clip(np.ceil(2.0 + 2.0 * widths), 2, 24))
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
    found, mass = mixed(every, log_share, log_prior(of_e, of_s))
    return Correlated(mesh, delta, found, None, _dependence(tau, c, mass))


def _gains(
    counts: Array, tau: Array, c: Array, mesh: Mesh, delta: float, across: int, margins: str
) -> list[Gains]:
    """What G gains between the nodes, for every tau and within it every c."""

    def of(one: float) -> list[Gains]:
        growth = CorrelatedGrowth(counts, one, margins, c)
        return [gains(partial(growth.at, place), mesh, delta, across) for place in range(c.size)]

    return [found for every in side_by_side(of, tau.tolist()) for found in every]


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

    def of(one: float) -> list[Array]:
        growth = CorrelatedGrowth(counts, one, margins, c)
        every = [partial(growth.at, place) for place in range(c.size)]
        return [
            fixed_strengths.log_likelihood(a, mesh, delta, s, across).sum(axis=0) for a in every
        ]

    return np.stack([found for every in side_by_side(of, tau.tolist()) for found in every])


def _dependence(tau: Array, c: Array, log_mass: Array) -> Dependence:
    """The posterior of tau and c from the mass that each pair puts anywhere."""
    evidence = logsumexp(log_mass, axis=1).reshape(tau.size, c.size)
    return Dependence(tau, c, np.exp(evidence - logsumexp(evidence)))
