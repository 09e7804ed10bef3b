"""What was seen of one bound on one mechanism, as a row of the table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betainc, betaincinv

from divulge.selftest.case import Case, Check
from divulge.types import Array

ROUNDING = 1e-9
"""Relative error of the computation itself that a check forgives."""


@dataclass(frozen=True)
class ExactRow:
    """What a check computed."""

    quantity: str
    lowest: float
    highest: float
    limit: float
    attained: float
    """The share of the limit that the lowest value must reach."""

    @property
    def valid(self) -> bool:
        """Whether nothing is above the limit; a value that is not a number is."""
        return bool(self.highest <= self.limit * (1.0 + ROUNDING))

    @property
    def sharp(self) -> bool:
        """Whether the bound says as much as it may."""
        return bool(self.lowest >= self.attained * self.limit * (1.0 - ROUNDING))


@dataclass(frozen=True)
class Row:
    """A row of games, of a check (``exact``), or of a family."""

    bound: str
    parameter: str
    delta: float | None
    mechanism: str
    setting: str
    claimed_error: float
    repetitions: int
    false_claims: int
    rate_low: float
    rate_high: float
    mean_bound: float | None
    truth: float | None
    holds: bool
    exact: ExactRow | None = None

    @property
    def rate(self) -> float:
        """Observed rate of false claims, or the exact value."""
        return self.exact.highest if self.exact else self.false_claims / self.repetitions

    @property
    def power(self) -> float | None:
        """Mean bound over truth; None where the truth is 0 or infinite."""
        if self.mean_bound is None or not self.truth or math.isinf(self.truth):
            return None
        return self.mean_bound / self.truth

    @property
    def verdict(self) -> str:
        """holds, fails, too low, or power only."""
        if self.exact is not None and self.exact.valid:
            return "holds" if self.exact.sharp else "too low"
        if self.truth is not None and math.isinf(self.truth):
            return "power only"
        return "holds" if self.holds else "fails"

    def to_json(self) -> dict[str, Any]:
        """One entry of ``rows``; an infinite truth is null."""
        exact = self.exact
        return {
            "bound": self.bound,
            "parameter": self.parameter,
            "delta": self.delta,
            "mechanism": self.mechanism,
            "setting": self.setting,
            "claimed_error": self.claimed_error,
            "repetitions": self.repetitions,
            "false_claims": self.false_claims,
            "rate": _finite(self.rate),
            "rate_low": _finite(self.rate_low),
            "rate_high": _finite(self.rate_high),
            "mean_bound": _finite(self.mean_bound),
            "truth": _finite(self.truth),
            "power": self.power,
            "exact": None
            if exact is None
            else {
                "quantity": exact.quantity,
                "lowest": _finite(exact.lowest),
                "highest": _finite(exact.highest),
                "limit": exact.limit,
                "least": exact.attained * exact.limit,
            },
            "verdict": self.verdict,
        }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def played(case: Case, claims: Array, false: int, error: float, holds: bool) -> Row:
    """The row of games that were played."""
    low, high = exact_interval(false, claims.size)
    return Row(
        bound=case.bound,
        parameter=case.parameter,
        delta=case.delta,
        mechanism=case.mechanism,
        setting=case.setting,
        claimed_error=error,
        repetitions=claims.size,
        false_claims=false,
        rate_low=low,
        rate_high=high,
        mean_bound=float(np.mean(np.sort(claims))),
        truth=case.truth,
        holds=holds,
    )


def checked(case: Check, values: Array, error: float) -> Row:
    """The row of a check."""
    limit = error if case.limit is None else case.limit
    low, high = float(values.min()), float(values.max())
    exact = ExactRow(case.quantity, low, high, limit, case.attained)
    return Row(
        bound=case.bound,
        parameter=case.parameter,
        delta=case.delta,
        mechanism=case.mechanism,
        setting=case.setting,
        claimed_error=error,
        repetitions=values.size,
        false_claims=0,
        rate_low=low,
        rate_high=high,
        mean_bound=None,
        truth=None,
        holds=exact.valid and exact.sharp,
        exact=exact,
    )


def surprise(false: int, games: int, error: float) -> float:
    """``P(Bin(games, error) >= false)``: how improbable so many false claims would be."""
    return 1.0 if false == 0 else float(betainc(false, games - false + 1.0, error))


def exact_interval(hits: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Clopper-Pearson interval of a rate."""
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1.0, tail))
    high = 1.0 if hits == n else float(betaincinv(hits + 1.0, n - hits, 1.0 - tail))
    return low, high
