"""The page for whoever has to sign, and PDF printed by a browser."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from commands import run
from devtools import find

from divulge.report import summary
from divulge.report.meaning import able
from divulge.report.presentation import presentation
from divulge.result import Bound, Result, Verdict

WORDS = presentation("membership").words


def bound(value: float) -> Bound:
    return Bound(
        "epsilon", value, 0.975, "recursion", "a theorem", ("coins are fair",), "balanced", 1e-5,
        headline=True,
    )  # fmt: skip


def found(status: str = "leak", **more) -> Result:
    verdict = Verdict(status, False, "The model gives away <b>its</b> members.", ("no control",))
    bounds = (bound(1.25),) if status == "leak" else ()
    return Result(game="membership", bounds=bounds, verdict=verdict, **more)


def test_the_page_has_claim_confidence_assumption_and_advice():
    page = summary.page(found())
    for words in ("LEAK (fragile)", "1.25", "97.5%", "coins are fair", "no control", "settle it"):
        assert words in page
    assert "&lt;b&gt;its" in page
    assert "<script" not in page


@pytest.mark.parametrize("status", ["no evidence", "cannot conclude"])
def test_without_a_finding_it_says_what_is_left_open(status):
    page = summary.page(found(status))
    assert "<tbody>" not in page
    assert "Recommendation" in page


def test_a_control_that_was_brought_is_not_asked_for():
    without = summary.page(found())
    brought = summary.page(found(measurements={"negative_control_epsilon": 0.0}))
    assert "bring the score of a model" in without
    assert "bring the score of a model" not in brought
    assert "what the control lacks" in brought


@pytest.mark.parametrize(
    ("epsilon", "odds", "right"),
    [(0.025, "1.025 to 1", "50.6 times"), (0.2, "1.2 to 1", "54 times"), (3.0, "20 to 1", "95")],
)
def test_small_odds_are_told_apart_from_none(epsilon, odds, right):
    told = able(bound(epsilon), WORDS)
    assert odds in told
    assert right in told


def test_the_command_writes_it(tmp_path):
    found().save(tmp_path / "r.json")
    done = run("report", "r.json", "--summary", "s.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "LEAK (fragile)" in (tmp_path / "s.html").read_text()
    again = run("report", "r.json", "--summary", "s.html", cwd=tmp_path)
    assert again.returncode == 2


def test_without_a_browser_no_pdf(tmp_path, monkeypatch):
    found().save(tmp_path / "r.json")
    monkeypatch.delenv("DIVULGE_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run("report", "r.json", "--summary", "s.pdf", cwd=tmp_path)
    assert done.returncode == 2
    assert "DIVULGE_CHROMIUM" in done.stderr
    assert not (tmp_path / "s.pdf").exists()


def test_a_browser_that_fails_is_told(tmp_path, monkeypatch):
    found().save(tmp_path / "r.json")
    monkeypatch.setenv("DIVULGE_CHROMIUM", "false")
    done = run("report", "r.json", "--summary", "s.pdf", cwd=tmp_path)
    assert done.returncode == 2
    assert "did not print the page" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(find() is None, reason="no Chromium found")
def test_the_summary_is_one_page_even_if_much_is_assumed(tmp_path):
    many = tuple(f"assumption number {k} of a longer list of them" for k in range(20))
    result = found()
    long = replace(result, bounds=tuple(replace(b, assumptions=many) for b in result.bounds))
    long.save(tmp_path / "r.json")
    done = run("report", "r.json", "--summary", "s.pdf", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "s.pdf").read_bytes())) == 1
