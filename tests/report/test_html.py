from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any

import pytest
from markup import Page
from sample import HOSTILE, SAMPLES, drawn, hostile, page, pinned, run, sample

from divulge.claims import Claim, described
from divulge.errors import InputError
from divulge.report import charts, html, wording
from divulge.report.drawing import COLOURS, POINTS, bins, pairs
from divulge.report.presentation import presentation
from divulge.report.section import Section
from divulge.report.shapes import label, shape
from divulge.result import Diagnostics, Result, Verdict, floor_to
from divulge.result.shared import Balance, SensitivityRecord

SECTIONS = [
    pytest.param(game, section, id=f"{game}-{section.key}")
    for game in SAMPLES
    for section in presentation(game).sections
    if getattr(sample(game, section.key).diagnostics, section.key) is not None
]


def leak() -> Result:
    return sample("membership")


@pytest.fixture(scope="module")
def leak_page() -> str:
    return page("membership")


@pytest.fixture(scope="module")
def hostile_page() -> str:
    return html.page(hostile("membership"))


@pytest.mark.parametrize(("game", "section"), SECTIONS)
def test_charts_from_their_records_and_none_without(game: str, section: Section) -> None:
    for panel in section.panels:
        drawing = drawn(run(game, section.key), panel.draw)
        assert drawing is not None
        specification = drawing.to_dict()
        assert specification["width"] == "container"
        assert specification["description"]
        assert panel.draw(Diagnostics()) is None


@pytest.mark.parametrize("game", SAMPLES)
def test_sections_are_named_once(game: str) -> None:
    sections = presentation(game).sections
    keys = [section.key for section in sections]
    names = [panel.name for section in sections for panel in section.panels]
    assert len(set(keys)) == len(keys)
    assert len(set(names)) == len(names)
    assert set(keys) <= set(Diagnostics.__dataclass_fields__)


@pytest.mark.parametrize("game", SAMPLES)
def test_every_game_is_shown_in_its_own_words(game: str) -> None:
    shown, result = presentation(game), sample(game)
    read = Page(page(game))
    assert read.texts("p")[1] == shown.question
    held = result.diagnostics.to_json()
    charts_ = [s for s in shown.sections if s.key in held]
    tables = [k for k in shown.checks if k in held and k not in {s.key for s in charts_}]
    known = [*(s.title for s in charts_), *(shown.checks[k][0] for k in tables)]
    assert read.texts("h3") == known  # nothing is shown without a heading of its own
    charted = [a for tag, a, _ in read.elements if tag == "div" and a.get("class") == "chart"]
    panels = [p for s in charts_ for p in s.panels if drawn(run(game), p.draw) is not None]
    assert [a["id"] for a in charted] == [f"chart-{p.name}" for p in panels]
    assert all(a["aria-label"] for a in charted)
    names = read.texts("th", scope="row")
    for key in (*result.measurements, *result.trials):
        assert label(key, shown.labels) in names


def test_a_game_that_is_not_known_is_shown_plainly() -> None:
    data = leak().to_json() | {"game": "line-ups"}
    page = Page(html.page(Result.from_json(data)))
    assert page.texts("h1") == ["Line-ups audit"]
    assert "Do the two groups overlap?" in page.texts("h3")


def test_unknown_numbers_are_left_out() -> None:
    given = SensitivityRecord(
        gamma=(0.0, None, 0.2), epsilon=(1.0, 0.9, float("nan")), gamma_star=None
    )
    drawing = charts.sensitivity(Diagnostics(sensitivity=given))
    assert drawing is not None
    rows = [row for rows in drawing.to_dict()["datasets"].values() for row in rows]
    assert {"gamma": 0.0, "epsilon": 1.0} in rows
    assert not any(row.get("gamma") in (None, 0.2) for row in rows if "gamma" in row)


def test_a_long_curve_is_thinned_and_keeps_its_ends() -> None:
    points = pairs(tuple(range(50_000)), tuple(range(50_000)))
    assert len(points) == POINTS
    assert points[:3] == [(0, 0), (1, 1), (2, 2)]
    assert points[-1] == (49_999, 49_999)
    assert points == sorted(set(points))


def test_bins_hold_every_value() -> None:
    for values in ([0.3], [0.3] * 7, [-1.0, 0.0, 2.0, 2.0], [i / 7 for i in range(100)]):
        rows = bins(values)
        assert sum(row["count"] for row in rows) == len(values)
        assert rows[0]["from"] <= min(values)
        assert rows[-1]["to"] >= max(values) - 1e-12


def test_the_worst_features_are_shown() -> None:
    given = tuple(Balance(feature=f"f{i}", before=i / 100, after=0.0) for i in range(50))
    shown = charts.worst_features(given)
    assert [row["feature"] for row in shown] == [f"f{i}" for i in range(49, 19, -1)]
    held = Diagnostics(balance=given)
    result = Result("membership", Verdict("leak", True, "."), (), diagnostics=held)
    page = html.page(result)
    assert "30 features that differ most are shown, of 50" in page


@pytest.mark.parametrize(("game", "section"), SECTIONS)
def test_names_are_values_and_never_code(game: str, section: Section) -> None:
    shown = hostile(game, section.key).diagnostics

    def words(part: Any, inside: str = "") -> None:
        if isinstance(part, dict):
            for key, value in part.items():
                assert key not in HOSTILE
                if key not in ("data", "datasets", "domain"):
                    words(value, key)
        elif isinstance(part, list):
            for value in part:
                words(value, inside)
        elif isinstance(part, str) and part not in COLOURS.values():
            assert not any(name and name in part for name in HOSTILE[:-2]), inside

    for panel in section.panels:
        drawing = panel.draw(shown)
        assert drawing is not None
        words(drawing.to_dict())


def test_hostile_text_is_text(hostile_page: str) -> None:
    page = Page(hostile_page)
    tags = [tag for tag, _, _ in page.elements]
    assert tags.count("script") == 2
    assert not {"img", "link", "iframe", "base", "object", "embed"} & set(tags)
    for _, attributes, _ in page.elements:
        assert not {"src", "href", "srcset", "action", "style"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
    texts = page.texts("bdi")
    for name in HOSTILE:
        assert " ".join(wording.visible(name).split()) in texts
    assert page.texts("h1") == ["Membership audit"]
    assert f"Sentence {HOSTILE[0]}" in page.texts("p")


def test_the_charts_receive_names_as_they_are(hostile_page: str) -> None:
    block = re.search(r'id="specifications">(.*?)</script>', hostile_page)
    assert block is not None
    assert "<" not in block[1]
    specifications = {s["id"]: s["spec"] for s in json.loads(block[1])}
    rows = [r for rows in specifications["chart-balance"]["datasets"].values() for r in rows]
    names = {row["feature"] for row in rows if "feature" in row}
    assert {HOSTILE[0], HOSTILE[1], HOSTILE[3], HOSTILE[5], HOSTILE[6], "#1d5c9e"} <= names
    assert {"two lines", "(no name)", "age", "age (2)", "⟨U+202E⟩gnp.exe"} <= names


def test_the_policy_allows_one_script_and_no_request(leak_page: str) -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', leak_page)
    script = re.search(r"<script>(.*?)</script>", leak_page, re.S)
    assert policy is not None
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert rules["img-src"] == "data:"


def test_colours_are_the_themes(leak_page: str) -> None:
    block = re.search(r'id="specifications">(.*?)</script>', leak_page)
    assert block is not None
    assert not [colour for colour in COLOURS.values() if colour in block[1]]
    for role, colour in COLOURS.items():
        assert f"--{role}: {colour};" in leak_page


def test_numbers_are_those_of_the_json(leak_page: str) -> None:
    result = leak()
    data = json.loads(result.dumps())
    page = Page(leak_page)
    values = page.texts("td", **{"data-label": "at least"})
    first = sorted(data["bounds"], key=lambda b: (not b["headline"], b["parameter"] != "epsilon"))
    assert values == [f"{floor_to(b['value'], 3):.3f}" for b in first]
    assert set(page.texts("td", **{"data-label": "confidence"})) == {"97.5%", "95%"}
    assert set(page.texts("td", **{"data-label": "delta"})) == {"none", "0", "1e-05"}
    assert set(page.texts("td", **{"data-label": "standing"})) == {"estimated"}
    cells = page.texts("td")
    for number in data["trials"].values():
        assert isinstance(number, list) or str(number) in cells
    assert wording.number(data["measurements"]["auc"]) in cells
    assert html.page(Result.from_json(data)) == leak_page


def test_the_page_says_what_it_rests_on(leak_page: str) -> None:
    result = leak()
    page = Page(leak_page)
    assert page.texts("h1") == ["Membership audit"]
    assert result.verdict.sentence in page.texts("p")
    assert {"leak", "robust" if result.verdict.robust else "fragile"} <= set(page.texts("span"))
    for requirement in result.diagnostics.robustness:  # the checklist
        assert {requirement.name, requirement.sentence} <= set(page.texts("td") + page.texts("th"))
    for reason in result.verdict.reasons:
        assert reason in page.texts("li")
    for assumption in {a for b in result.bounds for a in b.assumptions}:
        assert page.texts("li").count(assumption) == 1
    assert page.texts("code") == [result.provenance["command"]]
    assert "9f" * 32 in page.texts("bdi")
    assert all(a.get("scope") for tag, a, _ in page.elements if tag == "th")


def test_cannot_conclude() -> None:
    result = pinned("membership-far")
    text = html.page(result)
    page = Page(text)
    assert result.verdict.sentence in page.texts("p")
    assert "cannot conclude" in page.texts("span")
    assert not {"fragile", "robust"} & set(page.texts("span"))
    assert "What was proved" not in page.texts("h2")
    assert 'class="chart"' not in text
    assert "cannot conclude" in html.fragment(result)
    assert "<table" not in html.fragment(result)


def test_the_barest_result() -> None:
    page = Page(html.page(Result("attribute", Verdict("no evidence", True, "Nothing."), ())))
    assert page.texts("h2") == ["Verdict", "What it means", "How to reproduce it"]


def test_what_is_unknown_is_shown_too() -> None:
    result = Result(
        "leakage",
        Verdict("no evidence", False, "Nothing."),
        (),
        measurements={"new_thing": {"inner": {"deep": {"deeper": {"deepest": [1, 2]}}}}},
        diagnostics=Diagnostics(other={"a_new_check": {"passed": True, "points": [0.5, None]}}),
        provenance={"host": "unnamed"},
    )
    page = Page(html.page(result))
    assert "a new check" in page.texts("h3")
    texts = page.texts("bdi")
    for expected in ("new thing", '{"deepest": [1, 2]}', "yes", "0.5, not computed", "host"):
        assert expected in texts


def test_a_claim_is_shown_and_drawn() -> None:
    claim = described(leak(), Claim.parse("mu=0.2"))
    bare = Result("membership", Verdict("leak", True, "."), ())
    text = html.page(bare, claim)
    assert {"mu = 0.2"} == set(Page(text).texts("code"))
    assert "refuted" in Page(text).texts("span")
    with pytest.raises(InputError, match="the claimed curve"):
        html.page(bare, {**claim, "curve": {"fpr": "low"}})
    assert 'id="chart-roc"' in text


def test_fragment_has_no_script_and_the_same_numbers() -> None:
    text = leak()._repr_html_()
    assert text == html.fragment(leak())
    page = Page(text)
    assert not {"script", "style"} & {tag for tag, _, _ in page.elements}
    shown = {f"{floor_to(b.value, 3):.3f}" for b in leak().bounds}
    assert shown <= set(page.texts("td"))
    assert "script" not in {
        tag for tag, _, _ in Page(html.fragment(hostile("membership"))).elements
    }


def test_write_is_the_page_even_with_half_a_surrogate(tmp_path: Any) -> None:
    result = Result("membership", Verdict("leak", True, "broken \ud800 text"), ())
    html.write(result, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text == html.page(result)
    assert "broken ⟨U+D800⟩ text" in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.57, "0.57"),
        (0.69456, "0.694"),
        (-0.0004, "-0.0004"),
        (-1.2345, "-1.235"),
        (0.00771, "0.00771"),
        (0.007719, "0.00771"),
        (20.0, "20"),
        (0.0, "0"),
        (1e-5, "1e-05"),
        (3e20, "3e+20"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_are_rounded_down(value: float, shown: str) -> None:
    assert wording.number(value) == shown


def test_percent_is_rounded_down() -> None:
    assert [wording.percent(p) for p in (0.95, 0.975, 0.9999996, 1.0)] == [
        "95%",
        "97.5%",
        "99.999%",
        "100%",
    ]


def test_long_lists_are_cut() -> None:
    assert shape(list(range(25))).text.endswith("18, 19 … and 5 more")
    assert shape([]).text == "none"
    assert shape([[1], [2]]).pairs[1][1].text == "2"
