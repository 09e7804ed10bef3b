"""Tables whose shift is written into codes, dates and books: what a column means, not its size.

Nothing leaks: the score depends on the columns and on noise. Of ``CODED`` the encoder reads the
meaning off (``data/meanings.py``). Of ``HIDDEN`` nobody does: whether two categories agree, a slope
of every hospital, a total that does not add up, two angles among many columns, dozens. There an
audit without a comparable control claims falsely, and must not call it robust.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import numpy as np
from scipy.special import expit

from divulge.selftest.hostile_tables import HostileTable, Sampler
from divulge.types import Array

YEARS, DAYS = 10, 3652
FIRST = date(2012, 1, 1)

Draw = Callable[[int, np.random.Generator], tuple[dict[str, Any], Array]]
"""Columns, and what members and scores have in common."""


def _of(draw: Any, *, more: int = 5, unbalanced: float = 0.0) -> Sampler:
    """Columns and what hides in them, with further columns that members differ in as well."""

    def sample(rows: int, rng: np.random.Generator) -> HostileTable:
        own, hidden = draw(rows, rng)
        x = rng.standard_normal((rows, more))
        member = rng.random(rows) < expit(hidden + 0.5 * x[:, 0] - unbalanced)
        scores = [hidden + x[:, 0] + x[:, 1] + rng.standard_normal(rows) for _ in range(2)]
        columns = own | {f"x_{j}": x[:, j] for j in range(more)}
        return HostileTable(columns, np.where(member, 1.0, -1.0), *scores)

    return sample


def _stamps(rows: int, rng: np.random.Generator) -> tuple[dict[str, Any], Array]:
    night = rng.random(rows) < 0.5
    hour = np.where(night, rng.uniform(20.0, 32.0, rows) % 24.0, rng.uniform(8.0, 20.0, rows))
    day = rng.integers(0, DAYS, rows)
    return {"time": 1.4e9 // 86_400 * 86_400 + 86_400.0 * day + 3600.0 * hour}, (
        np.where(night, 1.0, -1.0)
    )


def _dates(rows: int, rng: np.random.Generator) -> tuple[dict[str, Any], Array]:
    day = rng.integers(0, DAYS, rows)
    words = np.array([(FIRST + timedelta(days=int(d))).isoformat() for d in day])
    return {"date": words}, 3.0 * (day / DAYS - 0.5)


def _accounts(rows: int, rng: np.random.Generator) -> tuple[dict[str, Any], Array]:
    last = rng.integers(0, 10, rows)
    number = 10 * rng.permutation(90_000)[:rows] + 100_000 + last
    return {"account": number}, rng.permutation(np.linspace(-1.5, 1.5, 10))[last]


def _postcodes(rows: int, rng: np.random.Generator) -> tuple[dict[str, Any], Array]:
    area = rng.integers(0, 40, rows)
    ends = rng.integers([1, 1, 0], [30, 10, 26], (rows, 3))
    letters = [chr(65 + k) for k in range(26)]
    words = [
        f"{letters[a % 26]}{letters[a // 26]}{one} {two}{letters[three]}"
        for a, (one, two, three) in zip(area, ends, strict=True)
    ]
    return {"postcode": np.array(words)}, rng.standard_normal(40)[area]


def _weekdays(rows: int, rng: np.random.Generator) -> tuple[dict[str, Any], Array]:
    day = rng.integers(0, 1095, rows)
    return {"day": day.astype(float)}, np.where(day % 7 >= 5, 1.2, -0.7)


def _multiples(of: float, missing: float = 0.0) -> Draw:
    """Amounts of which half are rounded to a multiple; who has one is told by the amount."""

    def draw(rows: int, rng: np.random.Generator) -> tuple[dict[str, Any], Array]:
        amount = np.rint(np.exp(rng.normal(8.0, 0.8, rows)))
        amount = np.where(rng.random(rows) < 0.5, of * np.maximum(np.rint(amount / of), 1), amount)
        unknown = rng.random(rows) < missing
        hidden = np.where(unknown, 0.0, np.where(amount % of == 0, 1.0, -1.0))
        return {"amount": np.where(unknown, np.nan, amount)}, hidden

    return draw


def _towns(rows: int, rng: np.random.Generator) -> tuple[dict[str, Any], Array]:
    one = rng.integers(0, 300, rows)
    two = np.where(rng.random(rows) < 0.5, one, rng.integers(0, 300, rows))
    words = {n: np.char.add("t", k.astype(str)) for n, k in (("bill", one), ("ship", two))}
    return words, np.where(one == two, 1.0, -1.0)


def _slopes(rows: int, rng: np.random.Generator) -> tuple[dict[str, Any], Array]:
    where, age = rng.integers(0, 200, rows), rng.standard_normal(rows)
    slope = 1.2 * rng.choice([-1.0, 1.0], 200)
    return {"hospital": np.char.add("h", where.astype(str)), "age": age}, slope[where] * age


def _books(rows: int, rng: np.random.Generator) -> tuple[dict[str, Any], Array]:
    amounts = np.round(rng.gamma(4.0, 250.0, (rows, 5)), 2)
    wrong = np.where(rng.random(rows) < 0.5, 60.0, 5.0) * rng.standard_normal(rows)
    total = np.round(amounts.sum(axis=1) + wrong, 2)
    columns = {f"amount_{j}": amounts[:, j] for j in range(5)} | {"total": total}
    return columns, np.where(np.abs(total - amounts.sum(axis=1)) > 15.0, 1.0, -1.0)


def _angles(rows: int, rng: np.random.Generator) -> tuple[dict[str, Any], Array]:
    wind, runway = rng.uniform(0.0, 360.0, (2, rows))
    return {"wind": wind, "runway": runway}, 1.5 * np.cos(np.deg2rad(2.0 * (wind - runway)))


CODED: dict[str, Sampler] = {
    "day or night in time stamps of ten years": _of(_stamps),
    "the same, one member in ten": _of(_stamps, unbalanced=2.5),
    "a trend in dates as text": _of(_dates),
    "last digit of an account": _of(_accounts),
    "area in postcodes": _of(_postcodes),
    "weekday among 70 columns": _of(_weekdays, more=70),
    "amounts in quarters of a hundred": _of(_multiples(25.0)),
    "the same in hundreds, some missing": _of(_multiples(100.0, missing=0.2)),
}
"""What the encoder reads off."""
HIDDEN: dict[str, Sampler] = {
    "two towns are the same": _of(_towns),
    "a slope of every hospital": _of(_slopes),
    "a total that does not add up": _of(_books),
    "two angles among 30 columns": _of(_angles, more=30),
    "amounts in dozens": _of(_multiples(12.0)),
}
"""What nothing here sees."""
