"""Counts that a user brings, checked once: of guesses, and of the errors of attacks."""

from __future__ import annotations

import operator

import numpy as np
import numpy.typing as npt

from divulge.errors import InputError, require, require_probability
from divulge.types import Array

COLUMNS = ("false_positives", "negatives", "false_negatives", "positives")
MOST_DECISIONS = 1e9
"""Most models of a kind: beyond, the grid cannot resolve the likelihood."""
MOST = 10**12
"""Most trials: beyond, tail probabilities lose the digits that decide."""


def check_counts(trials: int, guesses: int, correct: int, error: float) -> tuple[int, int, int]:
    """``(m, r, c)`` as ints with ``0 <= c <= r <= m`` and ``m >= 1``; error in (0, 1)."""
    whole = []
    for name, value in (("trials", trials), ("guesses", guesses), ("correct", correct)):
        try:
            whole.append(operator.index(value))
        except TypeError:
            raise InputError(f"{name} must be a whole number. Found {value!r}.") from None
    m, r, c = whole
    require(1 <= m <= MOST, f"trials must be at least 1 and at most {MOST:.0e}. Found {m}.")
    require(0 <= r <= m, f"guesses must lie between 0 and trials = {m}. Found {r}.")
    require(0 <= c <= r, f"correct must lie between 0 and guesses = {r}. Found {c}.")
    require_probability("error", error)
    return m, r, c


def check_delta(delta: float) -> float:
    """A delta in [0, 1)."""
    require_probability("delta", delta, zero=True)
    return float(delta)


def check_error_counts(counts: npt.ArrayLike, *, whole: bool = True) -> Array:
    """Rows of (false positives, negatives, false negatives, positives), or InputError."""
    table = np.atleast_2d(np.asarray(counts, dtype=float))
    require(
        table.ndim == 2 and table.shape[1] == 4 and table.shape[0] >= 1,
        "Error counts are rows of four numbers: false positives, negatives, false negatives, "
        f"positives. Found the shape {np.shape(counts)}.",
    )
    for row, values in enumerate(table):
        for name, value in zip(COLUMNS, values, strict=True):
            sound = np.isfinite(value) and value >= 0.0 and (not whole or value == int(value))
            kind = "a whole number, 0 or more" if whole else "0 or more"
            require(bool(sound), f"{name} must be {kind}. Found {value:g} in row {row}.")
        for errors, total in ((0, 1), (2, 3)):
            name, of = COLUMNS[errors], COLUMNS[total]
            found = f"Found {values[errors]:g} of {values[total]:g} in row {row}."
            require(bool(values[total] > 0.0), f"{of} must be at least 1. {found}")
            require(
                bool(values[total] <= MOST_DECISIONS),
                f"{of} must be at most {MOST_DECISIONS:.0e}. {found}",
            )
            require(bool(values[errors] <= values[total]), f"{name} cannot exceed {of}. {found}")
    return table
