"""The report of leakage per record: charts, words, odd and hostile content."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from markup import Page
from sample import HOSTILE

from divulge.games.leakage.play import leakage
from divulge.report import html, leakage_charts, wording
from divulge.report.sections import sections
from divulge.report.terminal import result_text
from divulge.result import Result, Verdict
from divulge.text import rounding

SECTIONS = {section.key: section for section in sections(wording.LEAKAGE)}


@pytest.fixture(scope="module")
def result() -> Result:
    rng = np.random.default_rng(0)
    return leakage({"e": rng.normal(size=(80, 5))}, reference={"e": rng.normal(size=(90, 5))})


@pytest.fixture(scope="module")
def text(result: Result) -> str:
    return html.page(result)


def bare(**diagnostics: Any) -> Result:
    return Result("leakage", Verdict("computed", False, "."), (), diagnostics=diagnostics)


def test_every_section_and_check_is_on_the_page_in_order(text: str) -> None:
    page = Page(text)
    drawn = ("exposure", "power", "similar")
    tables = ("most_exposed", "defences", "mechanism", "covariance")
    assert page.texts("h3") == [
        *(SECTIONS[key].title for key in drawn),
        *(wording.LEAKAGE.checks[key][0] for key in tables),
    ]
    charts = [a["id"] for tag, a, _ in page.elements if tag == "div" and a.get("class") == "chart"]
    assert charts == [f"chart-{key}" for key in drawn]
    assert page.texts("p")[1] == wording.QUESTIONS["leakage"]


def test_it_says_that_nothing_was_tested(text: str) -> None:
    page = Page(text)
    assert wording.MEANINGS["computed"] in page.texts("p")
    badges = page.texts("span")
    assert "computed" in badges
    assert not {"robust", "fragile"} & set(badges)
    assert "What was proved" not in page.texts("h2")


def test_other_games_do_not_have_its_sections() -> None:
    for words in (wording.MEMBERSHIP, wording.ATTRIBUTE, wording.SYNTHETIC):
        assert not {"exposure", "power", "similar"} & {section.key for section in sections(words)}


def test_the_terminal_shows_each_figure_once(result: Result) -> None:
    said = result_text(result, 100)
    for phrase in ("Over the records", "power at FPR 0.01", "epsilon at delta 1e-05",
                   "Most exposed", "keeps", "records behind the mean"):  # fmt: skip
        assert said.count(phrase) == 1
    assert "Measured" not in said
    top = result.diagnostics["most_exposed"][0]
    assert re.search(rf"^{top['id']} +{rounding.short(top['leakage'])}", said, re.MULTILINE)


def test_nothing_is_said_of_other_games(result: Result) -> None:
    other = Result("membership", result.verdict, (), result.measurements)
    assert "Over the records" not in result_text(other)


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}, {"edges": [1]}, {"own": ["a"]}, [{}]])
@pytest.mark.parametrize("key", ["exposure", "power", "similar", "most_exposed", "defences"])
def test_odd_content_is_not_drawn(key: str, odd: Any) -> None:
    given = {key: odd}
    for draw in (leakage_charts.exposure, leakage_charts.power, leakage_charts.similar):
        assert draw(given) is None
    result_text(bare(**given))
    html.page(bare(**given))


def test_unknown_epsilons_are_words_not_numbers() -> None:
    far = Result(
        "leakage", Verdict("computed", False, "."), (),
        {"epsilon_at_1e-05": {"median": 1.0, "p90": 2.0, "p99": 3.0, "largest": float("inf")}},
    )  # fmt: skip
    assert "beyond 600" in result_text(far)


def test_hostile_names_stay_text(result: Result) -> None:
    rows = [{**result.diagnostics["most_exposed"][0], "id": name} for name in HOSTILE]
    shown = bare(most_exposed=rows, mechanism={name: name for name in HOSTILE})
    page = Page(html.page(shown))
    assert len([tag for tag, _, _ in page.elements if tag == "script"]) == 2
    said = result_text(shown, 200)
    assert "\x1b" not in said
