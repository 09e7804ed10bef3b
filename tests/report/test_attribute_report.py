from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from markup import Page
from sample import HOSTILE, attribute, attribute_diagnostics, diagnostics, leak

from divulge.report import attribute_charts, html, wording
from divulge.report.drawing import POINTS
from divulge.report.sections import ROWS, sections
from divulge.report.terminal import result_text
from divulge.result import Result, Verdict

NAN = float("nan")
SECTIONS = {section.key: section for section in sections(wording.ATTRIBUTE)}


@pytest.fixture(scope="module")
def text() -> str:
    return html.page(attribute())


def page_of(**diagnostics: Any) -> Page:
    return Page(html.page(bare(**diagnostics)))


def bare(**diagnostics: Any) -> Result:
    return Result("attribute", Verdict("leak", True, "."), (), diagnostics=diagnostics)


def rows_of(drawing: Any) -> list[dict[str, Any]]:
    assert drawing is not None
    return [row for rows in drawing.to_dict()["datasets"].values() for row in rows]


def drawn_charts(page: Page) -> list[str]:
    return [
        a["id"] or "" for tag, a, _ in page.elements if tag == "div" and a.get("class") == "chart"
    ]


def test_every_section_is_on_the_page_in_order(text: str) -> None:
    page = Page(text)
    keys = ["proxy", "roc", "wealth", "sensitivity", "tau", "repetitions"]
    headings = page.texts("h3")
    assert headings[: len(keys)] == [SECTIONS[key].title for key in keys]
    assert headings[len(keys) :] == [
        wording.ATTRIBUTE.checks[key][0]
        for key in ("comparison", "blind", "negative_control", "draw", "nuisance")
    ]
    assert drawn_charts(page) == [
        f"chart-{panel.name}" for key in keys for panel in SECTIONS[key].panels
    ]
    assert page.texts("p")[1] == wording.QUESTIONS["attribute"]


def test_the_words_are_those_of_the_game(text: str) -> None:
    given = diagnostics() | attribute_diagnostics()
    for section in SECTIONS.values():
        titles = [section.title, section.caption, *(panel.title for panel in section.panels)]
        drawn = [panel.draw({section.key: given[section.key]}) for panel in section.panels]
        said = " ".join([*titles, *(json.dumps(d.to_dict()) for d in drawn if d is not None)])
        assert "member" not in said
        assert "accused" not in re.sub(r'"accused"', "", said)
    shown = " ".join(Page(text[: text.rindex("<script>")]).texts("body"))
    for name in ("(membership)", "non-members"):  # the other attacks, in their own words
        shown = shown.replace(name, "")
    assert "member" not in shown
    for phrase in (
        "share of true values recognised",
        "drawn values wrongly taken for true",
        "Few taken for true",
        "true values shown",
        "odds that the value shown is the true one",
        "A learner that sees the record and the value shown, but not the model, tries to tell true "
        "values from drawn ones: what it achieves is an error of the proxy, not a leak",
        "The same audit on held-out records, which the model never saw",
    ):
        assert phrase in shown


def test_membership_keeps_its_words() -> None:
    whole = html.page(leak())
    shown = whole[: whole.rindex("<script>")]
    for phrase in (
        "Up: the share of members recognised. Across: the share of non-members wrongly accused.",
        "Few accused (logarithmic axes)",
        "how far the judgement of who looks like a member may be off",
        "The marked odds ratio is the hidden difference between the groups that would",
        "A learner that never sees the model tries to tell members apart.",
        "odds that a record was used: by a factor",
        '"title": "non-members accused"',
        '"title": "propensity to be a member"',
        "members recognised at a share of non-members accused",
    ):
        assert phrase in shown
    for phrase in ("proxy", "drawn value", "true value", "replay"):
        assert phrase not in shown


def test_measurements_have_labels(text: str) -> None:
    names = Page(text).texts("th", scope="row")
    for key in attribute().measurements:
        assert wording.ATTRIBUTE.labels[key] in names
    labels = wording.ATTRIBUTE.labels
    assert labels["gdp_equivalent_epsilon"] == (
        "GDP-equivalent epsilon, if the mechanism is Gaussian; not a bound"
    )
    assert set(wording.LABELS) <= set(labels)


# The proxy


def test_the_agreement_is_a_sentence(text: str) -> None:
    sentence = (
        "In 62% of the records the drawn value would equal the true one; these trials carry no "
        "information."
    )
    captions = Page(text).texts("figcaption")
    assert captions[0].endswith(sentence)
    assert wording.agreement({"agreement": 0.62999}).startswith("In 62.9% of")
    assert wording.agreement({"agreement": 0.99999}).startswith("In 99.9% of")
    for odd in (None, NAN, "0.5", -0.1, 1.1, True, [0.5]):
        assert wording.agreement({"agreement": odd}) == ""
    for odd in (None, [], "text", 3, {}):
        assert wording.agreement(odd) == ""


def test_an_odd_agreement_is_shown_as_it_came() -> None:
    page = page_of(proxy={**attribute_diagnostics()["proxy"], "agreement": "<b>much</b>"})
    assert "<b>much</b>" in page.texts("bdi")
    assert "carry no information" not in " ".join(page.texts("figcaption"))


def test_calibration_draws_points_with_their_counts() -> None:
    given = attribute_diagnostics()
    drawing = attribute_charts.calibration(given)
    rows = [row for row in rows_of(drawing) if "series" in row]
    assert len(rows) == 20
    assert {row["series"] for row in rows} == {"target", "proxy"}
    first = next(row for row in rows if row["series"] == "proxy")
    assert first["count"] == given["proxy"]["calibration"]["proxy"][0]["count"]
    specification = json.dumps(drawing.to_dict())  # type: ignore[union-attr]
    assert specification.count('"domain": [0, 1]') >= 2


def test_calibration_leaves_out_what_is_no_share() -> None:
    point = {"predicted": 0.5, "observed": 0.4, "count": 3}
    odd: list[Any] = [
        {**point, "predicted": NAN},
        {**point, "observed": None},
        {**point, "predicted": "0.5"},
        {**point, "predicted": [0.5]},
        {**point, "observed": 1.5},
        {"predicted": 0.5},
        {},
        None,
        "text",
        7,
        10**400,
    ]
    for items in (odd, [], None, "text", {}, 3):
        assert attribute_charts.calibration({"proxy": {"calibration": {"proxy": items}}}) is None
    shown = {"proxy": [*odd, point, {**point, "predicted": 0.1, "count": None}], "target": odd}
    rows = rows_of(attribute_charts.calibration({"proxy": {"calibration": shown}}))
    found = [(r["predicted"], r["count"]) for r in rows if "series" in r]
    assert found == [(0.1, None), (0.5, 3)]
    page = page_of(proxy={"calibration": shown})
    assert drawn_charts(page) == ["chart-calibration"]


def test_calibration_is_thinned_and_shows_few_models() -> None:
    many = [{"predicted": i / 9999, "observed": 0.5, "count": 1} for i in range(10_000)]
    given = dict.fromkeys(("a", "b", "proxy", "c", "target"), many)
    rows = rows_of(attribute_charts.calibration({"proxy": {"calibration": given}}))
    shown = [row["series"] for row in rows if "series" in row]
    assert list(dict.fromkeys(shown)) == ["target", "proxy", "a"]
    assert len(shown) == attribute_charts.SERIES * POINTS
    assert SECTIONS["proxy"].numbers({"calibration": given}) is None


def test_log_losses_are_bars_with_their_numbers(text: str) -> None:
    rows = rows_of(attribute_charts.log_loss(attribute_diagnostics()))
    assert [(r["model"], r["kind"], r["shown"]) for r in rows] == [
        ("proxy", "proxy", "0.412"),
        ("target", "target", "0.35"),
        ("corrected proxy", "proxy", "0.405"),
        ("constant", "other", "0.69"),
        ("proxy, held-out", "proxy", "0.415"),
        ("target, held-out", "target", "0.42"),
    ]
    page = Page(text)
    assert {"Calibration", "Log-loss"} <= set(page.texts("caption"))
    assert "corrected proxy" in page.texts("th", scope="row")


def test_log_losses_leave_out_what_is_none() -> None:
    odd: dict[str, Any] = {"a": None, "b": NAN, "c": "0.4", "d": -1.0, "e": [], "f": 10**400}
    for given in (odd, {}, None, [], "text", 3, [0.4]):
        assert attribute_charts.log_loss({"proxy": {"log_loss": given}}) is None
    rows = rows_of(attribute_charts.log_loss({"proxy": {"log_loss": {**odd, "": 0}}}))
    assert [(row["model"], row["value"]) for row in rows] == [("(no name)", 0.0)]
    many = {f"model {i}": i / 100 for i in range(5000)}
    assert len(rows_of(attribute_charts.log_loss({"proxy": {"log_loss": many}}))) == (
        attribute_charts.BARS
    )


@pytest.mark.parametrize("missing", ["log_loss", "calibration", "agreement", "classes", "value"])
def test_every_part_of_the_proxy_is_optional(missing: str) -> None:
    given = {k: v for k, v in attribute_diagnostics()["proxy"].items() if k != missing}
    expected = [
        name
        for name, key in (("chart-calibration", "calibration"), ("chart-log-loss", "log_loss"))
        if key != missing
    ]
    assert drawn_charts(page_of(proxy=given)) == expected


def test_a_proxy_without_charts_is_a_table() -> None:
    page = page_of(proxy={"agreement": 0.62, "calibration": {}, "log_loss": None})
    assert "proxy" in page.texts("h3")
    assert wording.LABELS["agreement"] in page.texts("bdi")


# The replays


def test_replays_mark_the_combined_bound_rounded_down(text: str) -> None:
    rows = rows_of(attribute_charts.replays_epsilon(attribute_diagnostics()))
    assert sum(row["count"] for row in rows if "count" in row) == 100
    marked = next(row for row in rows if "at" in row)
    assert marked["at"] == 1.734
    assert {"text": "the bound: 1.734"} in rows
    caption = next(c for c in Page(text).texts("figcaption") if "replay" in c)
    for phrase in (
        "Each value is a bound from one replay of the coin flips, at the full error.",
        "Their mean and spread is what the paper's tables show; it is not the bound.",
        "combines the evidence of all replays, and is marked",
    ):
        assert phrase in caption
    assert attribute().diagnostics["repetitions"]["combination"] in Page(text).texts("bdi")


@pytest.mark.parametrize("name", ["epsilon", "mu"])
def test_replays_of_odd_values(name: str) -> None:
    draw: Any = getattr(attribute_charts, f"replays_{name}")
    for values in ([], [None, NAN, "1", True, [1.0]], None, "text", 3, {}):
        assert draw({"repetitions": {name: values}}) is None
    for values in ([0.0] * 5, [1.5], [None, 1.0, NAN, 2], [1e308, 1.0], [-1e299, 1e299]):
        for combined in (None, NAN, "1.0", 10**400, 0.0, 5.0):
            given = {"repetitions": {name: values, f"combined_{name}": combined}}
            rows = rows_of(draw(given))
            marked = [row["at"] for row in rows if "at" in row]
            assert marked == ([combined] if combined in (0.0, 5.0) else [])
    long = {"repetitions": {name: [i / 1e5 for i in range(100_000)]}}
    assert len(rows_of(draw(long))) == 30


def test_short_replays_are_a_table_too() -> None:
    given = {"epsilon": [1.0, 1.1], "mu": [0.5, 0.6]}
    assert SECTIONS["repetitions"].numbers(given) == [
        {"epsilon": 1.0, "mu": 0.5},
        {"epsilon": 1.1, "mu": 0.6},
    ]
    assert SECTIONS["repetitions"].numbers({"epsilon": [1.0], "mu": None}) is None
    assert drawn_charts(page_of(repetitions={"epsilon": [1.0, None], "mu": "none"})) == [
        "chart-replays-epsilon"
    ]


# The budget


def test_the_budget_is_drawn_on_a_logarithmic_axis() -> None:
    drawing = attribute_charts.tau(attribute_diagnostics())
    rows = rows_of(drawing)
    assert len(rows) == 14
    assert rows == sorted(rows, key=lambda row: row["place"])
    assert '"type": "log"' in json.dumps(drawing.to_dict())  # type: ignore[union-attr]


def test_a_budget_of_nothing_is_said_in_words() -> None:
    given = [{"tau": 0.0, "epsilon": 1.7349, "mu": None}, {"tau": 1e-3, "epsilon": 1.2, "mu": 1.0}]
    assert [row["tau"] for row in rows_of(attribute_charts.tau({"tau": given}))] == [1e-3, 1e-3]
    assert SECTIONS["tau"].note(given) == "For a proxy without error: epsilon 1.734."
    assert "For a proxy without error" in page_of(tau=given).texts("figcaption")[0]
    assert SECTIONS["tau"].note(given[1:]) == ""
    assert attribute_charts.tau({"tau": given[:1]}) is None
    assert "tau" not in page_of(tau=[]).texts("h3")


def test_budgets_leave_out_what_is_unknown() -> None:
    good = {"tau": 1e-4, "epsilon": 1.0, "mu": None}
    odd: list[Any] = [
        None,
        "text",
        3,
        {},
        {"tau": None, "epsilon": 1.0},
        {"tau": NAN, "epsilon": 1.0},
        {"tau": "1e-3", "epsilon": 1.0},
        {"tau": -1.0, "epsilon": 1.0},
        {"tau": 1e-3, "epsilon": "1", "mu": []},
        {"tau": [1e-3], "epsilon": 1.0},
    ]
    for given in (odd, [], None, "text", {}, 3):
        assert attribute_charts.tau({"tau": given}) is None
    rows = rows_of(attribute_charts.tau({"tau": [*odd, good]}))
    assert [(row["series"], row["tau"], row["value"]) for row in rows] == [("epsilon", 1e-4, 1.0)]
    assert drawn_charts(page_of(tau=[*odd, good])) == ["chart-tau"]
    many = [{"tau": 10.0 ** (-i / 1000), "epsilon": 1.0, "mu": 1.0} for i in range(5000)]
    assert len(rows_of(attribute_charts.tau({"tau": many}))) == 2 * POINTS
    assert len(many) > ROWS
    assert SECTIONS["tau"].numbers(many) is None


# The comparison


def test_the_comparison_is_a_table(text: str) -> None:
    page = Page(text)
    names = page.texts("th", scope="row", role="rowheader")
    for row in attribute_diagnostics()["comparison"]:
        assert row["attack"] in names
    assert page.texts("td", **{"data-label": "note"})[0] == "named beforehand"
    assert page.texts("td", **{"data-label": "epsilon"}) == ["1.734", "1.31", "0.2", "not computed"]
    assert "picked afterwards, is not a bound" in " ".join(page.texts("p"))


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ([{"attack": "a"}, {"epsilon": 1.0}, {"attack": None, "mu": NAN}], "not computed"),
        ([{"attack": "a"}, None, "text", 3], "text"),
        ([{"attack": {"deep": [1, {"x": 2}]}}], "deep"),
        ("text", "text"),
        ([], "none"),
        ({"attack": "a"}, "a"),
        ([{"attack": name, name: name} for name in HOSTILE], HOSTILE[0]),
    ],
)
def test_an_odd_comparison_is_shown_as_it_came(given: Any, shown: str) -> None:
    page = page_of(comparison=given)
    assert wording.CHECKS["comparison"][0] in page.texts("h3")
    assert shown in page.texts("bdi")
    assert [tag for tag, _, _ in page.elements].count("script") == 2


def test_a_huge_comparison_is_cut() -> None:
    given = [{"attack": f"attack {i}", "auc": 0.5} for i in range(5000)]
    names = page_of(comparison=given).texts("th", scope="row")
    assert len(names) == wording.ROWS + 1
    assert names[-1] == "… and 4800 more"


# Damage

KEYS = ("proxy", "repetitions", "comparison", "tau")
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
@pytest.mark.parametrize("key", KEYS)
def test_whatever_is_damaged_the_page_stands(key: str) -> None:
    whole = {key: attribute_diagnostics()[key]}
    for number, path in enumerate(places(whole)[1:]):
        for odd in ODD[number % 2 :: 2]:  # half of them at each place: Altair is slow
            given = copy.deepcopy(whole)
            inside: Any = given
            for step in path[:-1]:
                inside = inside[step]
            inside[path[-1]] = odd
            result = bare(**given)
            sections_, specifications = html._sections(given, wording.ATTRIBUTE)
            json.dumps(specifications, allow_nan=False)
            html._checks(given, wording.ATTRIBUTE, {section["key"] for section in sections_})
            result_text(result)
