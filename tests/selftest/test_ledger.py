"""Games that add up: the ledger, its code digests, and what convicts a row."""

from __future__ import annotations

import io
import itertools
import json
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from commands import run
from rich.console import Console

from divulge import selftest
from divulge.errors import DivulgeError
from divulge.report.ledger_text import Account, print_account
from divulge.selftest import ledger, uses
from divulge.selftest.accumulate import _tasks, accumulate
from divulge.selftest.case import Case, Check
from divulge.selftest.standing import Standing, convicting, families, standings
from divulge.selftest.wealth import log_wealth
from divulge.work import Engine


@dataclass(frozen=True)
class Falsely:
    """A game that makes a false claim with this probability."""

    rate: float

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        return float(rng.random() < self.rate)


@dataclass(frozen=True)
class Crashing:
    """A game that now and then does not come to its end."""

    def __call__(self, error: float, rng: np.random.Generator) -> float:
        if rng.random() < 0.01:
            raise ValueError("no overlap")
        return 0.0


def case(rate: float, number: int = 0) -> Case:
    return Case("coins", "epsilon", 0.0, "coin", f"number {number}", Falsely(rate), 0.0)


def play(folder, chosen, repetitions, **options):
    accumulate(
        folder, chosen, repetitions=repetitions, error=0.05, engine=Engine("serial"), **options
    )
    codes = {c.label: uses.digest(c) for c in chosen}
    return standings(ledger.read(folder), chosen, 0.05, codes)


def test_the_wealth_of_an_edge_row_is_a_martingale():
    """The expected wealth after ten games at exactly the error is 1, by enumeration."""
    total = 0.0
    for false in range(11):
        paths = len(list(itertools.combinations(range(10), false)))
        chance = paths * 0.05**false * 0.95 ** (10 - false)
        total += chance * np.exp(log_wealth(false, 10, 0.05))
    assert total == pytest.approx(1.0, abs=1e-12)


def test_games_add_up_over_runs_and_are_the_same_games(tmp_path):
    rows = [case(0.03, k) for k in range(2)]
    play(tmp_path / "twice", rows, 40)
    twice = play(tmp_path / "twice", rows, 90)
    once = play(tmp_path / "once", rows, 90)
    assert [(r.games, r.false) for r in twice] == [(r.games, r.false) for r in once]
    assert all(r.games == 90 for r in once)
    assert len((tmp_path / "once" / ledger.FILE).read_text().splitlines()) == 2


def test_every_row_begins_and_the_cheapest_ends_first():
    dear = Standing(case(0.0, 0), 0.05, games=1000, seconds=900.0, played=((0, 0, 1000),))
    new = Standing(case(0.0, 1), 0.05)
    cheap = Standing(case(0.0, 2), 0.05, games=500, seconds=1.0, played=((0, 0, 500),))
    told = [task.case.label for task in _tasks([dear, new, cheap], 2000, 0.05, 0, 1)]
    order = list(dict.fromkeys(told[1:]))
    assert told[0] == new.case.label
    assert order == [cheap.case.label, dear.case.label, new.case.label]


def test_a_row_is_played_as_by_the_plain_self_test(tmp_path):
    (row,) = play(tmp_path, [case(0.02)], 400)
    (plain,) = selftest.run([case(0.02)], repetitions=400)
    assert (row.games, row.false) == (plain.repetitions, plain.false_claims)


def test_a_bad_row_is_convicted_and_stops(tmp_path):
    rows = [case(0.6, 0), case(0.02, 1)]
    bad, good = play(tmp_path, rows, 2000)
    assert bad.state(2, 2000) == "convicted"
    assert bad.games < 2000
    assert (good.state(2, 2000), good.games) == ("holds", 2000)


def test_a_row_that_looks_bad_plays_on(tmp_path):
    (row,) = play(tmp_path, [case(0.12)], 100)
    assert row.games > 100


@pytest.mark.parametrize(
    ("false", "state"), [(100, "holds"), (119, "holds"), (126, "doubtful"), (400, "convicted")]
)
def test_more_false_claims_than_the_interval_allows_are_told_and_played_on(false, state):
    """5% of 2,000 is 100; from 120 on the 95% interval of the rate lies above it."""
    row = Standing(case(0.05), 0.05, games=2000, false=false)
    assert row.state(1247, 2000) == state
    assert row.plays_on == (state != "holds")
    again = [task.size for task in _tasks([row], 2000, 0.05, 0, 8)]
    assert sum(again) == (14_000 if state != "holds" else 0)


def test_sound_rows_at_the_edge_are_seldom_convicted_however_often_one_looks():
    rng = np.random.default_rng(5)
    level = np.log(20.0)
    reached = 0
    for _ in range(400):
        false = np.cumsum(rng.random(400) < 0.05)
        reached += any(log_wealth(int(f), n, 0.05) >= level for n, f in enumerate(false, 1))
    assert reached <= 0.05 * 400 + 3 * np.sqrt(400 * 0.05 * 0.95)
    assert reached > 0  # the bet is no dead letter


def test_a_family_is_convicted_by_many_small_excesses(tmp_path):
    (family,) = families(play(tmp_path, [case(0.09, k) for k in range(20)], 100))
    assert family.wealth >= convicting(20)


def test_a_cut_line_is_left_out_and_mended(tmp_path):
    play(tmp_path, [case(0.02)], 50)
    path = tmp_path / ledger.FILE
    path.write_bytes(path.read_bytes() + b'{"row": "coins | co')
    assert sum(e.games for e in ledger.read(tmp_path)) == 50
    (row,) = play(tmp_path, [case(0.02)], 100)
    assert row.games >= 100
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_line_that_is_no_entry_is_named(tmp_path):
    (tmp_path / "other.jsonl").write_text('{"row": "a"}\n')
    with pytest.raises(DivulgeError, match=r"other\.jsonl, line 1"):
        ledger.read(tmp_path)


def test_games_that_are_told_twice_count_once(tmp_path):
    play(tmp_path, [case(0.02)], 100)
    (tmp_path / "copy.jsonl").write_bytes((tmp_path / ledger.FILE).read_bytes())
    assert sum(e.games for e in ledger.read(tmp_path)) == 100


def test_a_gap_that_a_kill_left_is_played(tmp_path):
    play(tmp_path, [case(0.02)], 150)
    (whole,) = ledger.read(tmp_path)
    play(tmp_path / "parts", [case(0.02)], 50)
    (start,) = ledger.read(tmp_path / "parts")
    far = ledger.Entry(**{**start.__dict__, "first": 100})
    path = tmp_path / "parts" / ledger.FILE
    path.write_bytes(ledger.line(start) + ledger.line(far))
    (row,) = play(tmp_path / "parts", [case(0.02)], 150)
    assert [(s, a, b) for s, a, b in row.played] == [(0, 0, 150)]
    assert whole.games == 150


def test_games_of_another_code_are_stale(tmp_path):
    play(tmp_path, [case(0.02)], 50)
    path = tmp_path / ledger.FILE
    entry = json.loads(path.read_text())
    path.write_text(json.dumps({**entry, "code": "0" * 16}) + "\n")
    codes = {case(0.02).label: uses.digest(case(0.02))}
    (row,) = standings(ledger.read(tmp_path), [case(0.02)], 0.05, codes)
    assert (row.games, row.stale, row.state(1, 50)) == (0, 50, "stale")
    (row,) = play(tmp_path, [case(0.02)], 50)
    assert (row.games, row.stale) == (50, 0)
    assert len(path.read_text().splitlines()) == 1  # the old ones are dropped


def test_a_game_that_crashes_is_told_when_all_others_were_played(tmp_path):
    crashing = replace(case(0.0, 1), play=Crashing())
    with pytest.raises(RuntimeError, match=r"parts of rows could not be played.*number 1.*no over"):
        play(tmp_path, [crashing, case(0.03, 2)], 400)
    chosen = [crashing, case(0.03, 2)]
    codes = {c.label: uses.digest(c) for c in chosen}
    first, second = standings(ledger.read(tmp_path), chosen, 0.05, codes)
    assert 0 < first.games < 400
    assert second.games == 400


def test_time_that_is_over_begins_nothing(tmp_path):
    (row,) = play(tmp_path, [case(0.02)], 5000, minutes=1e-9)
    assert row.games == 0
    with pytest.raises(DivulgeError, match="minutes must be above 0"):
        play(tmp_path, [case(0.02)], 50, minutes=0.0)


def test_only_one_run_writes(tmp_path):
    with ledger.writing(tmp_path), pytest.raises(DivulgeError, match="Another self-test"):
        play(tmp_path, [case(0.02)], 50)


def test_a_check_that_fails_convicts_at_once(tmp_path):
    checks = [
        Check("some", "epsilon", 0.0, "edge", name, lambda e, v=value: [v, 0.01])
        for name, value in (("bad", 0.0501), ("good", 0.05), ("none", float("nan")))
    ]
    states = [row.state(3, 10) for row in play(tmp_path, checks, 10)]
    assert states == ["convicted", "holds", "convicted"]


# --- which code a row uses ---------------------------------------------------------------------


def row_of(label: str) -> Case | Check:
    return next(c for c in selftest.cases() if label in c.label)


def modules(label: str) -> set[str]:
    what = row_of(label)
    starts = uses._homes(what.play if isinstance(what, Case) else what.compute)
    return {module for module, _ in uses.reached(frozenset(starts))}


def test_a_row_reaches_its_bound_and_no_other_room():
    counted = modules("recursion mu | null")
    assert "divulge.bounds.recursion" in counted
    assert not any(name.startswith(("divulge.shift.stack", "divulge.games")) for name in counted)
    assert "divulge.shift.stack" in modules("proof mu | null")
    closeness = modules("closeness, c, grid")
    assert "divulge.bounds.closeness" in closeness
    assert not any(name.startswith(("divulge.shift", "divulge.report")) for name in closeness)
    hostile = modules("hostile, membership headline")
    for name in ("divulge.shift.neighbours", "divulge.data.features", "divulge.proof.controls"):
        assert name in hostile


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read of the package's files, until the test is over: reading them takes seconds."""
    for name, found in list(vars(uses).items()):
        if hasattr(found, "cache_clear"):
            monkeypatch.setattr(uses, name, cache(found.__wrapped__))


@pytest.mark.parametrize(
    ("edit", "changes"),
    [
        (("return kept", "return kept  # as it is"), False),
        (('"""How many."""', '"""So many."""'), False),
        (("LIMIT = 5", "LIMIT = 6"), True),
        (("size + 1", "size + 2"), True),
        (("unused = 1", "unused = 2"), False),
    ],
)
def test_a_digest_changes_with_code_that_the_row_reaches(tmp_path, monkeypatch, edit, changes):
    package = tmp_path / "divulge"
    (package / "room").mkdir(parents=True)
    (package / "room" / "__init__.py").write_text("from divulge.room.inner import kept_of\n")
    source = (
        "LIMIT = 5\nunused = 1\n\n"
        'def more(size):\n    """How many."""\n    return size + 1\n\n'
        "def kept_of(size):\n    kept = min(more(size), LIMIT)\n    return kept\n"
    )
    (package / "room" / "inner.py").write_text(source)
    (package / "row.py").write_text(
        "def play(size):\n    from divulge import room\n    return room.kept_of(size)\n"
    )
    monkeypatch.setattr(uses, "ROOT", package)

    def digest() -> str:
        forget(monkeypatch)
        return uses.digest_of(frozenset({("divulge.row", "play")}))

    before = digest()
    assert len(uses.reached(frozenset({("divulge.row", "play")}))) == 4
    (package / "room" / "inner.py").write_text(source.replace(*edit))
    assert source.replace(*edit) != source
    assert (digest() != before) == changes


# --- the command -------------------------------------------------------------------------------


GRID = "closeness, c, grid | known generator (c=0, epsilon=0)"


def test_the_command_adds_shows_and_writes_a_page(tmp_path):
    only = ("--only", GRID, "--repeats", "40", "--n-jobs", "1")
    added = run("selftest", "--into", "evidence", *only, "--complete", cwd=tmp_path)
    assert added.returncode == 0, added.stderr
    page = ("--page", "page.md")
    shown = run("selftest", "--show", "evidence", *only, *page, cwd=tmp_path, columns=120)
    assert shown.returncode == 0
    assert "holds" in shown.stdout
    assert "| 40 |" in (tmp_path / "page.md").read_text()
    short = run("selftest", "--show", "evidence", "--only", GRID, "--complete", cwd=tmp_path)
    assert short.returncode == 1
    assert "too few" in short.stdout


def test_json_owns_the_output_of_a_ledger_too(tmp_path):
    one = ("--only", GRID, "--repeats", "40")
    added = run("selftest", "--into", "evidence", *one, "--n-jobs", "1", "--json", cwd=tmp_path)
    shown = run("selftest", "--show", "evidence", *one, "--json", cwd=tmp_path)
    assert added.stdout == shown.stdout
    told = json.loads(shown.stdout)
    kept = sorted((e.games, e.false, e.seconds) for e in ledger.read(tmp_path / "evidence"))
    rows = [(r["games"], r["false_claims"], r["seconds"]) for r in told["rows"]]
    assert sorted(rows) == kept
    assert {row["standing"] for row in told["rows"]} == {"holds"}
    assert (told["convicted"], told["complete"]) == ([], True)
    listed = json.loads(run("selftest", "--only", GRID, "--list", "--json").stdout)
    assert len(listed["cases"]) == len(rows)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_word_of_a_row_is_cut_in_a_narrow_window(width, tmp_path):
    rows = [replace(case(0.3, 1), mechanism="null, a hidden thing known to both")]
    known = play(tmp_path, rows, 60)
    console = Console(file=io.StringIO(), width=width)
    print_account(Account(known, [], 1, 60, "evidence"), console)
    printed = console.file.getvalue()
    assert max(map(len, printed.splitlines())) <= width
    words = " ".join(printed.split())
    for word in (
        "null, a hidden thing known to both",
        "number 1",
        "convicted",
        f"{known[0].games}",
    ):
        assert word in words


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--into", "a", "--show", "b"), "not both"),
        (("--page", "a.md"), "--page is for a ledger"),
        (("--minutes", "3", "--show", "b"), "--minutes is for a ledger"),
        (("--show", "nowhere"), "There is no ledger in nowhere"),
    ],
)
def test_what_makes_no_sense_is_refused(words, told, tmp_path):
    result = run("selftest", "--only", GRID, *words, cwd=tmp_path)
    assert result.returncode == 2
    assert told in " ".join(result.stderr.split())
    assert not list(tmp_path.iterdir())


def test_a_row_is_another_if_its_game_its_claim_or_its_truth_is():
    case = next(c for c in selftest.cases() if c.label.startswith("canaries, mu"))
    others = (
        replace(case, truth=case.truth + 0.1),
        replace(case, play=replace(case.play, key="another")),
        replace(case, play=replace(case.play, game=replace(case.play.game, canaries=7))),
    )
    assert len({uses.digest(c) for c in (case, *others)}) == 4
    plain = Case("coin", "epsilon", 0.0, "null", "", lambda error, rng: 0.0, 0.0)
    assert uses.digest(plain) == uses.digest(replace(plain, play=lambda error, rng: 0.0))
