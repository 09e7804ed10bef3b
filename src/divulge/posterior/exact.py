"""The exact posterior of epsilon and of the attacks' strength, from error counts.

MCMC-DP-Est (eq. 5 and 6) samples epsilon, strength and the unknown error rates of every attack.
Here the error rates are integrated out (``likelihood.py``), and the two parameters that are left
live on a grid: quantiles, intervals and regions are integrals, without Monte Carlo error.

A credible interval says what the prior and the counts together make likely. It is not a confidence
bound, and nothing here calls it one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.bounds.checks import check_delta, check_error_counts
from divulge.errors import InputError, MissingExtra, require, require_probability
from divulge.posterior import mesh as meshes
from divulge.posterior.fixed import fixed_strength
from divulge.posterior.likelihood import Likelihood, LogPrior, tabulate
from divulge.posterior.mesh import Mesh
from divulge.posterior.priors import EpsilonPrior, StrengthPrior
from divulge.types import Array

LEVEL = 0.9
_STRENGTHS = 400


@dataclass(frozen=True)
class Marginal:
    """One parameter: density and distribution function on a grid."""

    x: Array
    density: Array = field(repr=False)
    cdf: Array = field(repr=False)

    def quantile(self, q: npt.ArrayLike) -> Array:
        """The inverse of the distribution function, cubic within a cell of the grid."""
        q = np.asarray(q, dtype=float)
        require(bool(np.all((q >= 0.0) & (q <= 1.0))), "q must lie in [0, 1].")
        return _inverse(q, self.x, self.cdf, self.density)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """The central credible interval."""
        require_probability("level", level)
        low, high = self.quantile([0.5 - 0.5 * level, 0.5 + 0.5 * level])
        return float(low), float(high)

    def mean(self) -> float:
        """The posterior mean."""
        middle = 0.5 * (self.x[1:] + self.x[:-1])
        return float(np.sum(middle * np.diff(self.cdf)))

    def hdr(self, level: float = LEVEL) -> list[tuple[float, float]]:
        """The highest-density region: the shortest union of intervals that holds ``level``."""
        require_probability("level", level)
        x = np.unique(np.concatenate([self.quantile(np.linspace(0.0, 1.0, 2001)), self.x]))
        cdf = np.interp(x, self.x, self.cdf) if x.size < 3 else _forward(x, self)
        mass, width = np.diff(cdf), np.diff(x)
        keep = width > 1e-12 * max(1.0, float(x[-1]))
        mass, width, low, high = mass[keep], width[keep], x[:-1][keep], x[1:][keep]
        order = np.argsort(-mass / width, kind="stable")
        chosen = np.zeros(mass.size, dtype=bool)
        chosen[order[: int(np.searchsorted(np.cumsum(mass[order]), level)) + 1]] = True
        edges = np.diff(np.concatenate([[0], chosen.astype(int), [0]]))
        starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
        return [(float(low[a]), float(high[b])) for a, b in zip(starts, stops, strict=True)]


def _inverse(q: Array, x: Array, cdf: Array, density: Array) -> Array:
    """Bisection on the monotone cubic between the two grid points around each q."""
    flat = q.ravel()
    j = np.clip(np.searchsorted(cdf, flat, side="left") - 1, 0, x.size - 2)
    h = x[j + 1] - x[j]
    low, high = np.zeros(flat.size), np.ones(flat.size)
    for _ in range(44):
        r = 0.5 * (low + high)
        below = meshes.cubic(r, cdf[j], cdf[j + 1], h * density[j], h * density[j + 1]) < flat
        low, high = np.where(below, r, low), np.where(below, high, r)
    return np.asarray((x[j] + h * 0.5 * (low + high)).reshape(q.shape))


def _forward(x: Array, of: Marginal) -> Array:
    j = np.clip(np.searchsorted(of.x, x, side="right") - 1, 0, of.x.size - 2)
    h = of.x[j + 1] - of.x[j]
    slopes = h * of.density[j], h * of.density[j + 1]
    return meshes.cubic((x - of.x[j]) / h, of.cdf[j], of.cdf[j + 1], *slopes)


@dataclass(frozen=True)
class Posterior:
    """The joint posterior of epsilon and strength at one delta."""

    delta: float
    epsilon_prior: EpsilonPrior
    strength_prior: StrengthPrior
    epsilon: Marginal
    strength: Marginal | None
    """None if the strength is fixed."""
    log_evidence: float
    """Logarithm of the counts' probability under the model, up to a constant of the counts."""
    mesh: Mesh = field(repr=False)
    rows: Array | None = field(repr=False, default=None)
    """For each node of epsilon, the distribution function of s eps at the nodes up to it."""
    slopes: Array | None = field(repr=False, default=None)

    def quantile(self, q: npt.ArrayLike, of: str = "epsilon") -> Array:
        """Quantiles of ``epsilon`` or ``strength``."""
        return self.marginal(of).quantile(q)

    def interval(self, level: float = LEVEL, of: str = "epsilon") -> tuple[float, float]:
        """The central credible interval of ``epsilon`` or ``strength``."""
        return self.marginal(of).interval(level)

    def hdr(self, level: float = LEVEL, of: str = "epsilon") -> list[tuple[float, float]]:
        """The highest-density region of ``epsilon`` or ``strength``."""
        return self.marginal(of).hdr(level)

    def marginal(self, of: str) -> Marginal:
        """``epsilon`` or ``strength`` alone; a fixed strength has none."""
        require(of in ("epsilon", "strength"), f"{of!r} is neither 'epsilon' nor 'strength'.")
        if of == "epsilon":
            return self.epsilon
        if self.strength is None:
            raise InputError(
                f"The strength was fixed at {self.strength_prior}: it has no posterior."
            )
        return self.strength

    def joint(self, epsilon_edges: Array, strength_edges: Array) -> Array:
        """The posterior mass of each cell of a rectangular grid, one row per epsilon."""
        if self.rows is None or self.slopes is None:
            raise InputError("The strength was fixed: there is no joint posterior.")
        under = under_strength(self.mesh, self.rows, self.slopes, strength_edges)
        weighted = under * (self.epsilon.density * self.mesh.step)[:, None]
        steps = meshes.cells(weighted.T)
        up_to = np.concatenate([np.zeros((steps.shape[0], 1)), np.cumsum(steps, axis=1)], axis=1)
        place = np.broadcast_to(
            self.mesh.place(epsilon_edges), (steps.shape[0], epsilon_edges.size)
        )
        corner = meshes.hermite(np.array(place), up_to, weighted.T)
        return np.maximum(np.diff(np.diff(corner, axis=0), axis=1).T, 0.0)

    def sample(self, size: int, rng: np.random.Generator | int | None = None) -> dict[str, Array]:
        """Independent draws of epsilon and strength."""
        require(size >= 1, f"At least one draw is needed. Found {size}.")
        generator = np.random.default_rng(rng)
        epsilon = self.epsilon.quantile(generator.random(size))
        if self.rows is None or self.slopes is None:
            assert self.strength_prior.fixed is not None
            return {"epsilon": epsilon, "strength": np.full(size, self.strength_prior.fixed)}
        place = self.mesh.place(epsilon)
        k = np.floor(place + generator.random(size)).astype(np.intp)
        k = np.clip(k, 1, self.mesh.e.size - 1)
        node = self.mesh.e[k]
        q = generator.random(size) * self.rows[k, -1]
        strength = np.empty(size)
        for one in np.unique(k):
            at = k == one
            grid = self.mesh.e[: one + 1]
            u = _inverse(
                q[at],
                grid,
                self.rows[one, : one + 1],
                self.slopes[one, : one + 1] / self.mesh.step[: one + 1],
            )
            strength[at] = u / node[at]
        return {"epsilon": epsilon, "strength": np.clip(strength, 0.0, 1.0)}

    def to_arviz(
        self, *, draws: int = 1000, chains: int = 4, rng: np.random.Generator | int | None = 0
    ) -> Any:
        """Independent draws as arviz knows them; needs the extra ``posterior``."""
        drawn = self.sample(draws * chains, rng)
        return to_arviz({name: value.reshape(chains, draws) for name, value in drawn.items()})


def to_arviz(draws: dict[str, Array]) -> Any:
    """Arrays (chain, draw) as arviz's InferenceData (a DataTree in its newest versions)."""
    try:
        import arviz
    except ImportError as error:
        raise MissingExtra("arviz", "posterior") from error
    return arviz.from_dict({"posterior": draws}) if _takes_groups(arviz) else arviz.from_dict(draws)


def _takes_groups(arviz: Any) -> bool:
    """Arviz 1.0 takes one mapping of groups, before it each group was an argument."""
    return int(arviz.__version__.split(".")[0]) >= 1


def log_prior(epsilon: EpsilonPrior, strength: StrengthPrior) -> LogPrior:
    """The joint log-prior of eps and u = s eps; singular ends of a Beta are left to its cells."""

    def density(e: Array, u: Array) -> Array:
        s = np.divide(u, e, out=np.ones_like(u), where=e > 0.0)
        of_s = strength.log_density(np.clip(s, 1e-6, 1.0 - 1e-6))
        return np.asarray(epsilon.log_density(e) + of_s)

    return density


def posterior(
    counts: npt.ArrayLike,
    delta: float = 0.0,
    *,
    epsilon_prior: EpsilonPrior | None = None,
    strength: StrengthPrior | None = None,
    resolution: float = 1.0,
    whole: bool = True,
) -> Posterior:
    """The exact posterior from rows of (false positives, negatives, false negatives, positives)."""
    table, delta = check_error_counts(counts, whole=whole), check_delta(delta)
    epsilon_prior = epsilon_prior or EpsilonPrior()
    strength = strength or StrengthPrior()
    end = epsilon_prior.end(meshes.reach(table, delta))
    if strength.fixed is not None:
        mesh, values = fixed_strength(table, delta, strength.fixed, end=end, resolution=resolution)
        return of_fixed(mesh, values, delta, epsilon_prior, strength)
    found = tabulate(
        table,
        delta,
        end=end,
        log_priors=[log_prior(epsilon_prior, strength)],
        resolution=resolution,
    )
    return of_likelihood(found, epsilon_prior, strength)


def of_fixed(
    mesh: Mesh, log_likelihood: Array, delta: float, epsilon: EpsilonPrior, strength: StrengthPrior
) -> Posterior:
    """The posterior of epsilon from its log-likelihood at the nodes, the strength being fixed."""
    marginal, evidence = _normalised(mesh, log_likelihood + epsilon.log_density(mesh.e))
    return Posterior(delta, epsilon, strength, marginal, None, evidence, mesh)


def of_likelihood(found: Likelihood, epsilon: EpsilonPrior, strength: StrengthPrior) -> Posterior:
    """The posterior under given priors; the likelihood need not be computed again for others."""
    mesh = found.mesh
    e = mesh.e
    top = found.matrix.max(axis=1)
    sure = np.isfinite(top)
    top = np.where(sure, top, 0.0)
    value = np.exp(found.matrix - top[:, None])
    share = e[None, :] / np.maximum(e, 1e-300)[:, None]
    if strength.smooth:
        with np.errstate(divide="ignore", over="ignore"):
            prior = np.exp(strength.log_density(np.clip(share, 0.0, 1.0)))
        slopes = value * np.tril(prior) * mesh.step[None, :] / np.maximum(e, 1e-300)[:, None]
        steps = meshes.triangle_cells(slopes)
    else:
        masses = np.diff(strength.cdf(share), axis=1)
        steps = 0.5 * masses * (value[:, 1:] + value[:, :-1])
        slopes = np.zeros_like(value)
        slopes[:, :-1] = steps
    rows = np.concatenate([np.zeros((e.size, 1)), np.cumsum(steps, axis=1)], axis=1)
    total = rows[:, -1].copy()
    total[0], top[0], sure[0] = total[1], top[1], sure[1]
    with np.errstate(divide="ignore"):
        log_row = np.where(sure, np.log(total) + top, -np.inf)
    marginal, evidence = _normalised(mesh, log_row + epsilon.log_density(e))
    scale = np.where(total > 0.0, total, 1.0)[:, None]
    rows, slopes = rows / scale, slopes / scale
    alone = _strength_marginal(mesh, marginal, rows, slopes)
    return Posterior(found.delta, epsilon, strength, marginal, alone, evidence, mesh, rows, slopes)


def _normalised(mesh: Mesh, log_density: Array) -> tuple[Marginal, float]:
    top = float(np.max(log_density))
    density = np.exp(log_density - top)
    steps = meshes.cells(density * mesh.step)
    total = float(np.sum(steps))
    cdf = np.concatenate([[0.0], np.cumsum(steps)]) / total
    return Marginal(mesh.e, density / total, cdf), top + float(np.log(total))


def under_strength(mesh: Mesh, rows: Array, slopes: Array, s: Array) -> Array:
    """For each node of epsilon, the probability that the strength is at most s."""
    u = mesh.e[:, None] * s[None, :]
    return meshes.hermite(mesh.place(u), rows, slopes)


def _strength_marginal(mesh: Mesh, epsilon: Marginal, rows: Array, slopes: Array) -> Marginal:
    """The distribution of s: coarse first, then fine where its mass is."""
    weight = meshes.weights(mesh.e.size) * epsilon.density * mesh.step
    use = weight > 1e-14 * weight.max()
    part = weight[use] / weight[use].sum()

    def cdf(s: Array) -> Array:
        u = mesh.e[use, None] * s[None, :]
        return np.asarray(part @ meshes.hermite(mesh.place(u), rows[use], slopes[use]))

    s = np.linspace(0.0, 1.0, 65)
    for _ in range(3):
        value = cdf(s)
        value = np.maximum.accumulate(value / value[-1])
        # Half of the points where the mass is, half evenly.
        target = np.linspace(0.0, 1.0, _STRENGTHS)
        mixed = 0.5 * value + 0.5 * s
        s = np.unique(np.concatenate([[0.0], np.interp(target, mixed, s), [1.0]]))
    value = cdf(s)
    value = np.maximum.accumulate(value / value[-1])
    return Marginal(s, np.gradient(value, s), value)
