"""The ledger that is committed: nothing in it is convicted, and the page is printed from it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from divulge import selftest
from divulge.report.ledger_text import Account, page
from divulge.result.record import STANDINGS
from divulge.selftest import ledger, uses
from divulge.selftest.run import REPETITIONS
from divulge.selftest.standing import families, standings

EVIDENCE = Path(__file__).parents[1] / "docs" / "evidence"


@pytest.fixture(scope="module")
def account() -> Account:
    chosen = selftest.cases()
    codes = {case.label: uses.digest(case) for case in chosen}
    known = standings(ledger.read(EVIDENCE), chosen, 0.05, codes)
    return Account(known, families(known), len(chosen), REPETITIONS, "docs/evidence")


def test_no_row_is_convicted_and_what_is_stale_or_doubtful_is_told(account, record_property):
    assert account.convicted == []
    for state in ("stale", "doubtful"):
        rows = [row.case.label for row in account.known if account.state(row) == state]
        if rows:
            several = f"and {len(rows) - 1} others " if len(rows) > 1 else ""
            told = f"The ledger in docs/evidence: {rows[0]} {several}{state}; `make evidence`."
            record_property("ledger", told)


def test_the_page_shows_the_rows_of_the_ledger(account):
    """A row that the present code has played stands on the page with these very figures."""
    printed = (EVIDENCE / "selftest.md").read_text("utf-8").splitlines()
    rows = set(printed)
    families = page(account).split("## Families")[1].split("## Computed")[0]
    now = page(account).replace(families, "").splitlines()
    fresh = [line for line in now if re.search(r"\| (holds|too few|power only|doubtful) \|$", line)]
    assert fresh
    assert [line for line in fresh if line not in rows] == []


def test_every_bound_has_a_standing_a_theorem_that_is_here_and_rows_that_play_it():
    root = EVIDENCE.parents[1]
    text = (root / "docs" / "results.md").read_text("utf-8")
    table = text.split("| bound | standing at most | theorem | rows |")[1].split("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    assert len(rows) >= 12
    for _, standing, theorem, played in rows:
        assert standing in STANDINGS
        files = re.findall(r"`((?:src|experiments)/[^`]+)`", theorem)
        assert files
        assert all((root / f).is_file() for f in files)
        names = re.findall(r"`([^`]+)`", played)
        assert names
        assert all(selftest.cases(only=name) for name in names)
