"""What a value means beyond its size: a weekday, an hour, a last digit, how round it is, a code.

Learners of smooth functions and of boxes do not find the hour of day in a time stamp of ten years,
the weekday in a day number, the channel in the last digit of an account, who rounded an income, or
the area in a postcode of which every one is rare. What members and non-members differ in is often
just that. So these become categories of their own, functions of the column alone, which reach the
nuisance models as the levels of any other category do (``shift/levels.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from divulge.types import Array

Codes: TypeAlias = npt.NDArray[np.int32]
Meanings: TypeAlias = tuple[tuple[str, Codes], ...]
"""What is read off a column, by name, as codes of levels."""

MANY = 200
"""A column of whole numbers with more values than that may be a code or a count of days."""
UNITS = (1.0, 1e3, 1e6, 1e9)
"""Time stamps are seconds since 1970, or thousandths, millionths, billionths of them."""
EARLIEST, LATEST = 3e8, 4.2e9
"""In seconds: 1979 to 2103. Amounts of that size are taken for time stamps, which costs little."""
DAY, WEEK = 86_400.0, 604_800.0
OF_A_LEVEL = 30
"""Rows that a beginning of words has on average, at least."""
ENDINGS = 36
MOST_ZEROS = 6
_LONGEST = 8
_LEAST_LETTERS = 4


def of_numbers(values: Array) -> Meanings:
    """Of numbers, none missing: a calendar's, or a code's last digits and how round it is."""
    whole = bool(np.all(values == np.rint(values)))
    size = float(np.abs(values).max(initial=0.0))
    unit = next((u for u in UNITS if EARLIEST * u <= size <= LATEST * u), None)
    if unit is not None and values.min() >= EARLIEST * unit and np.ptp(values) > WEEK * unit:
        return (*of_time(values / unit), *(_digits(values) if whole else ()))
    return _digits(values) if whole and size < 2.0**53 else ()


def of_time(seconds: Array) -> Meanings:
    """Weekday, month and, unless all are midnights, the hour; seconds since 1970, in UTC."""
    days = np.floor(seconds / DAY)
    month = (days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)) % 12
    out = [("weekday", days % 7), ("month", month)]
    hour = np.floor((seconds - days * DAY) / 3600.0)
    if np.ptp(hour) > 0.0:
        out.append(("hour", hour))
    return _several(out)


def of_words(words: npt.NDArray[np.str_]) -> Meanings:
    """Of codes as text: the longest beginning that is common enough, and the last character."""
    out: list[tuple[str, npt.NDArray[np.int64]]] = []
    most = max(words.size // OF_A_LEVEL, 2)
    for length in range(_LONGEST, 0, -1):
        _, codes = np.unique(words.astype(f"<U{length}"), return_inverse=True)
        if 2 <= codes.max(initial=0) + 1 <= most:
            out.append(("beginning", codes))
            break
    _, codes = np.unique([word[-1:] for word in words], return_inverse=True)
    if codes.max(initial=0) < ENDINGS:
        out.append(("last character", codes))
    return _several(out)


def seconds_of(words: Sequence[str | None]) -> Array | None:
    """Dates and times as ISO 8601 writes them, as seconds since 1970; None if any is no date.

    A missing one is NaN. A time without a zone is taken for UTC.
    """
    known: dict[str, float] = {}
    out = np.full(len(words), np.nan)
    for row, word in enumerate(words):
        if word is None:
            continue
        if word not in known:
            text = word.strip()
            if len(text) < _LEAST_LETTERS + 4 or not text[:_LEAST_LETTERS].isdecimal():
                return None
            if "-" not in text[_LEAST_LETTERS:]:  # eight digits may be any number
                return None
            try:
                time = datetime.fromisoformat(text)
            except ValueError:
                return None
            known[word] = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
        out[row] = known[word]
    return None if np.isnan(out).all() else out


def _digits(values: Array) -> Meanings:
    """The last digits, the zeros at the end, and the place in a week if the numbers count days.

    One digit alone would tell most of who rounded, and hide the rest from every other guard.
    """
    if np.unique(values).size <= MANY:
        return ()
    zeros = sum((values % 10.0**k == 0).astype(np.int64) for k in range(1, MOST_ZEROS + 1))
    return _several(
        [
            ("last digit", np.abs(values) % 10),
            ("last two digits", np.abs(values) % 100),
            ("zeros at the end", np.asarray(zeros)),
            ("place in a week", values % 7),
        ]
    )


def _several(found: Sequence[tuple[str, npt.NDArray[np.generic]]]) -> Meanings:
    """As codes from 0 on; what has one level says nothing."""
    coded = [(name, np.unique(v, return_inverse=True)[1].ravel()) for name, v in found]
    return tuple((name, codes.astype(np.int32)) for name, codes in coded if codes.max(initial=0))
