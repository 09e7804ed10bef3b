"""What only the attribute game writes: its proxy, its replays, and what an error of it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from divulge.result.form import Count, NonNegative, Number, Record, Series, Share


@dataclass(frozen=True, kw_only=True)
class CalibrationRecord(Record):
    """Of the values given about this probability, the share that was true."""

    predicted: Share
    observed: Share
    count: Count


@dataclass(frozen=True, kw_only=True)
class Proxy(Record):
    """How good the proxy is beside the target."""

    log_loss: Mapping[str, Number]
    calibration: Mapping[str, tuple[CalibrationRecord, ...]]
    agreement: Share
    classes: Count
    value: str


@dataclass(frozen=True, kw_only=True)
class Repetitions(Record):
    """The bounds of every replay of the coin flips, and of all combined."""

    count: Count
    epsilon: Series
    mu: Series
    combined_epsilon: Number
    combined_mu: Number
    combination: str


@dataclass(frozen=True, kw_only=True)
class Audited(Record):
    """What was found of one of several protected columns."""

    value: str
    status: str
    robust: bool
    classes: Count
    epsilon: Number
    mu: Number


@dataclass(frozen=True, kw_only=True)
class Budget(Record):
    """The bounds if the proxy may be off by tau in total variation."""

    tau: NonNegative
    epsilon: Number
    mu: Number
