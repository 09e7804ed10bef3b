"""Which games of a ledger may be kept after a change that only lowers bounds."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from divulge.selftest.cases import cases
from divulge.selftest.ledger import Entry

PATH = Path(__file__).parents[1] / "tools" / "keep_games.py"
BEHIND = "divulge.shift.robust:fit"
OTHER = "divulge.proof.draw:by_design"


@pytest.fixture(scope="module")
def keep_games():
    spec = importlib.util.spec_from_file_location("keep_games", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def row(text):
    return next(c for c in cases() if text in c.label)


def entry(case, *, false=0, total=0.0):
    return Entry(case.label, "a", 0.05, 0, 0, 5, false, 0.0, total, 1.0, "today")


@pytest.mark.parametrize(
    ("text", "reached"),
    [("lineup, counts, mu | null", False), ("membership, allowance", True)],
)
def test_what_a_game_calls_is_seen_by_breaking_it(keep_games, text, reached):
    assert keep_games.reaches(row(text), [OTHER, BEHIND], 1) is reached


def test_nothing_is_broken_afterwards(keep_games):
    from divulge.proof import adjust
    from divulge.shift import robust

    before = robust.fit
    keep_games.reaches(row("membership, allowance"), [BEHIND], 1)
    assert robust.fit is before
    assert getattr(adjust, "fit", before) is before


@pytest.mark.parametrize(
    ("text", "told", "silent"),
    [
        ("null, ratios of amounts", {}, True),
        ("null, ratios of amounts", {"false": 1}, False),
        ("null, ratios of amounts", {"total": 0.1}, False),
        ("null, population, waves", {}, False),  # beside a control
        ("prior, estimated | mu=1", {}, False),  # something leaks
    ],
)
def test_only_rows_that_never_claimed_and_have_no_audit_beside_are_kept(
    keep_games, text, told, silent
):
    case = row(text)
    assert keep_games.silent(case, [entry(case, **told)]) is silent
