"""How rows are judged: exact values, doubtful rows that are played on, families."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest

from divulge import selftest
from divulge.report.selftest_text import print_selftest
from divulge.selftest.case import Case, Check
from divulge.selftest.run import AGAIN


@dataclass(frozen=True)
class Coin:
    """A game that makes a false claim with this probability."""

    rate: float

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        return float(rng.random() < self.rate)


def case(name: str, rate: float, number: int = 0) -> Case:
    return Case(name, "epsilon", 0.0, "coin", f"number {number}", Coin(rate), 0.0)


def check(value: float, attained: float = 0.0) -> Check:
    return Check("some", "epsilon", 0.0, "edge", "all", lambda e: [value], attained=attained)


@pytest.mark.parametrize(
    ("value", "attained", "verdict"),
    [
        (0.05, 0.0, "holds"),
        (0.05, 0.9, "holds"),
        (0.0501, 0.0, "fails"),
        (0.04, 0.9, "too low"),
        (float("nan"), 0.0, "fails"),
    ],
)
def test_an_exact_value_is_compared_with_the_stated_error(value, attained, verdict):
    (row,) = selftest.run([check(value, attained)])
    assert row.verdict == verdict
    assert row.holds == (verdict == "holds")
    assert json.loads(json.dumps(row.to_json(), allow_nan=False))["exact"]["limit"] == 0.05


def test_a_doubtful_row_is_played_on_and_convicted():
    (row,) = selftest.run([case("coins", 0.09)], repetitions=200, among=200)
    assert row.repetitions == (1 + AGAIN) * 200
    assert not row.holds


def test_a_sound_row_that_looks_bad_is_acquitted_by_the_new_games():
    rows = selftest.run([case(f"coins{k}", 0.05, k) for k in range(60)], repetitions=100)
    again = [row for row in rows if row.repetitions > 100]
    assert again
    assert all(row.holds for row in rows)


def test_a_small_excess_in_every_row_convicts_the_family():
    chosen = [case("coins", 0.075, k) for k in range(30)]
    *rows, family = selftest.run(chosen, repetitions=100, among=1000)
    assert len(rows) == 30
    assert (family.bound, family.mechanism, family.repetitions) == ("families", "coins", 3000)
    assert not family.holds


def test_the_table_shows_exact_values_games_and_families(capsys):
    chosen = [check(0.0512), case("coins", 0.05), case("coins", 0.05, 1)]
    print_selftest(selftest.run(chosen, repetitions=20))
    text = capsys.readouterr().out
    for words in ("computed exactly", "0.051200", "FAILS", "families", "1 of 4 rows FAIL"):
        assert words in text
