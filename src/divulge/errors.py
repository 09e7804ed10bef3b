"""The errors a user can meet, and the exit code of each.

    DivulgeError                exit 2
    ├── InputError              exit 2   a value, file, column or row is wrong (also a ValueError)
    ├── MissingExtra            exit 2   an extra is not installed (also an ImportError)
    ├── WorkersLost             exit 2   workers died again and again
    └── CannotConclude          exit 3   the data cannot support any statement

A message says what is wrong, where, and what to do about it.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection


class DivulgeError(Exception):
    """Base of every error that divulge raises on purpose."""

    exit_code = 2


class InputError(DivulgeError, ValueError):
    """The input contradicts itself or the documented form."""


class MissingExtra(DivulgeError, ImportError):
    """An optional dependency is needed; names the extra that installs it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"This needs the package {package!r}, which is not installed. "
            f"Install it with: pip install 'divulge[{extra}]'"
        )
        self.package = package
        self.extra = extra


class WorkersLost(DivulgeError):
    """Processes of long work died more often than it is worth trying again."""


class CannotConclude(DivulgeError):
    """The data are well-formed, but no honest statement follows from them."""

    exit_code = 3


class Note(UserWarning):
    """Something the user should know that is no error: an option without effect, an old name."""


def require(condition: bool, message: str) -> None:
    """Raise InputError(message) unless the condition holds."""
    if not condition:
        raise InputError(message)


def require_probability(name: str, value: float, *, zero: bool = False) -> None:
    """Check that value lies in (0, 1), or in [0, 1) with zero=True; NaN never passes."""
    low = value >= 0.0 if zero else value > 0.0
    interval = "[0, 1)" if zero else "(0, 1)"
    require(low and value < 1.0, f"{name} must lie in {interval}. Found {value!r}.")


def require_choice(name: str, value: str, allowed: Collection[str]) -> None:
    """Check that a word is one of those that are known."""
    require(value in allowed, f"Unknown {name} {value!r}. Choose from {', '.join(allowed)}.")


def require_seed(seed: int, name: str = "seed") -> None:
    """Check that a seed is a whole number of at least 0, as numpy's generators ask for."""
    whole = isinstance(seed, numbers.Integral) and not isinstance(seed, bool)
    require(whole and seed >= 0, f"{name} must be a whole number of at least 0. Found {seed!r}.")
