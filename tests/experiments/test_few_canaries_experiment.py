"""The experiment with few canaries at a tiny size: who is trained on, and what is told."""

from __future__ import annotations

import importlib.util
import io
import sys
from pathlib import Path

import numpy as np
from rich.console import Console

PATH = Path(__file__).parents[2] / "experiments" / "few_canaries.py"
spec = importlib.util.spec_from_file_location("experiment_few_canaries", PATH)
few = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = few  # dataclasses look their module up
spec.loader.exec_module(few)


def test_every_kind_of_canary_is_trained_and_scored(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(few, "QUICK", few.Setting(160, 20, steps=2, rehearsed=2))
    out = tmp_path / "deep" / "few.csv"
    few.main(["--quick", "--noise", "1", "--runs", "2", "--out", str(out)])
    text = out.read_text().splitlines()
    assert text[0].split(",") == list(few.COLUMNS)
    assert len(text) == 1 + 2 * 4 * 4
    assert "Paired differences" in capsys.readouterr().out


def test_differences_are_paired_by_run():
    lines = [
        {
            "noise": 1.0,
            "canaries": c,
            "run": r,
            "score": s,
            "auc": 0.5 + 0.1 * r + (c == "norm") / 8,
        }
        for c in few.STRATEGIES
        for r in (1, 0)
        for s in few.SCORES
    ]
    assert np.allclose(few.column(lines, 1.0, "random", "known, sum"), [0.5, 0.6])
    console = Console(width=200, record=True, file=io.StringIO())
    few.show(lines, console)
    assert "+0.125 +- 0.000" in console.export_text()
