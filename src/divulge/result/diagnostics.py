"""All that a game tells the report, as one record: what was not computed is absent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from divulge.result import (
    of_generated,
    of_helpers,
    of_leakage,
    of_lineup,
    of_posterior,
    of_values,
    shared,
)
from divulge.result.form import Count, Number, Record, Share


@dataclass(frozen=True, kw_only=True)
class Diagnostics(Record):
    """What the report draws or lists. A game of another package puts its own under ``other``."""

    overlap: shared.Overlap | None = None
    balance: tuple[shared.Balance, ...] | None = None
    roc: shared.RocRecord | None = None
    wealth: shared.Wealth | None = None
    sensitivity: shared.SensitivityRecord | None = None
    bootstrap: shared.Bootstrap | None = None
    blind: shared.Blind | None = None
    negative_control: shared.NegativeControl | None = None
    nuisance: shared.Nuisance | None = None
    robustness: tuple[shared.Requirement, ...] | None = None
    left_out: tuple[shared.LeftOutRecord, ...] | None = None
    folded: tuple[str, ...] | None = None
    draw: shared.DrawRecord | None = None
    duplicates: shared.Duplicates | None = None
    subset: shared.SubsetRecord | None = None
    seeds: shared.Seeds | None = None
    helpers: of_helpers.HelpersRecord | None = None
    ladder: of_helpers.LadderRecord | None = None
    text: of_helpers.TextRecord | None = None
    documents: of_helpers.DocumentsRecord | None = None
    comparison: tuple[shared.Compared, ...] | None = None
    plan: shared.PlanRecord | None = None
    proxy: of_values.Proxy | None = None
    repetitions: of_values.Repetitions | None = None
    tau: tuple[of_values.Budget, ...] | None = None
    recall: of_generated.RecallRecord | None = None
    repeats: of_generated.Repeats | None = None
    measurement: of_generated.Measurement | None = None
    rules: tuple[of_generated.RuleRecord, ...] | None = None
    relaxed: tuple[of_generated.Relaxed, ...] | None = None
    models: of_generated.Guessers | None = None
    copies: of_generated.Copies | None = None
    odd: tuple[of_generated.Odd, ...] | None = None
    region: of_posterior.Region | None = None
    marginals: of_posterior.Marginals | None = None
    joint: of_posterior.Joint | None = None
    priors: tuple[of_posterior.OtherPrior, ...] | None = None
    predictive: tuple[of_posterior.Predictive, ...] | None = None
    sampler: of_posterior.Sampler | None = None
    exposure: of_leakage.Exposure | None = None
    power: of_leakage.Power | None = None
    similar: of_leakage.SimilarRecord | None = None
    most_exposed: tuple[of_leakage.Exposed, ...] | None = None
    defences: of_leakage.Defences | None = None
    mechanism: of_leakage.MechanismRecord | None = None
    covariance: of_leakage.Distances | None = None
    normality: tuple[of_leakage.NotNormal, ...] | None = None
    ranks: of_lineup.Ranks | None = None
    columns: tuple[of_values.Audited, ...] | None = None
    planted: of_lineup.PlantedRecord | None = None
    other: Mapping[str, Any] = field(default_factory=dict)


Measured = Number | str | bool | Mapping[str, Number | str] | tuple[Number | str, ...]
"""A number, a word, or several."""


class Measurements(TypedDict, total=False):
    """What was observed, by name; names that hold a number (tpr_at_0.01) may be added."""

    auc: Share | None
    auc_of_residual_score: Share | None
    agreement: Share | None
    false_positive_rate: Share | None
    false_negative_rate: Share | None
    tpr_at_fpr: Mapping[str, Share | None]
    allowance_epsilon: Number
    allowance_mu: Number
    c_lb: Number
    c_plus_epsilon_lb: Number
    epsilon_tilde: Number
    gamma_star: Number
    gdp_equivalent_epsilon: Number
    heldout_epsilon: Number
    negative_control_epsilon: Number
    negative_control_sight: Number
    direct_epsilon: Number
    one_run_epsilon: Number
    real_nonmembers_c_lb: Number
    real_nonmembers_epsilon: Number
    repetitions_epsilon_mean: Number
    repetitions_epsilon_sd: Number
    residual_c_lb: Number
    guesses: Count
    correct_guesses: Count
    other: Measured


class TrialsRecord(TypedDict, total=False):
    """How many trials there were, and of what."""

    members: Count
    nonmembers: Count
    kept: Count
    counted: Count
    revealed: Count
    other: Measured
