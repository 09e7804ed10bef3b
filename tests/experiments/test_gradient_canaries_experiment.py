"""The experiment with gradient canaries at a tiny size: ideal scores, the table, the file."""

from __future__ import annotations

import importlib.util
import io
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

PATH = Path(__file__).parents[2] / "experiments" / "gradient_canaries.py"
spec = importlib.util.spec_from_file_location("experiment_gradient_canaries", PATH)
experiment = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = experiment  # dataclasses look their module up
spec.loader.exec_module(experiment)


def test_ideal_scores_tell_the_coins_as_well_as_the_mechanism_lets_them():
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(4000) < 0.5, 1.0, -1.0)
    setting = experiment.Setting(rate=1.0, steps=4)
    score = experiment.ideal(setting, 2.0, truth, rng)
    won = np.mean(score[truth > 0][:, None] > score[truth < 0][None])
    assert abs(won - 0.7602) < 0.02  # Phi(mu / sqrt 2) at mu = 1


def test_show_averages_over_runs():
    lines = [
        {"canaries": 500, "scores": kind, "guarantee": 2.0, "epsilon": e, "auc": 0.7, "accuracy": 1}
        for kind, e in (("ideal", 1.0), ("ideal", 2.0), ("one-hot", 1.2), ("one-hot", 2.1))
    ]
    console = Console(width=140, record=True, file=io.StringIO())
    experiment.show(lines, console)
    text = console.export_text()
    assert "110%" in text
    (row,) = [line for line in text.splitlines() if "one-hot" in line]
    assert row.strip("│").split("│")[7].strip() == "1"


def test_a_small_network_is_trained_and_audited(tmp_path, capsys):
    pytest.importorskip("dp_accounting", reason="the guarantee needs dp-accounting")
    pytest.importorskip("opacus", reason="needs the extra dpsgd: run `make dpsgd`")
    out = tmp_path / "deep" / "g.csv"
    experiment.main(["--quick", "--canaries", "60", "--runs", "1", "--out", str(out)])
    assert len(out.read_text().splitlines()) == 4
    assert "guaranteed" in capsys.readouterr().out
