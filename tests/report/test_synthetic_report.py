"""What only the report of members against generated records shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from markup import Page
from sample import page as page_of
from sample import pinned, sample

from divulge.report import html, synthetic
from divulge.report.presentation import presentation
from divulge.result import Diagnostics

HELD = sample("synthetic").diagnostics
SECTIONS = {section.key: section for section in presentation("synthetic").sections}


def rows_of(drawing: Any) -> list[dict[str, Any]]:
    assert drawing is not None
    return [row for rows in drawing.to_dict()["datasets"].values() for row in rows]


def test_a_newcomer_is_told_what_is_compared() -> None:
    text = page_of("synthetic")
    shown = " ".join(Page(text[: text.index("<script type=")]).texts("body"))
    for phrase in (
        "The baseline sees the record and never the model",
        "the gap between the two is what matters",
        "it is the spread of splits and coins alone, and not a bound.",
        "bars below count generated records",
        "Low false-positive rates",
        "the hidden flaw of the generator that would",
    ):
        assert phrase in shown
    assert "accused" not in shown


def test_both_guessers_are_drawn_in_the_order_of_their_levels() -> None:
    for draw in (synthetic.precision, synthetic.guesses, synthetic.proven):
        rows = [row for row in rows_of(draw(HELD)) if "guesser" in row]
        assert {row["guesser"] for row in rows} == {"baseline", "attack"}
        assert rows == sorted(rows, key=lambda row: row["place"])


def test_the_line_without_a_wrong_guess_ends_at_the_members() -> None:
    ends = [row for row in rows_of(synthetic.guesses(HELD)) if "guesser" not in row]
    members = sample("synthetic").trials["members"]
    assert ends[0] == {"recall": 0.0, "guesses": 0.0}
    assert abs(ends[1]["guesses"] - members) < 1e-6


def test_the_largest_value_is_that_of_every_level() -> None:
    assert HELD.rules is not None
    every = tuple(replace(r, c_lb=0.2199, c_plus_epsilon_lb=9.5) for r in HELD.rules)
    marks = [r for r in rows_of(synthetic.proven(replace(HELD, rules=every))) if "at" in r]
    assert [row["what"] for row in marks] == ["baseline: 0.219", "attack: 9.5"]
    marks = [r for r in rows_of(synthetic.proven(replace(HELD, rules=None))) if "at" in r]
    assert len(marks) == 2


def test_repeats_show_mean_interval_and_single_values() -> None:
    assert HELD.repeats is not None
    rows = rows_of(synthetic.repeats(HELD))
    assert sum("value" in row for row in rows) == 3 * HELD.repeats.count
    assert SECTIONS["repeats"].facts(HELD.repeats) == {"repeats": HELD.repeats.count}
    lost = replace(HELD.repeats, c_lb=replace(HELD.repeats.c_lb, mean=None))
    left = synthetic.spreads(lost)
    assert [row["figure"] for row in left] == ["{c + epsilon}_lb", "epsilon~"]


def test_long_curves_are_not_a_table() -> None:
    assert HELD.recall is not None
    assert SECTIONS["recall"].numbers(HELD.recall) is None
    first = {k: v[:5] for k, v in HELD.recall.attack.__dict__.items()}
    short = replace(HELD.recall.attack, **first)
    rows = SECTIONS["recall"].numbers(replace(HELD.recall, baseline=short, attack=short))
    assert len(rows) == 10
    assert set(rows[0]) == {"guesser", "recall", "precision", "guesses", "lower"}


def test_other_games_do_not_have_its_sections() -> None:
    for game in ("membership", "attribute", "canaries", "retraining", "leakage"):
        keys = {section.key for section in presentation(game).sections}
        assert not {"recall", "repeats"} & keys
    assert synthetic.proven(Diagnostics()) is None


def test_a_control_is_a_table() -> None:
    page = Page(html.page(pinned("synthetic-control")))
    title = presentation("synthetic").checks["negative_control"][0]
    assert title in page.texts("h3")
