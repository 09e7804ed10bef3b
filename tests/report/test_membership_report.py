"""How a membership audit is shown where helpers climbed a ladder."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markup import Page
from sample import sample

from divulge.report import html, membership
from divulge.result import Diagnostics

pytest.importorskip("altair", reason="altair is in the extra report")
RESULT = sample("membership", "ladder")
HELD = RESULT.diagnostics.ladder


def test_the_ladder_is_drawn_rung_by_rung() -> None:
    drawing = membership.ladder(RESULT.diagnostics).to_dict()
    (rows,) = drawing["datasets"].values()
    pure = [r for r in HELD.rungs if r.parameter == "epsilon" and r.delta == 0.0]
    assert len(pure) == 2
    assert [(r["records"], r["bias"], r["upper"]) for r in rows] == [
        (r.records, r.bias, r.upper) for r in pure
    ]
    fields = [layer["encoding"]["y"]["field"] for layer in drawing["layer"]]
    assert sorted(fields) == ["bias", "bias", "upper"]
    assert drawing["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"


def test_the_page_says_what_the_ladder_leaves() -> None:
    page = Page(html.page(RESULT))
    assert membership.LADDER.title in page.texts("h3")
    assert "chart-ladder" in [a.get("id") for tag, a, _ in page.elements if tag == "div"]
    assert any(HELD.sentence in caption for caption in page.texts("figcaption"))
    told = dict(zip(page.texts("dt"), page.texts("dd"), strict=True))
    assert told["adjusted epsilon, if the ladder holds"] == "1.084"
    assert HELD.adjusted_epsilon > 1.084  # rounded down
    assert told["doublings"] == "2"


def test_a_ladder_that_was_not_climbed_is_words_only() -> None:
    bare = replace(HELD, rungs=(), adjusted=(), extrapolable=False)
    assert membership.ladder(Diagnostics(ladder=bare)) is None
    assert membership.ladder(Diagnostics()) is None
    assert membership.remarks(Diagnostics(ladder=bare)) == (HELD.sentence,)
