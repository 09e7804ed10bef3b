"""Is the exact posterior calibrated, and does the bound beside it hold?

Simulation-based calibration (Cook, Gelman and Rubin 2006): draw epsilon and strength from the
priors, error rates and counts from the model. Over such draws the posterior probability below the
truth is uniform. Three parts of [0, 1], each of the claimed error's length, must therefore not be
hit more often than that: the lower end (the posterior claims too much), the upper end (too little)
and the middle (it is too wide). A game returns by how much the rank lies inside its part, so a
claim above 0 is a hit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from divulge.bounds.error_rates import draw_rates, epsilon_from_errors
from divulge.posterior.exact import posterior
from divulge.posterior.priors import EpsilonPrior, StrengthPrior
from divulge.selftest.case import Case
from divulge.selftest.readings import Claims, Reading

PARTS = ("lower end", "upper end", "middle")


@dataclass(frozen=True)
class Calibration:
    """One draw from prior and model, and the ranks of the truths in their posterior."""

    attacks: int
    models: int
    delta: float
    fixed: float | None = None

    def ranks(self, rng: np.random.Generator) -> dict[str, float]:
        """The posterior probability below the true epsilon and strength."""
        prior, strength = EpsilonPrior(), StrengthPrior(fixed=self.fixed)
        epsilon = float(prior.quantile(rng.random()))
        s = rng.random() if self.fixed is None else self.fixed
        shape = self.attacks
        x, y = draw_rates(np.full(shape, epsilon), np.full(shape, s), self.delta, rng)
        n = np.full(shape, self.models)
        counts = np.column_stack([rng.binomial(n, x), n, rng.binomial(n, y), n])
        found = posterior(counts, self.delta, epsilon_prior=prior, strength=strength)
        ranks = {}
        for of, truth in (("epsilon", epsilon), ("strength", s)):
            if of == "epsilon" or self.fixed is None:
                marginal = found.marginal(of)
                ranks[of] = float(np.interp(truth, marginal.x, marginal.cdf))
        return ranks

    def __call__(self, error: float, rng: np.random.Generator) -> Claims:
        return {
            (of, part): inside_part(rank, part, error)
            for of, rank in self.ranks(rng).items()
            for part in PARTS
        }


def inside_part(rank: float, part: str, error: float) -> float:
    """By how much a rank lies inside a part of [0, 1] of the length of the error."""
    if part == "lower end":
        return error - rank
    if part == "upper end":
        return rank - (1.0 - error)
    return 0.5 * error - abs(rank - 0.5)


@dataclass(frozen=True)
class ErrorBound:
    """Attacks of which the first is the strongest possible, the others weaker."""

    epsilon: float
    attacks: int
    models: int
    delta: float

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        rate = (1.0 - self.delta) / (1.0 + np.exp(self.epsilon))
        rates = rate + np.linspace(0.0, 0.4 - min(0.4, rate), self.attacks)
        n = np.full(self.attacks, self.models)
        counts = np.column_stack([rng.binomial(n, rates), n, rng.binomial(n, rates), n])
        return epsilon_from_errors(counts, self.delta, error)


def cases() -> Iterator[Case]:
    """Both parameters, few and many models, delta 0 and above, a free and a fixed strength."""
    settings: tuple[tuple[int, int, float, float | None], ...] = (
        (5, 100, 0.0, None),
        (1, 20, 0.0, None),
        (3, 50, 0.01, None),
        (3, 10_000, 0.0, None),
        (3, 100, 0.0, 1.0),
        (3, 100, 0.01, 0.5),
    )
    for attacks, models, delta, fixed in settings:
        for of in ("epsilon", "strength") if fixed is None else ("epsilon",):
            for part in PARTS:
                strength = "" if fixed is None else f", strength {fixed:g}"
                yield Case(
                    bound=f"posterior of {of}, rank in the {part}",
                    parameter="rank",
                    delta=None,
                    mechanism=f"prior and model{strength}",
                    setting=f"{attacks} attacks, N={models}, delta {delta:g}",
                    play=Reading(Calibration(attacks, models, delta, fixed), (of, part)),
                    truth=0.0,
                    quick=(attacks, models, delta) == (1, 20, 0.0),
                )
    for epsilon, attacks, models, delta in (
        (0.0, 1, 100, 0.0),
        (1.0, 1, 1000, 0.0),
        (1.0, 10, 1000, 0.0),
        (3.0, 1, 100, 1e-3),
        (3.0, 10, 10_000, 1e-3),
    ):
        yield Case(
            bound="clopper-pearson of both errors",
            parameter="epsilon",
            delta=delta,
            mechanism=f"attacks at the limit of epsilon {epsilon:g}",
            setting=f"{attacks} attacks, N={models}",
            play=ErrorBound(epsilon, attacks, models, delta),
            truth=epsilon,
            quick=models <= 1000,
        )
