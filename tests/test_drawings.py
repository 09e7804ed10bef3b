"""The drawings of the ideas: every number that they show stands on the page of the evidence."""

from __future__ import annotations

import importlib.util

import pages
import pytest

SPEC = importlib.util.spec_from_file_location("figures", pages.ROOT / "docs/scripts/figures.py")
figures = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(figures)
PAGE = pages.ROOT / "docs/evidence/drawings.md"


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n != "tradeoff")) for n in figures.FIGURES],
)
def test_they_print_what_the_page_says(name, capsys):
    rows, chart = figures.FIGURES[name]()
    printed = f"{name}:\n{capsys.readouterr().out}"
    (block,) = pages.blocks("text", pages=[PAGE])
    assert printed in block.text
    assert {row["line"] for row in rows}
    assert set(rows[0]) >= {chart["encoding"][axis]["field"] for axis in ("x", "y", "color")}
