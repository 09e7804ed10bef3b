"""What only the synthetic game writes: members against generated records."""

from __future__ import annotations

from dataclasses import dataclass

from divulge.result.form import Count, Counts, Number, Record, Series, Share, Shares


@dataclass(frozen=True, kw_only=True)
class Guesser(Record):
    """What one guesser finds at every number of guesses."""

    recall: Shares
    precision: Shares
    guesses: Counts
    lower: Series


@dataclass(frozen=True, kw_only=True)
class RecallRecord(Record):
    """Baseline and attack."""

    baseline: Guesser
    attack: Guesser


@dataclass(frozen=True, kw_only=True)
class Measurement(Record):
    """PANORAMIA's two bounds, their difference, and what it means."""

    c_lb: Number
    c_plus_epsilon_lb: Number
    epsilon_tilde: Number
    meaning: str
    rule: str
    gamma: Number = 0.0
    """Mass of the data on which the generator need not be close."""


@dataclass(frozen=True, kw_only=True)
class RuleRecord(Record):
    """The same figures under one rule for the numbers of guesses that are tried."""

    rule: str
    c_lb: Number
    c_plus_epsilon_lb: Number
    epsilon_tilde: Number


@dataclass(frozen=True, kw_only=True)
class Relaxed(Record):
    """The same figures if a few records are exempt."""

    gamma: Number
    delta: Number
    c_lb: Number
    c_plus_epsilon_lb: Number
    epsilon_tilde: Number


@dataclass(frozen=True, kw_only=True)
class Guessers(Record):
    """Who made the records, and who guessed."""

    generator: str
    helper: str
    baseline: str
    attack: str


@dataclass(frozen=True, kw_only=True)
class Copies(Record):
    """Records that stand twice."""

    generated_equal_to_a_member: Count
    members_equal_to_another_member: Share


@dataclass(frozen=True, kw_only=True)
class Odd(Record):
    """What is odd about the generated records."""

    remark: str


@dataclass(frozen=True, kw_only=True)
class Spread(Record):
    """Mean, t-interval and single values over repeats."""

    mean: Number
    low: Number
    high: Number
    values: Series


@dataclass(frozen=True, kw_only=True)
class Repeats(Record):
    """Each figure over other splits and coin flips."""

    count: Count
    c_lb: Spread
    c_plus_epsilon_lb: Spread
    epsilon_tilde: Spread
