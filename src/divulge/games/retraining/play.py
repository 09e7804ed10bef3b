"""The retraining game: models trained with and without a record, told apart by an attack.

From a table of error counts, one row per attack on a pair (dataset, record), to a Result: the exact
posterior of epsilon and of the attacks' strength (MCMC-DP-Est), and beside it what the same counts
prove at a stated confidence. ``divulge.retraining(counts)`` audits; ``divulge.retraining.measure``
trains the models and counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from divulge.bounds import error_rates
from divulge.crosschecks import samplers
from divulge.errors import require, require_probability
from divulge.games.public import provenance, public
from divulge.games.retraining import findings, measuring
from divulge.games.retraining.read import ErrorCounts, read_counts
from divulge.posterior import correlated as correlated_
from divulge.posterior import mesh as meshes
from divulge.posterior.exact import Posterior, log_prior, of_likelihood, posterior
from divulge.posterior.hierarchy import hierarchical
from divulge.posterior.likelihood import tabulate
from divulge.posterior.priors import EpsilonPrior, StrengthPrior
from divulge.proof.rule import DELTAS
from divulge.result import Result
from divulge.types import Array, Progress

STRONGEST = StrengthPrior(fixed=1.0)
ALTERNATIVES: tuple[tuple[EpsilonPrior, StrengthPrior], ...] = (
    (EpsilonPrior("half-normal", 2.5), StrengthPrior()),
    (EpsilonPrior("half-normal", 40.0), StrengthPrior()),
    (EpsilonPrior("exponential", 3.0), StrengthPrior()),
    (EpsilonPrior(), StrengthPrior(1.0, 3.0)),
    (EpsilonPrior(), StrengthPrior(3.0, 1.0)),
    (EpsilonPrior(), StrengthPrior(fixed=0.0)),
    (EpsilonPrior(), STRONGEST),
)
"""Other priors under which the posterior is shown too."""
LEAST_DRAWS = 1_000


@dataclass(frozen=True)
class Estimate:
    """The posterior at one delta, and what the counts would say under other priors."""

    posterior: Posterior
    strongest: Posterior
    others: tuple[Posterior, ...]
    dependence: dict[str, float] | None = None


@public("retraining", zero_delta=True)
def audit(
    data: Any,
    *,
    group: str | None = None,
    rename: Mapping[str, str] | None = None,
    correlated: bool = False,
    margins: str | None = None,
    hierarchy: bool = False,
    strength: StrengthPrior | str | float | None = None,
    prior: EpsilonPrior | str | None = None,
    level: float = 0.9,
    sampler: int = 0,
    deltas: Sequence[float] = DELTAS,
    error: float = 0.05,
    seed: int = 0,
    command: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """The posterior of epsilon from error counts, and the bound that the same counts prove.

    ``data`` has the columns false_positives, negatives, false_negatives, positives, one row per
    attack. ``correlated`` is for counts from cross-fed shadow models; its ``margins`` are
    ``beta-binomial`` where a count is 0 or full (default), or ``normal`` throughout, which is the
    paper's eq. 7 and gives its Table 1. ``group`` names a column whose equal values mark dependent
    attacks, which are pooled, or with ``hierarchy`` modelled in full: each has rates of its own
    about those of its group (the paper's Appendix C). ``prior`` is that of epsilon
    (``half-normal:10``), ``strength`` a number or ``beta:1,1``. ``sampler`` draws that many times
    from the published sampler as a cross-check.
    """
    require_probability("level", level)
    require(len(deltas) > 0, "Give at least one delta.")
    require(
        sampler == 0 or sampler >= LEAST_DRAWS,
        f"The sampler needs at least {LEAST_DRAWS} draws. Found {sampler}.",
    )
    require(not (correlated and group), "Counts are either correlated or grouped; not both.")
    require(
        correlated or margins is None,
        "Margins are those of correlated counts: give --correlated too, or leave out --margins.",
    )
    require(
        not hierarchy or group is not None,
        "The hierarchy is that of groups: give --group too, or leave out --hierarchy.",
    )
    margins = margins or correlated_.MARGINS[0]
    correlated_.check_margins(margins)
    of_e = EpsilonPrior.parse(prior) if isinstance(prior, str) else prior or EpsilonPrior()
    of_s = _strength(strength)
    require(not (sampler and of_s.fixed == 1.0), "The sampler needs a strength below 1.")
    counts, inputs = read_counts(data, group=group)
    require(not (sampler and group), "The sampler does not pool groups: leave out one of the two.")
    estimates = []
    for k, delta in enumerate(deltas):
        if progress is not None:
            progress("posterior", k, len(deltas))
        estimates.append(
            estimate_groups(counts, float(delta), of_e, of_s, k == 0)
            if hierarchy
            else estimate(
                counts.pooled, float(delta), of_e, of_s, margins if correlated else None, k == 0
            )
        )
    draws = None
    if sampler:
        if progress is not None:
            progress("sampler", 0, 1)
        draws = _sampled(counts.rows, float(deltas[0]), of_e, of_s, correlated, sampler, seed)
    assumptions = (error_rates.INDEPENDENT, error_rates.FIXED)
    bounds = error_rates.state(counts.rows, tuple(map(float, deltas)), error, assumptions)
    if correlated:  # what the theorem assumes is said not to hold
        bounds = tuple(replace(bound, standing="estimated") for bound in bounds)
    predictive = findings.predictive(counts, estimates[0].posterior, np.random.default_rng(seed))
    return Result(
        game="retraining",
        verdict=findings.verdict(
            counts, estimates[0].posterior, bounds, predictive, correlated, level
        ),
        bounds=bounds,
        measurements=findings.measurements(counts, estimates[0].dependence),
        trials=findings.trials(counts),
        diagnostics=findings.diagnostics(counts, estimates[0], predictive, draws, level),
        provenance=provenance(
            command,
            seed,
            inputs,
            prior_of_epsilon=str(of_e),
            prior_of_strength=str(of_s),
            counts=_kind(correlated, group, hierarchy),
            **dict[str, Any]({"margins": margins} if correlated else {}),
        ),
        posterior=findings.summary(estimates, draws, level),
    )


def estimate(
    counts: Array,
    delta: float,
    of_e: EpsilonPrior,
    of_s: StrengthPrior,
    margins: str | None,
    alternatives: bool,
) -> Estimate:
    """The posterior, what strength 1 would have claimed, and other priors if asked for.

    ``margins`` are those of correlated counts; None if the counts are independent.
    """
    strongest = posterior(counts, delta, epsilon_prior=of_e, strength=STRONGEST, whole=False)
    chosen = [pair for pair in ALTERNATIVES if pair != (of_e, of_s)] if alternatives else []
    free = [pair for pair in chosen if pair[1].fixed is None]
    if margins is not None:
        found = correlated_.correlated(
            counts, delta, epsilon_prior=of_e, strength=of_s, margins=margins
        )
        main = found.posterior(of_e, of_s)
        same = [pair for pair in free if of_s.fixed is None]
        others = [found.posterior(*pair) for pair in same]
        return Estimate(main, strongest, tuple(others), found.dependence.summary())
    reach = meshes.reach(counts, delta)
    if of_s.fixed is None:
        table = tabulate(
            counts,
            delta,
            end=of_e.end(reach),
            log_priors=[log_prior(*pair) for pair in ((of_e, of_s), *free)],
        )
        main = of_likelihood(table, of_e, of_s)
    else:
        table = None
        main = posterior(counts, delta, epsilon_prior=of_e, strength=of_s, whole=False)
    others = []
    for other_e, other_s in chosen:
        if other_s.fixed is None and table is not None and other_e.end(reach) <= table.mesh.e[-1]:
            others.append(of_likelihood(table, other_e, other_s))
        else:
            others.append(
                posterior(counts, delta, epsilon_prior=other_e, strength=other_s, whole=False)
            )
    return Estimate(main, strongest, tuple(others))


def estimate_groups(
    counts: ErrorCounts, delta: float, of_e: EpsilonPrior, of_s: StrengthPrior, alternatives: bool
) -> Estimate:
    """The same for groups of dependent attacks, each with rates of its own (Appendix C)."""
    strongest = posterior(counts.pooled, delta, epsilon_prior=of_e, strength=STRONGEST, whole=False)
    found = hierarchical(counts.rows, counts.keys, delta, epsilon_prior=of_e, strength=of_s)
    chosen = [pair for pair in ALTERNATIVES if pair != (of_e, of_s)] if alternatives else []
    others = [found.posterior(*p) for p in chosen if p[1].fixed is None and of_s.fixed is None]
    return Estimate(found.posterior(of_e, of_s), strongest, tuple(others), found.summary())


def _kind(correlated: bool, group: str | None, hierarchy: bool) -> str:
    if correlated:
        return "correlated"
    return "independent" if group is None else ("hierarchical" if hierarchy else "pooled")


def _strength(given: StrengthPrior | str | float | None) -> StrengthPrior:
    if isinstance(given, str):
        return StrengthPrior.parse(given)
    if isinstance(given, int | float):
        return StrengthPrior(fixed=float(given))
    return given or StrengthPrior()


def _sampled(
    counts: Array,
    delta: float,
    of_e: EpsilonPrior,
    of_s: StrengthPrior,
    correlated: bool,
    draws: int,
    seed: int,
) -> samplers.Draws:
    """The published sampler: Algorithm 1, or 6 for correlated counts."""
    if correlated:
        return samplers.sample_correlated(
            counts, delta, epsilon_prior=of_e, strength=of_s, draws=draws, burn_in=draws // 10,
            auxiliaries=200, rng=seed,
        )  # fmt: skip
    return samplers.sample_independent(
        counts, delta, epsilon_prior=of_e, strength=of_s, draws=draws, burn_in=draws // 10,
        auxiliaries=200, rng=seed,
    )  # fmt: skip


class Retraining:
    """``divulge.retraining(counts)`` audits a table; ``divulge.retraining.measure`` makes one."""

    __call__ = staticmethod(audit)
    audit = staticmethod(audit)
    measure = staticmethod(measuring.measure)
    Measured = measuring.Measured


retraining = Retraining()

__all__ = ["ErrorCounts", "Estimate", "Retraining", "audit", "estimate", "retraining"]
