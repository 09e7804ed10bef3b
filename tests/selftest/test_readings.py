"""Rows that look at one game: it is played once, and nobody takes its claims for independent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from divulge import selftest
from divulge.errors import InputError
from divulge.selftest import ledger, uses
from divulge.selftest.accumulate import accumulate
from divulge.selftest.case import Case
from divulge.selftest.games import Games, parts
from divulge.selftest.readings import Reading, Together, by_name, game_of, layers, together
from divulge.selftest.row import surprise
from divulge.selftest.standing import families, standings
from divulge.selftest.wealth import log_wealth
from divulge.work import Engine

NAMES = ("mu", "epsilon", "delta")


@dataclass(frozen=True)
class Thrice:
    """A game with three claims, which are false together."""

    rate: float
    number: int = 0
    played: ClassVar[list[int]] = []

    def __call__(self, error: float, rng: np.random.Generator) -> dict[str, float]:
        self.played.append(self.number)
        return dict.fromkeys(NAMES, float(rng.random() < self.rate))


@pytest.fixture(autouse=True)
def nothing_played():
    Thrice.played.clear()


def rows(rate: float, games: int = 1) -> list[Case]:
    return [
        Case(f"coins {name}", "epsilon", 0.0, "coin", f"{k}", Reading(Thrice(rate, k), name), 0.0)
        for k in range(games)
        for name in NAMES
    ]


def test_a_game_is_played_once_for_all_of_its_rows():
    found = selftest.run(rows(0.2, 2), repetitions=30, among=10**6)
    assert len(Thrice.played) == 2 * 30 * (1 + sum(r.repetitions > 30 for r in found[:6]) // 6 * 8)
    assert found[0].false_claims == found[1].false_claims > 0


def test_a_row_has_the_same_games_alone_and_in_company():
    chosen = rows(0.3, 2)
    (alone,) = selftest.run(chosen[4:5], repetitions=40)
    company = selftest.run(chosen, repetitions=40)
    assert alone.false_claims == company[4].false_claims
    assert company[0].false_claims != company[4].false_claims  # another game has other numbers


def test_the_ledger_plays_once_and_every_row_has_its_entry(tmp_path):
    chosen = rows(0.02, 2)
    accumulate(tmp_path, chosen, repetitions=120, error=0.05, engine=Engine("serial"))
    assert len(Thrice.played) == 2 * 120
    codes = {c.label: uses.digest(c) for c in chosen}
    known = standings(ledger.read(tmp_path), chosen, 0.05, codes)
    assert [r.games for r in known] == [120] * 6
    assert {r.played for r in known} == {((0, 0, 120),)}
    some = [chosen[0], replace(chosen[3], share=2.0)]  # played on, alone
    accumulate(tmp_path, some, repetitions=130, error=0.05, engine=Engine("serial"))
    assert len(Thrice.played) == 240 + 10 + 140


def test_parts_of_one_game_are_joined_where_they_cover_the_same_games():
    chosen = [*rows(0.0, 1), Case("plain", "epsilon", 0.0, "coin", "", lambda e, g: 0.0, 0.0)]
    dealt = [part for case in chosen for part in parts(case, 0.05, 0, 0, 100)]
    joined = together(dealt)
    assert [type(t) for t in joined] == [Together, Together, Games, Games]
    assert [len(t.cases) for t in joined if isinstance(t, Together)] == [3, 3]
    apart = together([*parts(chosen[0], 0.05, 0, 0, 50), *parts(chosen[1], 0.05, 0, 50, 50)])
    assert [len(t.cases) for t in apart if isinstance(t, Together)] == [1, 1]


def test_claims_of_one_game_are_in_different_sums():
    sums = layers((case, (100, 7)) for case in rows(0.0, 4))
    assert sums == [(400, 28)] * 3


def test_so_are_those_of_rows_with_another_share():
    one, two, _ = rows(0.0)
    assert layers([(one, (100, 7)), (replace(two, share=0.5), (50, 4))]) == [(100, 7), (50, 4)]


def test_two_rows_of_one_name_are_refused(tmp_path):
    chosen = rows(0.0)
    with pytest.raises(InputError, match="Two rows have the name coins mu"):
        selftest.run([*chosen, chosen[0]], repetitions=2)
    with pytest.raises(InputError, match="Two rows have the name coins mu"):
        accumulate(tmp_path, [*chosen, chosen[0]], repetitions=2, error=0.05)


def test_false_claims_that_come_together_do_not_convict_a_sound_family(tmp_path):
    """Counted as independent they would: three times 33 of 400, where 20 are expected."""
    chosen = rows(0.05)
    counts = dict.fromkeys(range(3), (400, 33))
    level = 1e-3
    from divulge.selftest.pooled import pooled

    (family,) = pooled(chosen, counts, 0.05, level)
    assert surprise(99, 1200, 0.05) < level < surprise(33, 400, 0.05)
    assert family.holds
    code = {c.label: uses.digest(c) for c in chosen}
    entries = [
        ledger.Entry(c.label, code[c.label], 0.05, 0, 0, 400, 33, 1.0, 33.0, 1.0, "")
        for c in chosen
    ]
    (judged,) = families(standings(entries, chosen, 0.05, code))
    assert judged.wealth == pytest.approx(log_wealth(33, 400, 0.05))
    assert judged.wealth < log_wealth(99, 1200, 0.05) - 3.0


def test_a_family_of_several_games_is_still_convicted():
    *_, family = selftest.run(rows(0.09, 30), repetitions=100)
    assert not family.holds


def test_a_name_that_the_game_does_not_state_is_no_claim_of_nothing():
    with pytest.raises(KeyError):
        Reading(Thrice(0.0), "kappa")(0.05, np.random.default_rng(0))
    assert Reading(lambda error, rng: {}, "mu")(0.05, np.random.default_rng(0)) == 0.0


def test_the_largest_bound_of_a_name_is_the_claim():
    from divulge.result import Bound

    one = Bound("mu", 0.1, 0.95, "recursion", "", (), correction="composition")
    found = by_name([one, replace(one, value=0.3)], correction=True)
    assert found == {("composition", "mu", None): 0.3}


def test_a_row_that_reads_reaches_its_dealer_and_its_game():
    case = next(c for c in selftest.cases() if c.label.startswith("canaries, mu"))
    assert isinstance(case.play, Reading)
    homes = {name for _, name in uses._homes(case.play)}
    assert {"Reading", "CanaryGame"} <= homes


def test_rows_that_share_a_game_share_their_number_of_games():
    """Otherwise the same audit would be played twice."""
    shared: dict = {}
    for case in selftest.cases():
        if isinstance(case, Case) and isinstance(case.play, Reading):
            shared.setdefault(game_of(case), set()).add(case.share)
    assert shared
    assert all(len(found) == 1 for found in shared.values())
    assert len({repr(game) for game in shared}) == len(shared)  # their generators' names
