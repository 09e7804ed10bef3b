"""What a posterior says in words and numbers: verdict, summary, predictive check, diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge.bounds.error_rates import draw_rates
from divulge.crosschecks.samplers import Draws, autocorrelation
from divulge.games.retraining.read import ErrorCounts
from divulge.posterior.exact import Marginal, Posterior
from divulge.posterior.priors import StrengthPrior
from divulge.result import Bound, Diagnostics, Verdict, of_posterior
from divulge.result.of_posterior import Quantiles
from divulge.text import rounding
from divulge.types import Array

if TYPE_CHECKING:
    from divulge.games.retraining.play import Estimate


REPLICATES = 2000
SURPRISING = 0.01
LAGS = 200
_CURVE = 60
_CELLS = 40
_TRACE = 400


def quantiles(marginal: Marginal) -> Quantiles:
    """The three quantiles of design: 5%, 50%, 95%."""
    return _three(marginal.quantile([0.05, 0.5, 0.95]))


def _three(values: Array) -> Quantiles:
    low, middle, high = map(float, values)
    return Quantiles(q05=low, q50=middle, q95=high)


def _strength(found: Posterior) -> Quantiles:
    """A fixed strength is one number."""
    if found.strength is None:
        return Quantiles(fixed=found.strength_prior.fixed)
    return quantiles(found.strength)


def summary(
    estimates: Sequence[Estimate], draws: Draws | None, level: float
) -> of_posterior.PosteriorRecord:
    """The key ``posterior``: the first delta in full, the others beside it."""
    every = tuple(
        of_posterior.AtDeltaRecord(
            delta=e.posterior.delta,
            epsilon=quantiles(e.posterior.epsilon),
            strength=_strength(e.posterior),
            if_strongest_attack=quantiles(e.strongest.epsilon),
        )
        for e in estimates
    )
    first, main = every[0], estimates[0].posterior
    sampler: dict[str, Quantiles | float | None] = {}
    if draws is not None:
        sampler |= {n: _three(draws.quantile([0.05, 0.5, 0.95], n)) for n in draws.parameters}
        sampler["effective_size"] = draws.effective_size()
    return of_posterior.PosteriorRecord(
        epsilon=first.epsilon,
        strength=first.strength,
        delta=first.delta,
        highest_density=of_posterior.HighestDensity(
            level=level,
            epsilon=tuple(main.hdr(level)),
            strength=None if main.strength is None else tuple(main.hdr(level, "strength")),
        ),
        if_strongest_attack=first.if_strongest_attack,
        sampler=sampler or None,
        by_delta=every if len(every) > 1 else (),
    )


def predictive(
    counts: ErrorCounts, found: Posterior, rng: np.random.Generator
) -> tuple[of_posterior.Predictive, ...]:
    """Do the counts look like the model's? Tail probabilities of four statistics of the rates.

    Tables are drawn from the posterior: epsilon and strength, error rates uniform on the region,
    binomial counts. The region is symmetric about (1/2, 1/2), and a real attack lies below: rates
    that sum to more than 1 are turned over, drawn and observed ones alike. The probability is that
    of a value at least as extreme, on either side.
    """
    table = counts.pooled
    drawn = found.sample(REPLICATES, rng)
    shape = (REPLICATES, len(table))
    e = np.broadcast_to(drawn["epsilon"][:, None], shape)
    s = np.broadcast_to(drawn["strength"][:, None], shape)
    x, y = draw_rates(e, s, found.delta, rng)
    sizes = np.maximum(np.round(table[:, 1::2]), 1).astype(np.int64)
    simulated_x = rng.binomial(sizes[:, 0], np.clip(x, 0.0, 1.0)) / sizes[:, 0]
    simulated_y = rng.binomial(sizes[:, 1], np.clip(y, 0.0, 1.0)) / sizes[:, 1]
    names = ("false-positive rate", "false-negative rate")
    replicated = dict(zip(names, _below(simulated_x, simulated_y), strict=True))
    seen_x, seen_y = table[:, 0] / table[:, 1], table[:, 2] / table[:, 3]
    observed = dict(zip(names, _below(seen_x, seen_y), strict=True))
    out = []
    for name, rates in replicated.items():
        statistics: list[tuple[str, Any]] = [("mean", np.mean)]
        if len(table) > 1:
            statistics.append(("spread", np.std))
        for what, statistic in statistics:
            seen = float(statistic(observed[name]))
            simulated = statistic(rates, axis=1)
            above = (np.sum(simulated >= seen - 1e-12) + 1) / (REPLICATES + 1)
            below = (np.sum(simulated <= seen + 1e-12) + 1) / (REPLICATES + 1)
            out.append(
                of_posterior.Predictive(
                    statistic=f"{what} of the {name}",
                    observed=seen,
                    expected=float(np.mean(simulated)),
                    probability=float(min(1.0, 2.0 * min(above, below))),
                )
            )
    return tuple(out)


def _below(x: Array, y: Array) -> tuple[Array, Array]:
    turn = x + y > 1.0
    return np.where(turn, 1.0 - x, x), np.where(turn, 1.0 - y, y)


def verdict(
    counts: ErrorCounts,
    found: Posterior,
    bounds: tuple[Bound, ...],
    checks: Sequence[of_posterior.Predictive],
    correlated: bool,
    level: float,
) -> Verdict:
    """The bound decides; the posterior is said as what it is."""
    low, high = found.interval(level)
    median = float(found.quantile(0.5))
    bound = bounds[0]
    sure, at = rounding.share(bound.confidence), rounding.exact(found.delta)
    proved = (
        f"With confidence {sure} epsilon at delta {at} is at least "
        f"{rounding.at_least(bound.value)}."
        if bound.value > 0.0
        else f"No epsilon above 0 is proved at confidence {sure}."
    )
    sentence = (
        f"{proved} The posterior puts {level:.3g} of its probability between "
        f"{rounding.short(low)} and {rounding.rounded_up(high)}, median {rounding.short(median)}; "
        "that is a credible interval under the stated priors, "
        "not a confidence bound."
    )
    reasons = []
    if correlated:
        reasons.append(
            "The counts are declared correlated, as cross-fed shadow models make them; the "
            "Clopper-Pearson bound assumes independent decisions."
        )
    if len(counts.pooled) == 1 and found.strength is not None:
        reasons.append(
            "There is only one attack: its strength is not identified, so the posterior of the "
            "strength is close to its prior, and the posterior of epsilon depends on that prior."
        )
    modes = found.hdr(level)
    if len(modes) > 1:
        parts = " and ".join(f"{a:.3g} to {b:.3g}" for a, b in modes)
        reasons.append(
            "The posterior of epsilon has more than one mode: its highest-density region is "
            f"{parts}. A single credible interval from quantiles also covers the gap between "
            "them."
        )
    odd = [c.statistic for c in checks if c.probability < SURPRISING]
    if odd and not correlated:
        reasons.append(
            f"The counts do not look like the model's ({', '.join(odd)}): attacks with error rates "
            "spread evenly over a region. The posterior may be off; the bound does not rest on it."
        )
    fragile = correlated
    status = "leak" if bound.value > 0.0 else "no evidence"
    return Verdict(status, not fragile, sentence, tuple(reasons))


def measurements(counts: ErrorCounts, dependence: dict[str, float] | None) -> dict[str, Any]:
    """Observed rates, and how correlated the decisions are."""
    x, n0, y, n1 = counts.rows.sum(axis=0)
    out: dict[str, Any] = {"false_positive_rate": x / n0, "false_negative_rate": y / n1}
    if counts.groups is not None:
        out["correlation_within_groups"] = counts.intraclass
    return {**out, **(dependence or {})}


def trials(counts: ErrorCounts) -> dict[str, int]:
    """How many attacks and decisions."""
    out = {
        "attacks": len(counts.rows),
        "negatives": int(counts.rows[:, 1].sum()),
        "positives": int(counts.rows[:, 3].sum()),
    }
    return out if counts.groups is None else {**out, "groups": counts.groups}


def diagnostics(
    counts: ErrorCounts,
    found: Estimate,
    checks: Sequence[of_posterior.Predictive],
    draws: Draws | None,
    level: float,
) -> Diagnostics:
    """What the report draws."""
    main = found.posterior
    return Diagnostics(
        region=region(counts, main, level),
        marginals=marginals(main),
        predictive=tuple(checks),
        joint=None if main.strength is None else joint(main, level),
        priors=sensitivity(found) if found.others else None,
        sampler=None if draws is None else chains(draws, main),
    )


def region(counts: ErrorCounts, found: Posterior, level: float) -> of_posterior.Region:
    """Figure 1: observed rates, and the boundaries of the region at three epsilons."""
    rows = counts.rows
    low, high = found.interval(level)
    median = float(found.quantile(0.5))
    curves = [
        (f"epsilon {low:.3g}", low, found.delta),
        (f"epsilon {median:.3g} (median)", median, found.delta),
        (f"epsilon {high:.3g}", high, found.delta),
    ]
    strength = found.strength_prior.fixed
    if strength is None:
        strength = float(found.quantile(0.5, "strength"))
    if 0.0 < strength < 1.0:
        inner = strength * median
        curves.append((f"weakest attack, epsilon {inner:.3g}", inner, strength * found.delta))
    return of_posterior.Region(
        false_positive_rate=(rows[:, 0] / rows[:, 1]).tolist(),
        false_negative_rate=(rows[:, 2] / rows[:, 3]).tolist(),
        curves=tuple(boundary(name, e, d) for name, e, d in curves),
    )


def boundary(label: str, epsilon: float, delta: float) -> of_posterior.Boundary:
    """The lower left boundary of R(epsilon, delta), dense where it bends."""
    bend = (1.0 - delta) / (1.0 + np.exp(epsilon))
    x = np.concatenate(
        [np.linspace(0.0, bend, _CURVE // 2), np.linspace(bend, 1.0 - delta, _CURVE)]
    )
    y = np.maximum(1.0 - delta - np.exp(epsilon) * x, np.exp(-epsilon) * (1.0 - delta - x))
    return of_posterior.Boundary(label=label, x=x.tolist(), y=np.maximum(y, 0.0).tolist())


def marginals(found: Posterior) -> of_posterior.Marginals:
    """Density of each parameter with its prior, where the posterior is."""
    end = float(found.quantile(0.998))
    e = np.linspace(0.0, end, 161)
    epsilon = _density(found.epsilon, e, found.epsilon_prior.log_density(e))
    if found.strength is None:
        return of_posterior.Marginals(epsilon=epsilon)
    s = np.linspace(0.0, 1.0, 161)
    prior = found.strength_prior.log_density(np.clip(s, 1e-3, 1.0 - 1e-3))
    return of_posterior.Marginals(epsilon=epsilon, strength=_density(found.strength, s, prior))


def _density(marginal: Marginal, x: Array, log_prior: Array) -> of_posterior.Density:
    density = np.interp(x, marginal.x, marginal.density)
    return of_posterior.Density(
        x=x.tolist(), density=density.tolist(), prior=np.exp(log_prior).tolist()
    )


def joint(found: Posterior, level: float) -> of_posterior.Joint:
    """The mass of each cell of a grid, and which cells form the highest-density region."""
    ends = found.quantile([0.0005, 0.9975]), found.quantile([0.0005, 0.9995], "strength")
    e, s = (np.linspace(low, high, _CELLS + 1) for low, high in ends)
    mass = found.joint(e, s)
    order = np.argsort(-mass, axis=None, kind="stable")
    inside = np.zeros(mass.size, dtype=bool)
    total = np.cumsum(mass.ravel()[order])
    inside[order[: int(np.searchsorted(total, level)) + 1]] = True
    return of_posterior.Joint(
        epsilon_edges=e.tolist(),
        strength_edges=s.tolist(),
        mass=np.round(mass, 9).tolist(),
        inside=inside.reshape(mass.shape).astype(int).tolist(),
        level=level,
    )


def sensitivity(found: Estimate) -> tuple[of_posterior.OtherPrior, ...]:
    """The same counts under other priors, the one that was used first."""
    out = []
    for p in (found.posterior, *found.others):
        at = quantiles(p.epsilon)
        out.append(
            of_posterior.OtherPrior(
                prior_of_epsilon=str(p.epsilon_prior),
                prior_of_strength=_said(p.strength_prior),
                q05=at.q05,
                q50=at.q50,
                q95=at.q95,
            )
        )
    return tuple(out)


def _said(prior: StrengthPrior) -> str:
    return str(prior) if prior.fixed is None else f"fixed at {prior.fixed:g}"


def chains(draws: Draws, exact: Posterior) -> of_posterior.Sampler:
    """Trace and autocorrelation of the published sampler, and how far it is from exact."""
    values = draws.parameters["epsilon"][0]
    shown = np.unique(np.linspace(0, values.size - 1, _TRACE).astype(int))
    lags = min(LAGS, values.size // 4)
    errors = [draws.quantile_error(q) for q in (0.05, 0.95)]
    differences = draws.quantile([0.05, 0.95]) - exact.quantile([0.05, 0.95])
    strength = draws.parameters["strength"][0]
    return of_posterior.Sampler(
        draw=shown.tolist(),
        epsilon=values[shown].tolist(),
        strength=strength[shown].tolist(),
        lag=tuple(range(lags + 1)),
        autocorrelation=autocorrelation(values, lags).tolist(),
        autocorrelation_strength=autocorrelation(strength, lags).tolist(),
        acceptance=draws.acceptance,
        effective_size=draws.effective_size(),
        q05_minus_exact=float(differences[0]),
        q95_minus_exact=float(differences[1]),
        q05_standard_error=errors[0],
        q95_standard_error=errors[1],
    )
