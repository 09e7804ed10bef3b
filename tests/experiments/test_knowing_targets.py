"""The experiment with targets that know the population, as small as it may be."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
import knowing_targets
import pytest


@pytest.mark.slow
def test_a_row_per_target_and_seed(capsys):
    words = ["--members", "300", "--seeds", "1", "--columns", "6", "--rows", "trees, seen"]
    knowing_targets.main(words)
    out = capsys.readouterr().out
    assert out.count("trees, seen") == 1
    for heading in ("features", "adjusted", "doublings"):
        assert heading in out
