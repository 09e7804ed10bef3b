"""What only the leakage game writes: how exposed single records are through a mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from divulge.result.form import Count, Counts, Number, Record, Shares


@dataclass(frozen=True, kw_only=True)
class Exposure(Record):
    """How many records have which advantage."""

    edges: Shares
    records: Counts
    percentile: float
    now: float
    wanted: float


@dataclass(frozen=True, kw_only=True)
class Power(Record):
    """True against false positives of the best attack on three records."""

    fpr: Shares
    median: Shares
    p99: Shares
    largest: Shares


@dataclass(frozen=True, kw_only=True)
class SimilarRecord(Record):
    """What the nearest reference record still reveals."""

    compared: Count
    searched: Count
    median_share: Number
    largest_share: Number
    own: Shares
    by_similar: Shares


@dataclass(frozen=True, kw_only=True)
class Defences(Record):
    """The noise, or the sampling rate, that would bring the exposure down."""

    advantage: float
    percentile: float
    now: float
    noise: float
    noise_over_spread: float
    rate: float


@dataclass(frozen=True, kw_only=True)
class MechanismRecord(Record):
    """What is released."""

    mechanism: str
    noise: Number
    """None where every column has its own."""
    rate: Number
    noise_by_column: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Distances(Record):
    """How distances between records were measured."""

    covariance: str
    shrinkage: Number
    correlated: Count
    shared_with_reference: Count
    dropped_columns: tuple[str, ...]
    distance_ratio: Number = None


@dataclass(frozen=True, kw_only=True)
class NotNormal(Record):
    """A column whose mean is not close to normal."""

    column: str
    skewness_over_root: Number
    expected_count: Number = None


Exposed = Mapping[str, Number | str]
"""One record with every figure of it, and its id if asked for; names hold the rates asked for."""
