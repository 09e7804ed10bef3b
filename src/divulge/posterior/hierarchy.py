"""The exact posterior from dependent attacks in groups: the full hierarchy of Appendix C (003).

Attacks of a group share a record, a dataset or a pair of both. A group has mean error rates
``(a, b)``, uniform on the region of eq. 2; each of its attacks has rates of its own, normal about
``a`` and about ``b`` with one standard deviation, the *scatter*, and cut off at 0 and 1; its counts
are binomial given its own rates. Given the scatter, the likelihood of a group is a product of a
function of a and one of b,

    g(a) = product over attacks of  integral Bin(X | N, u) p(u | a, scatter) du,

so that the integral over the region has the form that ``likelihood.py`` takes, with g and h in the
place of two Beta densities. The scatter is integrated over a grid; its prior, which the paper
leaves open, is half-normal with standard deviation 0.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, logsumexp, xlog1py, xlogy

from divulge.bounds.checks import check_delta, check_error_counts
from divulge.errors import require
from divulge.posterior import fixed as fixed_strengths
from divulge.posterior import mesh as meshes
from divulge.posterior.exact import Posterior, log_prior, of_fixed, of_likelihood
from divulge.posterior.likelihood import Likelihood, gains, mixed, sharpness
from divulge.posterior.mesh import Mesh
from divulge.posterior.priors import EpsilonPrior, StrengthPrior
from divulge.posterior.segments import Segment, gauss_legendre, mirrored
from divulge.types import Array

SCATTER = 0.1
"""Standard deviation of the half-normal prior of the scatter."""
SCATTERS = 8
MOST = 20_000.0
"""Most models per side: beyond, the grid of rates is too coarse for a binomial."""
_WIDEST = 0.35
_RATES = 1201
_NODES = 96
_DROP, _NEGLIGIBLE = 30.0, 40.0


@dataclass(frozen=True)
class Hierarchical:
    """The likelihood with all rates and the scatter integrated out."""

    mesh: Mesh
    delta: float
    likelihood: Likelihood | None
    log_likelihood: Array | None
    scatter: Array
    weight: Array
    """The posterior of the scatter on its grid."""

    def posterior(self, epsilon: EpsilonPrior, strength: StrengthPrior) -> Posterior:
        """The posterior under given priors."""
        if self.likelihood is not None:
            return of_likelihood(self.likelihood, epsilon, strength)
        assert self.log_likelihood is not None
        return of_fixed(self.mesh, self.log_likelihood, self.delta, epsilon, strength)

    def summary(self) -> dict[str, float]:
        """Mean and standard deviation of the scatter."""
        mean = float(self.weight @ self.scatter)
        spread = float(np.sqrt(max(float(self.weight @ (self.scatter - mean) ** 2), 0.0)))
        return {"scatter_mean": mean, "scatter_sd": spread}


def rates() -> tuple[Array, Array]:
    """Rates from 0 to 1, dense at both ends, and their weights in an integral."""
    place = np.linspace(0.0, 1.0, _RATES)
    weight = np.full(_RATES, np.pi / (_RATES - 1.0)) * np.sin(np.pi * place) / 2.0
    return np.sin(0.5 * np.pi * place) ** 2, weight


def log_margins(count: Array, size: Array, scatter: float) -> Array:
    """``log of integral Bin(X | N, u) p(u | a, scatter) du`` at every rate a, a row per attack."""
    rate, weight = rates()
    x, n = count[:, None], size[:, None]
    inside = np.clip(rate, 1e-300, 1.0)
    choose = gammaln(n + 1.0) - gammaln(x + 1.0) - gammaln(n - x + 1.0)
    binomial = choose + xlogy(x, inside) + xlog1py(n - x, -np.minimum(rate, 1.0 - 1e-16))
    # A normal that is narrower than the grid is the rate itself.
    steps = 0.3 * np.maximum(np.gradient(rate), 1e-9)
    form = -0.5 * ((rate[None, :] - rate[:, None]) / np.maximum(scatter, steps)[:, None]) ** 2
    share = np.exp(form) * weight[None, :]
    share /= share.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(binomial) @ share.T))


class GroupGrowth:
    """``growth`` of likelihood.py for groups, given the scatter."""

    def __init__(self, counts: Array, members: Sequence[npt.NDArray[np.intp]], scatter: float):
        self.rate, _ = rates()
        both = [log_margins(counts[:, i], counts[:, i + 1], scatter) for i in (0, 2)]
        self.tables = [np.stack([table[rows].sum(axis=0) for rows in members]) for table in both]
        # Where the mass of a group is: its summed counts, worth fewer decisions if it spreads.
        self.where = np.array([_worth(counts[rows], scatter) for rows in members])

    def at(self, e: Array, d: Array, along_delta: bool) -> Array:
        """The logarithms of dG/de, or dG/dd: a row per group."""
        x, n0, y, n1 = (self.where[:, i, None] for i in range(4))
        windows = [Segment(*four, e, d, along_delta) for four in mirrored(x, n0, y, n1)]
        top = np.max([w.height for w in windows], axis=0)
        total = np.full(top.shape, -np.inf)
        nodes, weights = gauss_legendre(_NODES)
        for window, (swap, turned) in zip(windows, _SEEN, strict=True):
            where = window.height > top - _NEGLIGIBLE
            if not where.any():
                continue
            row, column = np.nonzero(where)
            low, high = window.window(where, _DROP)
            w = np.maximum(low[:, None] + (high - low)[:, None] * nodes, 1e-300)
            first = np.exp(-e[column])[:, None] * w
            second = 1.0 - d[column][:, None] - w
            speed = -e[column][:, None] if along_delta else np.log(first)
            pair = (second, first) if swap else (first, second)
            value = speed + np.log(weights) + np.log(high - low)[:, None]
            for table, rate in zip(self.tables, pair, strict=True):
                value = value + self._read(table, row, 1.0 - rate if turned else rate)
            total[where] = np.logaddexp(total[where], logsumexp(value, axis=1))
        return total

    def _read(self, table: Array, row: npt.NDArray[np.intp], rate: Array) -> Array:
        """A table at rates, the grid being even in the angle."""
        angle = np.arcsin(np.sqrt(np.clip(rate, 0.0, 1.0))) * (2.0 / np.pi) * (_RATES - 1)
        j = np.minimum(angle.astype(np.intp), _RATES - 2)
        share = angle - j
        low, high = table[row[:, None], j], table[row[:, None], j + 1]
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(low + high), low + share * (high - low), -np.inf)


_SEEN = ((False, False), (True, False), (False, True), (True, True))
"""How the four segments see a pair of rates: exchanged, and from the other end."""


def _worth(counts: Array, scatter: float) -> Array:
    """A group's counts in sum, as decisions of one attack with the same rate and spread, or more.

    Each attack is worth what its binomial and the scatter leave of it, less a half for safety.
    """
    out = np.empty(4)
    for i in (0, 2):
        x, n = counts[:, i].sum(), counts[:, i + 1].sum()
        share = (x + 0.5) / (n + 1.0)
        spread = share * (1.0 - share)
        each = spread / (spread / counts[:, i + 1] + scatter**2)
        out[i + 1] = max(0.5 * min(each.sum(), n), 0.5)
        out[i] = out[i + 1] * x / n
    return out


def hierarchical(
    counts: npt.ArrayLike,
    groups: Sequence[str],
    delta: float = 0.0,
    *,
    epsilon_prior: EpsilonPrior | None = None,
    strength: StrengthPrior | None = None,
    scatter: float = SCATTER,
    scatters: int = SCATTERS,
    resolution: float = 0.6,
) -> Hierarchical:
    """The likelihood of grouped counts; ``.posterior(...)`` adds the other priors."""
    table, delta = check_error_counts(counts), check_delta(delta)
    require(len(groups) == len(table), "Every row needs a group.")
    require(
        bool(table[:, 1::2].max() <= MOST),
        f"The hierarchy takes at most {MOST:,.0f} models per side. Leave out --hierarchy.",
    )
    of_e, of_s = epsilon_prior or EpsilonPrior(), strength or StrengthPrior()
    members = [np.flatnonzero([g == key for g in groups]) for key in dict.fromkeys(groups)]
    summed = np.array([table[rows].sum(axis=0) for rows in members])
    end = of_e.end(meshes.reach(summed, delta))
    mesh = meshes.build(summed, delta, end, resolution, strength=of_s.fixed)
    nodes, weights = gauss_legendre(scatters)
    widths = _WIDEST * nodes**2  # dense towards 0, where groups without scatter lie
    log_share = np.log(weights * nodes) - 0.5 * (widths / scatter) ** 2
    log_share -= logsumexp(log_share)
    across = int(np.clip(np.ceil(2.0 + 2.0 * delta * sharpness(summed)), 2, 24))
    growths = [GroupGrowth(table, members, float(v)).at for v in widths]
    if of_s.fixed is not None:
        along = partial(fixed_strengths.log_likelihood, mesh=mesh, delta=delta, s=of_s.fixed)
        rows = [along(growth, across=max(4, across)).sum(axis=0) for growth in growths]
        values = np.stack(rows) + log_share[:, None]
        mass = values + of_e.log_density(mesh.e) + np.log(mesh.step)
        alone = logsumexp(values, axis=0)
        return Hierarchical(mesh, delta, None, alone, widths, _weight(mass))
    every = [gains(growth, mesh, delta, across) for growth in growths]
    found, mass = mixed(every, log_share, log_prior(of_e, of_s))
    return Hierarchical(mesh, delta, found, None, widths, _weight(mass))


def _weight(log_mass: Array) -> Array:
    each = logsumexp(log_mass, axis=1)
    return np.asarray(np.exp(each - logsumexp(each)))
