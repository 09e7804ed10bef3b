"""What only the retraining game writes: the posterior of epsilon, and what is drawn of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from divulge.result.form import Count, Number, Record, Series, Share, Shares


@dataclass(frozen=True, kw_only=True)
class Quantiles(Record):
    """5%, 50% and 95% of a parameter, or the value at which it was fixed."""

    q05: Number = None
    q50: Number = None
    q95: Number = None
    fixed: Number = None


@dataclass(frozen=True, kw_only=True)
class HighestDensity(Record):
    """The intervals of the highest-density regions."""

    level: Share
    epsilon: tuple[Series, ...]
    strength: tuple[Series, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class AtDeltaRecord(Record):
    """The posterior at one delta."""

    delta: Share
    epsilon: Quantiles
    strength: Quantiles
    if_strongest_attack: Quantiles


@dataclass(frozen=True, kw_only=True)
class PosteriorRecord(Record):
    """What is probable under the priors; never a bound."""

    epsilon: Quantiles
    strength: Quantiles
    delta: Share
    highest_density: HighestDensity
    if_strongest_attack: Quantiles
    sampler: Mapping[str, Quantiles | Number] | None = None
    by_delta: tuple[AtDeltaRecord, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Boundary(Record):
    """The lower boundary of a privacy region."""

    label: str
    x: Series
    y: Series


@dataclass(frozen=True, kw_only=True)
class Region(Record):
    """Observed error rates, and the regions that several epsilons allow."""

    false_positive_rate: Shares
    false_negative_rate: Shares
    curves: tuple[Boundary, ...]


@dataclass(frozen=True, kw_only=True)
class Density(Record):
    """Posterior and prior density of one parameter."""

    x: Series
    density: Series
    prior: Series


@dataclass(frozen=True, kw_only=True)
class Marginals(Record):
    """The densities of each parameter alone."""

    epsilon: Density
    strength: Density | None = None


@dataclass(frozen=True, kw_only=True)
class Joint(Record):
    """The mass of each cell of a grid, and the cells of the highest-density region."""

    epsilon_edges: Series
    strength_edges: Series
    mass: tuple[Series, ...]
    inside: tuple[tuple[Count, ...], ...]
    level: Share


@dataclass(frozen=True, kw_only=True)
class Predictive(Record):
    """One statistic of the counts beside what the posterior expects of it."""

    statistic: str
    observed: Number
    expected: Number
    probability: Share


@dataclass(frozen=True, kw_only=True)
class OtherPrior(Record):
    """Quantiles of epsilon under one pair of priors."""

    prior_of_epsilon: str
    prior_of_strength: str
    q05: Number
    q50: Number
    q95: Number


@dataclass(frozen=True, kw_only=True)
class Sampler(Record):
    """The chain of the published sampler, and how far it is from exact."""

    draw: Series
    epsilon: Series
    strength: Series
    lag: Series
    autocorrelation: Series
    autocorrelation_strength: Series
    acceptance: Number
    effective_size: Number
    q05_minus_exact: Number
    q95_minus_exact: Number
    q05_standard_error: Number
    q95_standard_error: Number
