"""What several games write for the report: curves, groups, bets, draws, and what was checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from divulge.result.form import Count, Counts, Number, Record, Series, Share, Shares


@dataclass(frozen=True, kw_only=True)
class CurveRecord(Record):
    """True against false positives, with a name."""

    fpr: Shares
    tpr: Shares
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class RocRecord(Record):
    """The attack as measured, what was proved, and what was claimed."""

    fpr: Shares = ()
    tpr: Shares = ()
    auc: Number = None
    proven: CurveRecord | None = None
    claimed: CurveRecord | None = None


@dataclass(frozen=True, kw_only=True)
class Overlap(Record):
    """Histograms of the propensity in both groups, before and after balancing."""

    edges: Shares
    members: Counts
    nonmembers: Counts
    members_kept: Counts
    nonmembers_kept: Counts
    share_within: Share
    trim: Number = None


@dataclass(frozen=True, kw_only=True)
class Balance(Record):
    """The standardised mean difference of one feature, before and after balancing."""

    feature: str
    before: Number
    after: Number


@dataclass(frozen=True, kw_only=True)
class Wealth(Record):
    """The gambler's wealth over the trials, and the bound on epsilon that would stand there."""

    trials: Series = ()
    wealth: Series = ()
    epsilon: Series = ()
    goal: Number = None


@dataclass(frozen=True, kw_only=True)
class SensitivityRecord(Record):
    """The bound on epsilon if the log-odds may be wrong by gamma."""

    gamma: Series
    epsilon: Series
    gamma_star: Number


@dataclass(frozen=True, kw_only=True)
class Bootstrap(Record):
    """The bound with the propensity fitted again on resampled records."""

    parameter: str
    values: Series
    point: Number
    lower: Number


@dataclass(frozen=True, kw_only=True)
class DrawRecord(Record):
    """How the trials were drawn: from two pools, or true values against drawn ones."""

    trials: Count | None = None
    coin: Share | None = None
    rows_sha256: str | None = None
    records: Count | None = None
    learned_from: Count | None = None
    audited: Count | None = None
    repetitions: Count | None = None
    records_equal_to_another: Share | None = None
    rule: str


@dataclass(frozen=True, kw_only=True)
class Duplicates(Record):
    """Non-members that equal a member."""

    nonmembers_equal_to_a_member: Count
    first_rows: Counts


@dataclass(frozen=True, kw_only=True)
class SubsetRecord(Record):
    """Rows chosen at random where the table was too large to use all."""

    rows: Count
    used: Count
    rule: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class SeedSpread(Record):
    """One headline bound over several draws."""

    bound: str
    least: Number
    median: Number
    largest: Number
    combined: Number
    of_each_seed: Series


@dataclass(frozen=True, kw_only=True)
class Seeds(Record):
    """What other draws of the same audit give, and what all prove together."""

    seeds: Count
    first: Count
    without_conclusion: Count
    shown: Count
    error_of_each_alone: Number
    rule: str
    sentence: str
    spread: tuple[SeedSpread, ...]


@dataclass(frozen=True, kw_only=True)
class Blind(Record):
    """What a learner proves that never sees the model."""

    c_lb: Number
    sees: str


@dataclass(frozen=True, kw_only=True)
class NegativeControl(Record):
    """The same audit where nothing can leak."""

    epsilon: Number = None
    likeness: Number = None
    """Rank correlation with the target's score among non-members, beyond the features."""
    before_allowance: Number = None
    target_before_allowance: Number = None
    """What the control and the target show before any allowance is deducted."""
    status: str | None = None
    negative_control_epsilon: Number = None
    negative_control_sight: Number = None
    direct_epsilon: Number = None
    direct_status: str | None = None


@dataclass(frozen=True, kw_only=True)
class Requirement(Record):
    """One thing that a robust finding needs, and whether it holds."""

    name: str
    holds: bool
    sentence: str


@dataclass(frozen=True, kw_only=True)
class LeftOutRecord(Record):
    """By which factor the odds of membership change if a feature is left out."""

    feature: str
    odds_ratio: Number


@dataclass(frozen=True, kw_only=True)
class Compared(Record):
    """Another attack, or another audit, on the same records."""

    attack: str
    auc: Number = None
    epsilon: Number = None
    mu: Number = None
    note: str | None = None


@dataclass(frozen=True, kw_only=True)
class PlanRecord(Record):
    """The plan of the canaries."""

    strategy: str
    probability: Share
    seed: int
    data: str
    data_sha256: str
    rows_of_other_records: Count


Nuisance = Mapping[str, Number | str | Mapping[str, Number]]
"""How good the helper models are, by name."""
