"""Tables with structure that no common learner sees: dates, codes, places, lengths, rounding.

Nothing leaks: the score depends on the columns and on noise, never on membership. What members and
scores have in common hides in a single column at high frequency, in two columns at once, in the
difference of two columns, in cells of equal records, or in heavy tails.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from divulge.selftest.hostile_tables import HostileTable, Sampler
from divulge.types import Array

Draw = Callable[[int, np.random.Generator], tuple[dict[str, Array], Array]]
"""Columns, and what members and scores have in common."""


def _of(draw: Draw, *, turned: bool = False) -> Sampler:
    """A table of that kind with five further columns; ``turned``: members score lower."""

    def sample(rows: int, rng: np.random.Generator) -> HostileTable:
        own, hidden = draw(rows, rng)
        more = rng.standard_normal((rows, 5))
        member = rng.random(rows) < expit(hidden + 0.5 * more[:, 0])
        base = (-hidden if turned else hidden) + more[:, 0] + more[:, 1]
        scores = [base + rng.standard_normal(rows) for _ in range(2)]
        columns = own | {f"x_{j}": more[:, j] for j in range(5)}
        return HostileTable(columns, np.where(member, 1.0, -1.0), *scores)

    return sample


def _weekday(rows: int, rng: np.random.Generator) -> tuple[dict[str, Array], Array]:
    day = rng.integers(0, 1095, rows)
    return {"day": day.astype(float)}, np.where(day % 7 >= 5, 1.2, -0.7)


def _hour(rows: int, rng: np.random.Generator) -> tuple[dict[str, Array], Array]:
    day = rng.uniform(0.0, 60.0, rows)
    return {"time": 1.7e9 + 86_400.0 * day}, np.sin(2.0 * np.pi * day)


def _codes(rows: int, rng: np.random.Generator) -> tuple[dict[str, Array], Array]:
    known = rng.permutation(np.arange(1000, 9999))[:300]
    which = rng.integers(0, 300, rows)
    return {"code": known[which].astype(float)}, 0.8 * rng.standard_normal(300)[which]


def _rounding(rows: int, rng: np.random.Generator) -> tuple[dict[str, Array], Array]:
    income = np.round(np.exp(rng.normal(8.0, 0.8, rows)), 0).astype(float)
    rounded = rng.random(rows) < 0.5
    income = np.where(rounded, 100.0 * np.maximum(np.round(income / 100.0), 1.0), income)
    return {"income": income}, np.where(rounded, 1.0, -1.0)


def _towns(rows: int, rng: np.random.Generator) -> tuple[dict[str, Array], Array]:
    which = rng.integers(0, 400, rows)
    place = rng.uniform(size=(400, 2))[which] + 0.003 * rng.standard_normal((rows, 2))
    return {"lat": place[:, 0], "lon": place[:, 1]}, rng.standard_normal(400)[which]


def _board(rows: int, rng: np.random.Generator) -> tuple[dict[str, Array], Array]:
    place = rng.uniform(size=(rows, 2))
    white = np.floor(10.0 * place).sum(axis=1) % 2 == 0
    return {"across": place[:, 0], "up": place[:, 1]}, np.where(white, 1.0, -1.0)


def _stays(rows: int, rng: np.random.Generator) -> tuple[dict[str, Array], Array]:
    begin, length = rng.uniform(0.0, 365.0, rows), np.exp(rng.normal(0.0, 0.7, rows))
    return {"begin": begin, "end": begin + length}, 1.5 * (np.log(length) ** 2 - 0.5)


def _sensors(rows: int, rng: np.random.Generator) -> tuple[dict[str, Array], Array]:
    error = rng.standard_normal((rows, 8))
    shown = rng.standard_normal((rows, 1)) + 0.1 * error
    return {f"sensor_{j}": shown[:, j] for j in range(8)}, error[:, 0] * error[:, 1]


def _answers(rows: int, rng: np.random.Generator) -> tuple[dict[str, Array], Array]:
    given = (rng.random((rows, 10)) < 0.5).astype(float)
    cell = (given @ 2.0 ** np.arange(10)).astype(np.intp)
    return {f"answer_{j}": given[:, j] for j in range(10)}, rng.standard_normal(1024)[cell]


def _ratios(rows: int, rng: np.random.Generator) -> tuple[dict[str, Array], Array]:
    z = rng.standard_normal((rows, 12))
    waves = sum(np.sin(2.5 * (z[:, 2 * j] - z[:, 2 * j + 1])) for j in range(6))
    amounts = {f"amount_{j}": np.exp(2.5 * z[:, j]) for j in range(12)}
    return amounts, np.asarray(waves) / np.sqrt(3.0)


FRESH: dict[str, Sampler] = {
    "weekday in a day number": _of(_weekday),
    "hour in a time stamp": _of(_hour),
    "300 codes kept as a number": _of(_codes),
    "rounded incomes": _of(_rounding),
    "400 towns by latitude and longitude": _of(_towns),
    "checkerboard of two columns": _of(_board),
    "lengths of stays": _of(_stays),
    "disagreement of eight sensors": _of(_sensors),
    "patterns of ten answers": _of(_answers),
    "patterns of ten answers, members lower": _of(_answers, turned=True),
    "ratios of amounts": _of(_ratios),
}
"""What an attacker with fresh eyes broke the audit with, before neighbours in few columns."""
