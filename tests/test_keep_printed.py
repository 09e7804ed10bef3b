"""Which printed tables may be kept: those of scripts that never name what leads to a change."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "tools" / "keep_printed.py"


@pytest.fixture(scope="module")
def keep_printed():
    spec = importlib.util.spec_from_file_location("keep_printed", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ("audit(table, propensity='pi')", True),
        ("audit(table, propensity=None)", False),
        ("run(['divulge', '--propensity', 'pi'])", True),
        ("'''About the propensity.'''\naudit(table)  # no propensity", False),
        ("from divulge.shift import propensity", True),
        ("shift.propensity(table)", True),
        ("propensity(table)", True),
        ("audit(table, score='loss')", False),
    ],
)
def test_a_word_is_found_wherever_it_may_lead_to_the_change(keep_printed, code, named):
    assert keep_printed.names(ast.parse(code), "propensity") is named
