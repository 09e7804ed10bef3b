from __future__ import annotations

import copy
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from devtools import Browser, find
from markup import Page
from sample import HOSTILE
from synthetic_sample import (
    MEANING,
    REAL,
    hostile,
    own_diagnostics,
    spread,
    synthetic,
    undecided,
)

from divulge.report import html, synthetic_charts, synthetic_text, synthetic_words, wording
from divulge.report.drawing import POINTS
from divulge.report.sections import ROWS, sections
from divulge.report.terminal import result_text
from divulge.result import Result, Verdict

NAN = float("nan")
SECTIONS = {section.key: section for section in sections(wording.SYNTHETIC)}


def bare(**diagnostics: Any) -> Result:
    return Result("synthetic", Verdict("leak", True, "."), (), diagnostics=diagnostics)


def page_of(**diagnostics: Any) -> Page:
    return Page(html.page(bare(**diagnostics)))


def rows_of(drawing: Any) -> list[dict[str, Any]]:
    assert drawing is not None
    return [row for rows in drawing.to_dict()["datasets"].values() for row in rows]


def drawn_charts(page: Page) -> list[str]:
    return [
        a["id"] or "" for tag, a, _ in page.elements if tag == "div" and a.get("class") == "chart"
    ]


@pytest.fixture(scope="module")
def text() -> str:
    return html.page(synthetic())


# The page


def test_every_section_is_on_the_page_in_order(text: str) -> None:
    page = Page(text)
    keys = ["recall", "repeats", "overlap", "balance", "roc", "wealth", "sensitivity"]
    headings = page.texts("h3")
    assert headings[: len(keys)] == [SECTIONS[key].title for key in keys]
    checks = ("measurement", "comparison", "rules", "relaxed", "models", "copies", "blind",
              "nuisance")  # fmt: skip
    assert headings[len(keys) :] == [wording.SYNTHETIC.checks[key][0] for key in checks]
    assert drawn_charts(page) == [
        f"chart-{panel.name}" for key in keys for panel in SECTIONS[key].panels
    ]
    assert page.texts("p")[1] == wording.QUESTIONS["synthetic"]


def test_other_games_do_not_have_its_sections() -> None:
    for words in (wording.MEMBERSHIP, wording.ATTRIBUTE):
        assert not {"recall", "repeats"} & {section.key for section in sections(words)}


def test_a_newcomer_is_told_what_is_compared(text: str) -> None:
    shown = " ".join(Page(text[: text.index("<script type=")]).texts("body"))
    for phrase in (
        "The baseline sees the record and never the model",
        "The attack sees what the model says as well",
        "the gap between the two is what matters",
        "share of the guesses that were right",
        "it is the spread of splits and coins alone, and not a bound.",
        "bars below count generated records",
        "the share of generated records wrongly taken for members",
        "Few taken for members",
        "the hidden flaw of the generator that would",
        MEANING,
        "untrained copy of Pipeline",
    ):
        assert phrase in shown
    assert "accused" not in shown


def test_measurements_and_trials_have_labels(text: str) -> None:
    names = Page(text).texts("th", scope="row")
    for key in (*synthetic().measurements, *synthetic().trials):
        assert wording.SYNTHETIC.labels[key] in names
    for sign in ("(c_lb)", "{c + epsilon}_lb", "epsilon~", "RM;RN", "O(1)"):
        assert any(sign in name for name in names)


def test_without_a_conclusion_the_figures_still_stand() -> None:
    page = Page(html.page(undecided()))
    assert drawn_charts(page) == ["chart-precision", "chart-guesses", "chart-proven"]
    assert wording.SYNTHETIC.checks["measurement"][0] in page.texts("h3")
    assert SECTIONS["repeats"].title not in page.texts("h3")
    said = result_text(undecided(), 60)
    assert "CANNOT CONCLUDE" in said
    assert "What the model adds (epsilon~)" in said


@pytest.mark.parametrize("missing", list(own_diagnostics()))
def test_every_key_is_optional(missing: str) -> None:
    result = bare(**{k: v for k, v in own_diagnostics().items() if k != missing})
    page = Page(html.page(result))
    expected = [p.name for key in ("recall", "repeats") if key != missing
                for p in SECTIONS[key].panels]  # fmt: skip
    assert drawn_charts(page) == [f"chart-{name}" for name in expected]
    result_text(result)


def test_hostile_names_are_text() -> None:
    page = Page(html.page(hostile()))
    tags = [tag for tag, _, _ in page.elements]
    assert tags.count("script") == 2
    assert "img" not in tags
    shown = page.texts("bdi")
    assert HOSTILE[0] in shown
    assert HOSTILE[2] in shown
    said = result_text(hostile(), 300)
    assert f"epsilon~ is {HOSTILE[0]}." in said
    assert "⟨U+202E⟩gnp.exe" in said
    assert "\u202e" not in said
    assert "two lines" in said
    assert "[bold]x[/bold]" in said


# The charts


def test_precision_and_guesses_are_drawn_for_both_guessers() -> None:
    given = own_diagnostics()
    for draw in (synthetic_charts.precision, synthetic_charts.guesses, synthetic_charts.proven):
        drawing = draw(given)
        rows = [row for row in rows_of(drawing) if "guesser" in row]
        assert {row["guesser"] for row in rows} == {"baseline", "attack"}
        assert len(rows) == 20
        assert rows == sorted(rows, key=lambda row: row["place"])
        specification = json.dumps(drawing.to_dict())  # type: ignore[union-attr]
        assert all(name in specification for name in synthetic_words.SERIES.values())


def test_the_line_without_a_wrong_guess_ends_at_the_members() -> None:
    rows = rows_of(synthetic_charts.guesses(own_diagnostics()))
    ends = [row for row in rows if "guesser" not in row]
    assert ends == [
        {"recall": 0.0, "guesses": 0.0},
        {"recall": 1.0, "guesses": pytest.approx(REAL)},
    ]
    unknown = {"attack": {"recall": [0.0, 0.5], "guesses": [1, 10]}}
    rows = rows_of(synthetic_charts.guesses({"recall": unknown}))
    assert all("guesser" in row for row in rows)


def test_the_largest_values_are_marked() -> None:
    given = own_diagnostics()
    marks = [row for row in rows_of(synthetic_charts.proven(given)) if "at" in row]
    # The curve shows some of the levels; the table of rules knows the largest of all.
    assert [(row["at"], row["what"]) for row in marks] == [
        (0.21, "baseline: 0.21"),
        (2.52, "attack: 2.52"),
    ]
    for rules in (None, "text", [], [None, 3, {"rule": "grid", "c_lb": 9.0}], [{"rule": "all"}]):
        rows = rows_of(synthetic_charts.proven({**given, "rules": rules}))
        assert [row["at"] for row in rows if "at" in row] == [0.2, 2.5]
    nothing = {"baseline": {"recall": [0.1], "lower": [0.0]}}
    rows = rows_of(synthetic_charts.proven({"recall": nothing}))
    assert [row["what"] for row in rows if "at" in row] == ["baseline: 0"]


ODD_POINTS = [NAN, None, "0.5", [0.5], True, 10**400, -0.5]


def test_what_is_no_number_is_left_out() -> None:
    draws = (synthetic_charts.precision, synthetic_charts.guesses, synthetic_charts.proven)
    for odd in (None, "text", 3, [], {}, {"attack": None}, {"attack": []}, {"attack": {}},
                {"attack": {"recall": ODD_POINTS, "precision": [0.5] * 7, "lower": [1.0] * 7,
                            "guesses": [1] * 7}},
                {"attack": {"recall": [0.5] * 7, "precision": ODD_POINTS, "lower": ODD_POINTS,
                            "guesses": ODD_POINTS}}):  # fmt: skip
        for draw in draws:
            assert draw({"recall": odd}) is None
    short = {"recall": [0.1, 0.2, 0.3], "precision": [0.9], "guesses": [1, None, 3], "lower": []}
    found = synthetic_charts.points({"attack": short, "stranger": short})
    assert [(r["guesser"], r["recall"], r["precision"], r["guesses"]) for r in found] == [
        ("attack", 0.1, 0.9, 1.0),
        ("attack", 0.2, None, None),
        ("attack", 0.3, None, 3.0),
    ]
    assert drawn_charts(page_of(recall={"attack": short})) == ["chart-precision", "chart-guesses"]
    huge = {"recall": [1e-320, 1.0], "precision": [1.0, 1.0], "guesses": [9e299, 1.0],
            "lower": [9e299, 1.0]}  # fmt: skip
    for draw in draws:
        json.dumps([rows_of(draw({"recall": {"attack": huge}}))], allow_nan=False)


def test_long_curves_are_thinned_and_short_ones_a_table() -> None:
    many = {"recall": [i / 9999 for i in range(10_000)], "precision": [0.5] * 10_000}
    assert len(synthetic_charts.points({"baseline": many, "attack": many})) == 2 * POINTS
    assert SECTIONS["recall"].numbers({"baseline": many}) is None
    rows = SECTIONS["recall"].numbers(own_diagnostics()["recall"])
    assert 0 < len(rows) <= ROWS
    assert {"guesser", "recall", "precision", "guesses", "lower"} == set(rows[0])


def test_repeats_show_mean_interval_and_single_values() -> None:
    rows = rows_of(synthetic_charts.repeats(own_diagnostics()))
    means = [row for row in rows if "mean" in row]
    assert list(dict.fromkeys(row["figure"] for row in means)) == list(
        synthetic_words.SHORT.values()
    )
    assert sum("value" in row for row in rows) == 9
    facts = SECTIONS["repeats"].facts(own_diagnostics()["repeats"])
    assert facts == {"repeats": 3}


def test_odd_repeats_are_left_out() -> None:
    good = spread(1.0, 2.0)
    for odd in (None, "text", [], {}, 3, {**good, "mean": NAN}, {**good, "low": None},
                {**good, "high": "2"}, {**good, "low": 5.0}):  # fmt: skip
        assert synthetic_charts.repeats({"repeats": {"c_lb": odd}}) is None
        assert synthetic_charts.repeats({"repeats": odd}) is None
    alone = {"c_lb": {**good, "values": [None, "1", NAN]}, "epsilon_tilde": None}
    assert [r["repeats"] for r in synthetic_charts.spreads(alone)] == [[]]
    assert drawn_charts(page_of(repeats=alone)) == ["chart-repeats"]


# The terminal


def test_the_terminal_says_what_was_measured() -> None:
    said = result_text(synthetic(), 200)
    lines = [" ".join(line.split()) for line in said.splitlines()]
    for line in (
        "What the record alone gives away (c_lb) 0.312",
        "With the model as well ({c + epsilon}_lb) 2.75",
        "What the model adds (epsilon~) 2.437",
        f"epsilon~ is {MEANING}.",
        "Spread over 3 repeats",
        "epsilon~ 2.445 (2.045 to 2.846)",
        "Mean and 95% t-interval: a spread, not a bound.",
        "O(1): the loss on real non-members, taken to be alike 2.1",
        "c_lb on real non-members 0",
        "generated records 400",
    ):
        assert line in lines
    # Once is enough: neither the figures nor what was compared is listed again.
    for again in ("c plus epsilon lb", "epsilon tilde", "RM;RN, on", "O(1), on"):
        assert again not in said
    assert "epsilon of O(1), on real non-members" in result_text(synthetic(comparison=None), 200)


def test_the_terminal_may_be_narrow() -> None:
    for width in (60, 40):
        lines = result_text(synthetic(), width).splitlines()
        assert max(map(len, lines)) <= width
    joined = " ".join(result_text(synthetic(), 60).split())
    for part in ("(c_lb) 0.312", "{c + epsilon}_lb) 2.75", "0.304 (-0.096 to 0.705)"):
        assert part in joined


def test_a_result_that_does_not_say_what_it_means() -> None:
    for odd in (None, "text", {}, {"meaning": 3}, {"meaning": " "}):
        said = result_text(synthetic(measurement=odd), 200)
        assert "epsilon~ is a measurement, not a bound." in said
    for odd in (None, "text", {"count": "many"}, {"c_lb": {"mean": 1.0}}, {"c_lb": 3}):
        assert synthetic_text.spread_rows(odd) == []
        assert "Spread over" not in result_text(synthetic(repeats=odd))
    one = {"c_lb": spread(1.0, 2.0), "count": None}
    assert "Spread over repeats" in result_text(synthetic(repeats=one))
    assert synthetic_text.compared([None, {"attack": 3}, {"attack": "a", "epsilon": NAN}]) == [
        ("a", "not computed")
    ]
    assert len(synthetic_text.compared([{"attack": "a"}] * 5000)) == synthetic_text.ROWS
    odd_figures = replace(synthetic(), measurements={"c_lb": "much", "epsilon_tilde": NAN})
    assert "much" in result_text(odd_figures)
    assert "PANORAMIA)" not in result_text(replace(synthetic(), game="membership"))


# Damage

ODD = (None, "text", 10**400, -1, [], [None], {}, {"a": {}})


def places(part: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where a value stands, at any depth; of a list only its first."""
    items: list[tuple[Any, Any]] = []
    if isinstance(part, Mapping):
        items = list(part.items())
    elif isinstance(part, list):
        items = list(enumerate(part[:1]))
    return [path, *(place for k, v in items for place in places(v, (*path, k)))]


@pytest.mark.slow  # a result is checked when it is read: this is about objects made by hand
@pytest.mark.parametrize("key", ["recall", "repeats", "rules", "measurement", "comparison"])
def test_whatever_is_damaged_the_page_stands(key: str) -> None:
    whole = {"recall": own_diagnostics()["recall"]} if key == "rules" else {}
    whole[key] = own_diagnostics()[key]
    for number, path in enumerate(p for p in places(whole) if p and p[0] == key):
        for odd in ODD[number % 8 :: 8]:  # one of them at each place: Altair is slow
            given = copy.deepcopy(whole)
            inside: Any = given
            for step in path[:-1]:
                inside = inside[step]
            inside[path[-1]] = odd
            shown, specifications = html._sections(given, wording.SYNTHETIC)
            json.dumps(specifications, allow_nan=False)
            html._checks(given, wording.SYNTHETIC, {section["key"] for section in shown})
            result_text(replace(synthetic(), diagnostics=given))


# The browser


@pytest.mark.skipif(find() is None, reason="no Chromium found")
def test_a_browser_draws_it(tmp_path: Path) -> None:
    paths = {"whole": tmp_path / "whole.html", "hostile": tmp_path / "hostile.html"}
    html.write(synthetic(), paths["whole"])
    html.write(hostile(), paths["hostile"])
    browser = Browser(find() or "")
    try:
        for name, width, dark in (("hostile", 1200, True), ("whole", 400, False)):
            browser.open(paths[name], width=width, dark=dark)
            assert not browser.seen("Runtime.exceptionThrown", "Log.entryAdded")
            assert not browser.seen("Page.javascriptDialogOpening", "Runtime.consoleAPICalled")
            assert browser.evaluate("window.violations") == []
            assert browser.evaluate("document.documentElement.scrollWidth") <= width
            for chart in ("precision", "guesses", "proven", "repeats"):
                wide, right, marks = browser.evaluate(
                    f"""(() => {{
                        const svg = document.querySelector('#chart-{chart} svg');
                        const box = svg.getBoundingClientRect();
                        return [box.width, box.right,
                                svg.querySelectorAll('.role-mark path, .role-mark line').length];
                    }})()"""
                )
                assert wide > 250
                assert right <= width
                assert marks > 0
        assert "attack: 2.52" in browser.evaluate(
            "document.querySelector('#chart-proven').textContent"
        )
        told = hovered(browser, "proven")
        assert all(word in told for word in ("guesser", "recall", "at least", "guesses"))
        assert "undefined" not in told
    finally:
        browser.close()


def hovered(browser: Browser, chart: str) -> str:
    """The tooltip over a point in the middle of a chart."""
    x, y = browser.evaluate(
        f"""(() => {{
            const place = document.getElementById('chart-{chart}');
            place.scrollIntoView({{block: 'center'}});
            const marks = [...place.querySelectorAll('.mark-symbol.role-mark path')];
            const box = marks[Math.floor(0.75 * marks.length)].getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()"""
    )
    for step in (4, 0):
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + step, y=y)
    end = time.monotonic() + 5
    shown = "document.querySelector('#vg-tooltip-element.visible')?.innerText || ''"
    while not (text := browser.evaluate(shown)) and time.monotonic() < end:
        time.sleep(0.05)
    return str(text)
