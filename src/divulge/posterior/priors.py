"""Priors of epsilon and of the attacks' strength.

The published ones are a half-normal with variance 10 for epsilon and a uniform strength
(MCMC-DP-Est, Sections 2.1.3 and 4.2). A strength may also be fixed: 1 says that every attack was
the strongest possible on the worst pair of dataset and record (Remark 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from divulge.errors import InputError, require
from divulge.types import Array

VARIANCE = 10.0
FAMILIES = ("half-normal", "exponential", "uniform", "log-normal")
_TAIL = 1e-13
_LARGEST = 600.0


@dataclass(frozen=True)
class EpsilonPrior:
    """A prior of epsilon on [0, infinity).

    ``half-normal`` has a variance (of the normal before it was folded), ``exponential`` a mean,
    ``uniform`` a largest value, ``log-normal`` a median and a spread of log epsilon.
    """

    family: str = "half-normal"
    scale: float = VARIANCE
    spread: float = 1.0

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise InputError(
                f"Unknown prior {self.family!r} of epsilon. Choose from {', '.join(FAMILIES)}."
            )
        sound = 1e-4 <= self.scale <= 1e6 and 1e-2 <= self.spread <= 10.0
        require(sound, f"The numbers of the prior {self} must be positive and of sensible size.")
        require(
            float(self.quantile(1.0 - 1e-3)) <= _LARGEST,
            f"The prior {self} holds more than 0.1% above epsilon {_LARGEST:g}. Make it narrower.",
        )

    @classmethod
    def parse(cls, text: str) -> EpsilonPrior:
        """``half-normal:10``, ``exponential:3``, ``uniform:20`` or ``log-normal:1,1.5``."""
        family, _, rest = text.partition(":")
        try:
            given = [float(part) for part in rest.split(",")] if rest else []
        except ValueError:
            given = [math.nan]
        family = family.strip().lower()
        most = 2 if family == "log-normal" else 1
        if family not in FAMILIES or len(given) > most or not all(map(math.isfinite, given)):
            raise InputError(
                f"Cannot read the prior {text!r}. Write half-normal:10 (variance), exponential:3 "
                "(mean), uniform:20 (largest) or log-normal:1,1.5 (median, spread of the log)."
            )
        if not given:
            return cls(family)
        return cls(family, *given)

    def __str__(self) -> str:
        if self.family == "log-normal":
            return f"log-normal:{self.scale:g},{self.spread:g}"
        return f"{self.family}:{self.scale:g}"

    def log_density(self, e: Array) -> Array:
        """The logarithm of the density."""
        e = np.asarray(e, dtype=float)
        if self.family == "half-normal":
            constant = 0.5 * math.log(2.0 / (math.pi * self.scale))
            return np.asarray(constant - 0.5 * e**2 / self.scale)
        if self.family == "exponential":
            return np.asarray(-e / self.scale - math.log(self.scale))
        if self.family == "uniform":
            return np.where(e <= self.scale, -math.log(self.scale), -np.inf)
        log_e = np.log(np.maximum(e, 1e-300))
        z = (log_e - math.log(self.scale)) / self.spread
        density = -0.5 * z**2 - math.log(self.spread * math.sqrt(2.0 * math.pi)) - log_e
        return np.where(e > 0.0, density, -np.inf)

    def quantile(self, q: Array | float) -> Array:
        """The inverse of the distribution function."""
        q = np.asarray(q, dtype=float)
        if self.family == "half-normal":
            return np.asarray(math.sqrt(self.scale) * special.ndtri(0.5 * (1.0 + q)))
        if self.family == "exponential":
            return np.asarray(-self.scale * np.log1p(-q))
        if self.family == "uniform":
            return np.asarray(self.scale * q)
        return np.asarray(self.scale * np.exp(self.spread * special.ndtri(q)))

    def end(self, reach: float) -> float:
        """Where a grid may end: beyond the counts' reach the prior holds next to nothing.

        A uniform prior ends where it ends. No grid goes beyond 600.
        """
        if self.family == "uniform":
            return min(self.scale, _LARGEST)
        return min(max(float(self.quantile(1.0 - _TAIL)), reach), _LARGEST)


@dataclass(frozen=True)
class StrengthPrior:
    """``Beta(a, b)`` on (0, 1), or one fixed value."""

    a: float = 1.0
    b: float = 1.0
    fixed: float | None = None

    def __post_init__(self) -> None:
        if self.fixed is not None:
            sound = 0.0 <= self.fixed <= 1.0
            require(sound, f"The strength must lie in [0, 1]. Found {self.fixed!r}.")
        sound = all(0.01 <= value <= 1e6 for value in (self.a, self.b))
        require(sound, f"Beta({self.a:g}, {self.b:g}): both numbers must lie in [0.01, 1e6].")

    @classmethod
    def parse(cls, text: str) -> StrengthPrior:
        """``1`` or ``0.5`` fixes the strength; ``beta:2,1`` is a prior."""
        family, sign, rest = text.partition(":")
        try:
            given = [float(part) for part in (rest if sign else text).split(",")]
        except ValueError:
            given = []
        beta = bool(sign) and family.strip().lower() == "beta" and len(given) == 2
        if not all(map(math.isfinite, given)) or not (beta or (not sign and len(given) == 1)):
            raise InputError(
                f"Cannot read the strength {text!r}. Write a number from 0 to 1, or beta:1,1."
            )
        return cls(*given) if beta else cls(fixed=given[0])

    def __str__(self) -> str:
        return f"beta:{self.a:g},{self.b:g}" if self.fixed is None else f"{self.fixed:g}"

    @property
    def smooth(self) -> bool:
        """Whether the density is finite at both ends."""
        return self.a >= 1.0 and self.b >= 1.0

    def log_density(self, s: Array) -> Array:
        """The logarithm of the density of a prior that is not fixed."""
        s = np.asarray(s, dtype=float)
        return np.asarray(
            special.xlogy(self.a - 1.0, s)
            + special.xlog1py(self.b - 1.0, -s)
            - special.betaln(self.a, self.b)
        )

    def cdf(self, s: Array) -> Array:
        """The distribution function of a prior that is not fixed."""
        return np.asarray(special.betainc(self.a, self.b, np.clip(s, 0.0, 1.0)))
