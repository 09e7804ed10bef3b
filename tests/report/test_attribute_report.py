"""What only the report of the attribute game shows: the proxy, the replays, the budget."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from markup import Page
from sample import page, sample

from divulge.report import attribute
from divulge.report.presentation import presentation
from divulge.result import Diagnostics
from divulge.result.of_values import Budget, CalibrationRecord, Proxy

HELD = sample("attribute").diagnostics
SECTIONS = {section.key: section for section in presentation("attribute").sections}


def rows_of(drawing: Any) -> list[dict[str, Any]]:
    assert drawing is not None
    return [row for rows in drawing.to_dict()["datasets"].values() for row in rows]


@pytest.fixture(scope="module")
def text() -> str:
    return page("attribute")


def test_the_words_are_those_of_the_game(text: str) -> None:
    for section in SECTIONS.values():
        titles = [section.title, section.caption, *(panel.title for panel in section.panels)]
        drawn = [panel.draw(HELD) for panel in section.panels]
        said = " ".join([*titles, *(json.dumps(d.to_dict()) for d in drawn if d is not None)])
        assert "member" not in said
        assert "accused" not in said
    shown = " ".join(Page(text[: text.rindex("<script>")]).texts("body"))
    for phrase in (
        "share of true values recognised",
        "the share of other values taken for true",
        "Low false-positive rates",
        "odds that the value is the true one",
        "what it achieves is an error of the proxy, not a leak",
    ):
        assert phrase in shown


def test_membership_keeps_its_words() -> None:
    whole = page("membership")
    shown = whole[: whole.rindex("<script>")]
    for phrase in (
        "Up: the true-positive rate, the share of members recognised. Across: the "
        "false-positive rate, the share of non-members taken for members.",
        '"title": "false-positive rate"',
        '"title": "true-positive rate"',
        "how far the propensity may be off",
        "odds that a record was used: by a factor",
        '"title": "propensity to be a member"',
    ):
        assert phrase in shown
    for phrase in ("proxy", "drawn value", "true value", "replay"):
        assert phrase not in shown


def test_the_agreement_is_a_sentence_that_is_rounded_down(text: str) -> None:
    assert HELD.proxy is not None
    sentence = attribute.agreement(HELD.proxy)
    assert Page(text).texts("figcaption")[0].endswith(sentence)
    assert attribute.agreement(replace(HELD.proxy, agreement=0.99999)).endswith(
        "in 99.9% of the records; in the published game these trials carry no information."
    )


def test_calibration_draws_points_with_their_counts() -> None:
    rows = [row for row in rows_of(attribute.calibration(HELD)) if "series" in row]
    assert HELD.proxy is not None
    given = HELD.proxy.calibration
    assert len(rows) == len(given["proxy"]) + len(given["target"])
    first = next(row for row in rows if row["series"] == "proxy")
    assert first["count"] == given["proxy"][0].count


def test_few_models_are_drawn_and_names_are_kept_apart() -> None:
    point = CalibrationRecord(predicted=0.5, observed=0.4, count=3)
    assert HELD.proxy is not None
    proxy: Proxy = replace(
        HELD.proxy,
        calibration=dict.fromkeys(("a", "b", "proxy", "c", "target"), (point,)),
        log_loss={f"model {i}": i / 100 for i in range(50)} | {"none": None},
    )
    shown = [row["series"] for row in attribute.calibrated(proxy)]
    assert shown == ["target", "proxy", "a"]
    assert len(rows_of(attribute.log_loss(Diagnostics(proxy=proxy)))) == attribute.BARS
    unknown = replace(proxy, log_loss={"a": None})
    assert attribute.log_loss(Diagnostics(proxy=unknown)) is None


def test_replays_mark_the_combined_bound_rounded_down() -> None:
    coins = sample("attribute", "repetitions").diagnostics.repetitions
    assert coins is not None
    given = replace(coins, combined_epsilon=1.7349, combined_mu=None)
    held = Diagnostics(repetitions=given)
    said = json.dumps(rows_of(attribute.replays_epsilon(held)))
    assert "the bound: 1.734" in said
    assert "the bound" not in json.dumps(rows_of(attribute.replays_mu(held)))
    assert attribute.replays_mu(Diagnostics(repetitions=replace(given, mu=()))) is None


def test_a_budget_of_nothing_is_said_in_words() -> None:
    given = (
        Budget(tau=0.0, epsilon=1.7349, mu=None),
        Budget(tau=1e-3, epsilon=1.2, mu=1.0),
    )
    rows = rows_of(attribute.tau(Diagnostics(tau=given)))
    assert [row["tau"] for row in rows] == [1e-3, 1e-3]
    assert SECTIONS["tau"].note(given) == "For a proxy without error: epsilon 1.734."
    assert SECTIONS["tau"].note(given[1:]) == ""
    assert attribute.tau(Diagnostics(tau=given[:1])) is None
    many = tuple(Budget(tau=10.0 ** (-i), epsilon=1.0, mu=1.0) for i in range(100))
    assert SECTIONS["tau"].numbers(many) is None
