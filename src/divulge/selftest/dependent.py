"""Is the posterior from correlated counts calibrated? As ``posteriors.py``, with dependence.

Epsilon, strength, tau and the correlation c are drawn from their priors, error rates from the
model, and each pair of counts from two beta-binomials joined by a Gaussian copula. A tau below 0,
as where a threshold holds the number of errors nearly fixed, has no beta-binomial: there the margin
is the normal of eq. 7, rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr
from scipy.stats import betabinom, truncnorm

from divulge.bounds.error_rates import draw_rates
from divulge.posterior.correlated import correlated
from divulge.posterior.priors import EpsilonPrior, StrengthPrior
from divulge.selftest.case import Case
from divulge.selftest.posteriors import PARTS, inside_part
from divulge.selftest.readings import Claims, Reading

ATTACKS, MODELS = 3, 200
SIGMA_TAU = 0.01


@dataclass(frozen=True)
class Dependent:
    """One draw from priors and model, and the rank of the true epsilon."""

    def rank(self, rng: np.random.Generator) -> float:
        """The posterior probability below the true epsilon."""
        prior, strength = EpsilonPrior(), StrengthPrior()
        epsilon, s = float(prior.quantile(rng.random())), rng.random()
        ends = np.array([-1.0 / (MODELS - 1.0), 1.0]) / SIGMA_TAU
        tau = float(truncnorm.rvs(*ends, scale=SIGMA_TAU, random_state=rng))
        c = rng.uniform(-1.0, 1.0)
        counts = np.empty((ATTACKS, 4))
        rates = draw_rates(np.full(ATTACKS, epsilon), np.full(ATTACKS, s), 0.0, rng)
        for row, x, y in zip(counts, *rates, strict=True):
            first = rng.standard_normal()
            second = c * first + np.sqrt(1.0 - c * c) * rng.standard_normal()
            row[:] = count(first, x, tau), MODELS, count(second, y, tau), MODELS
        found = correlated(counts, 0.0, sigma_tau=SIGMA_TAU, taus=6, correlations=6)
        marginal = found.posterior(prior, strength).marginal("epsilon")
        return float(np.interp(epsilon, marginal.x, marginal.cdf))

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        rank = self.rank(rng)
        return {part: inside_part(rank, part, error) for part in PARTS}


def count(deviate: float, rate: float, tau: float) -> float:
    """Errors among the models, at this normal deviate of their distribution."""
    if tau > 0.0:
        wide = 1.0 / tau - 1.0
        return float(betabinom.ppf(ndtr(deviate), MODELS, rate * wide, (1.0 - rate) * wide))
    inflation = 1.0 + (MODELS - 1.0) * tau
    spread = np.sqrt(max(MODELS * rate * (1.0 - rate) * inflation, 0.0))
    return float(np.clip(np.rint(MODELS * rate + spread * deviate), 0.0, MODELS))


def cases() -> Iterator[Case]:
    """Both ends and the middle."""
    for part in PARTS:
        yield Case(
            bound=f"posterior, correlated counts, rank in the {part}",
            parameter="rank",
            delta=None,
            mechanism="priors, model and dependence",
            setting=f"{ATTACKS} attacks, N={MODELS}",
            play=Reading(Dependent(), part),
            truth=0.0,
            quick=True,
        )
