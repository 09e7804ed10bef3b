"""The samplers of MCMC-DP-Est (Algorithms 1 and 6) with their diagnostics: the paper's own system.

The exact posterior needs none of this. They are kept as its cross-check, for ``--sampler``, and for
the comparison with the published numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.bounds.checks import check_delta, check_error_counts
from divulge.errors import require
from divulge.posterior import mesh as meshes
from divulge.posterior.exact import to_arviz
from divulge.posterior.priors import FAMILIES, EpsilonPrior, StrengthPrior
from divulge.types import Array

AUXILIARIES = 1000
STEP_EPSILON, STEP_STRENGTH = 0.1, 0.05
PUBLISHED_STEPS = (0.1, 0.01, 0.001, 0.001)
"""Standard deviations of the proposals for log eps, s, tau, rho in Appendix B.3."""
SIGMA_TAU = 0.01


@dataclass(frozen=True)
class Draws:
    """What a sampler returned: arrays of shape (chain, draw)."""

    parameters: dict[str, Array] = field(repr=False)
    acceptance: float
    auxiliaries: int

    def quantile(self, q: npt.ArrayLike, of: str = "epsilon") -> Array:
        """Empirical quantiles over all chains."""
        return np.asarray(np.quantile(self.parameters[of], np.asarray(q, dtype=float)))

    def effective_size(self, of: str = "epsilon") -> float:
        """Effective sample size over all chains."""
        return effective_size(self.parameters[of])

    def quantile_error(self, q: float, of: str = "epsilon", batches: int = 20) -> float:
        """Standard error of a quantile, from the quantiles of consecutive batches."""
        values = self.parameters[of]
        parts = [p for chain in values for p in np.array_split(chain, batches // len(values))]
        found = [np.quantile(p, q) for p in parts]
        return float(np.std(found, ddof=1) / np.sqrt(len(found)))

    def to_arviz(self) -> Any:
        """The chains as arviz knows them; needs the extra ``posterior``."""
        return to_arviz(self.parameters)


def autocorrelation(values: Array, lags: int) -> Array:
    """Sample autocorrelation of one chain at lags 0, 1, ..., by fast Fourier transform."""
    centred = values - values.mean()
    size = 1 << (2 * values.size - 1).bit_length()
    power = np.abs(np.fft.rfft(centred, size)) ** 2
    found = np.fft.irfft(power, size)[: min(lags + 1, values.size)]
    return np.asarray(found / found[0] if found[0] > 0.0 else np.ones_like(found))


def effective_size(values: Array) -> float:
    """Geyer's initial monotone sequence, per chain, added up."""
    total = 0.0
    for chain in np.atleast_2d(values):
        rho = autocorrelation(chain, chain.size // 2)
        pairs = rho[: rho.size // 2 * 2].reshape(-1, 2).sum(axis=1)
        stop = int(np.argmax(pairs <= 0.0)) if (pairs <= 0.0).any() else pairs.size
        kept = np.minimum.accumulate(pairs[: max(1, stop)])
        total += chain.size / max(1.0, float(2.0 * kept.sum() - 1.0))
    return total


def sample_independent(
    counts: npt.ArrayLike,
    delta: float = 0.0,
    *,
    epsilon_prior: EpsilonPrior | None = None,
    strength: StrengthPrior | None = None,
    draws: int = 10_000,
    burn_in: int = 1_000,
    chains: int = 1,
    auxiliaries: int = AUXILIARIES,
    square: bool = False,
    steps: tuple[float, float] = (STEP_EPSILON, STEP_STRENGTH),
    rng: np.random.Generator | int | None = None,
) -> Draws:
    """Algorithm 1. ``square``: auxiliaries from the unit square, as published."""
    from divulge.crosschecks import compiled_samplers as compiled

    table, delta = check_error_counts(counts), check_delta(delta)
    _check(draws, burn_in, chains, auxiliaries)
    of_e, of_s = epsilon_prior or EpsilonPrior(), strength or StrengthPrior()
    require(of_s.fixed != 1.0, "The sampler needs a strength below 1: the region has no area at 1.")
    generator = np.random.default_rng(rng)
    values, rates = [], []
    for _ in range(chains):
        compiled.seed(int(generator.integers(2**31)))
        found, rate = compiled.independent(
            table,
            delta,
            FAMILIES.index(of_e.family),
            of_e.scale,
            of_e.spread,
            of_s.a,
            of_s.b,
            -1.0 if of_s.fixed is None else of_s.fixed,
            _start(table, delta, of_e),
            *steps,
            auxiliaries,
            burn_in,
            draws,
            square,
        )
        values.append(found)
        rates.append(rate)
    stacked = np.stack(values)
    named = {"epsilon": stacked[..., 0], "strength": stacked[..., 1]}
    return Draws(named, float(np.mean(rates)), auxiliaries)


def sample_correlated(
    counts: npt.ArrayLike,
    delta: float = 0.0,
    *,
    epsilon_prior: EpsilonPrior | None = None,
    strength: StrengthPrior | None = None,
    sigma_tau: float = SIGMA_TAU,
    draws: int = 10_000,
    burn_in: int = 1_000,
    chains: int = 1,
    auxiliaries: int = AUXILIARIES,
    square: bool = False,
    steps: tuple[float, float, float, float] = PUBLISHED_STEPS,
    start: tuple[float, float, float, float] | None = None,
    rng: np.random.Generator | int | None = None,
) -> Draws:
    """Algorithm 6: counts from cross-fed shadow models, by the normal approximation of eq. 7.

    ``start``: the first epsilon, strength, tau and correlation ``c = N rho / (1 + (N-1) tau)``.
    """
    from divulge.crosschecks import compiled_samplers as compiled

    table, delta = check_error_counts(counts), check_delta(delta)
    _check(draws, burn_in, chains, auxiliaries)
    sizes = np.unique(table[:, 1::2])
    require(sizes.size == 1, "Algorithm 6 needs as many positives as negatives in every row.")
    require(sizes[0] > 1.0, "Algorithm 6 needs at least two negatives and positives in every row.")
    of_e, of_s = epsilon_prior or EpsilonPrior(), strength or StrengthPrior()
    require(of_s.fixed is None, "Algorithm 6 samples the strength: give a Beta prior.")
    generator = np.random.default_rng(rng)
    values, rates = [], []
    for _ in range(chains):
        compiled.seed(int(generator.integers(2**31)))
        found, rate = compiled.correlated(
            table,
            delta,
            FAMILIES.index(of_e.family),
            of_e.scale,
            of_e.spread,
            of_s.a,
            of_s.b,
            sigma_tau,
            start or (*_start(table, delta, of_e), 0.0, 0.0),
            steps,
            auxiliaries,
            burn_in,
            draws,
            square,
        )
        values.append(found)
        rates.append(rate)
    stacked = np.stack(values)
    names = ("epsilon", "strength", "tau", "rho")
    named = {name: stacked[..., i] for i, name in enumerate(names)}
    return Draws(named, float(np.mean(rates)), auxiliaries)


def _start(counts: Array, delta: float, prior: EpsilonPrior) -> tuple[float, float]:
    """Where every observed point is allowed: a little beyond the largest, with little strength."""
    centre, width = meshes.points(counts, delta)
    most = float(np.max(centre + width))
    return min(max(most, 0.1), 0.9 * prior.end(most)), 0.1


def _check(draws: int, burn_in: int, chains: int, auxiliaries: int) -> None:
    require(draws >= 20, f"A chain needs at least 20 draws. Found {draws}.")
    require(burn_in >= 0, f"The burn-in cannot be negative. Found {burn_in}.")
    require(chains >= 1, f"At least one chain is needed. Found {chains}.")
    require(auxiliaries >= 2, f"Algorithm 1 needs K > 1 auxiliaries. Found {auxiliaries}.")
