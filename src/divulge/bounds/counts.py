"""The three numbers that counted guesses come down to, checked once."""

from __future__ import annotations

import operator

from divulge.errors import InputError, require, require_probability

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
