"""The DP-SGD experiment at a tiny size: what is trained on, what is written, what is said."""

from __future__ import annotations

import importlib.util
import io
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

PATH = Path(__file__).parents[2] / "experiments" / "dp_sgd.py"
spec = importlib.util.spec_from_file_location("experiment_dp_sgd", PATH)
dp_sgd = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = dp_sgd  # dataclasses look their module up
spec.loader.exec_module(dp_sgd)

TINY = dp_sgd.Setting(records=200, canaries=60, steps=4, features=12, hidden=3, rehearsed=2)


def line(attack: str, epsilon: float, strategy: str = "random") -> dict[str, object]:
    same = {"noise": 0.4, "guarantee": 9.0, "run": 0, "auc": 0.5, "mu": 0.0, "accuracy": 0.9}
    return {**same, "canaries": strategy, "attack": attack, "epsilon": epsilon}


def test_a_run_is_given_the_included_canaries_and_all_the_others():
    seen = []

    def spy(run):
        seen.append(run)
        return dp_sgd.plain(run)

    lines = dp_sgd.play(TINY, 1.0, "random", 0, spy, dp_sgd.rehearse_plain)
    (run,) = seen
    rows = {r.tobytes() for r in run.training.pixels}
    shown = [r.tobytes() in rows for r in run.canaries.pixels]
    assert len(run.training.labels) == 140 + sum(shown)
    assert all(r.tobytes() in rows for r in run.others.pixels)
    assert 15 < sum(shown) < 45
    assert [entry["attack"] for entry in lines] == list(dp_sgd.ATTACKS)


@pytest.mark.slow
def test_the_table_and_the_file(tmp_path, monkeypatch, capsys):
    pytest.importorskip("dp_accounting", reason="the guarantee needs dp-accounting")
    monkeypatch.setattr(dp_sgd, "QUICK", TINY)
    out = tmp_path / "deep" / "dp.csv"
    dp_sgd.main(["--plain", "--quick", "--noise", "0.6", "3", "--out", str(out)])
    text = out.read_text().splitlines()
    assert text[0].split(",") == list(dp_sgd.COLUMNS)
    assert len(text) == 1 + 2 * 2 * 3
    assert "guaranteed" in capsys.readouterr().out


def test_the_network_learns_by_opacus_and_is_scored():
    pytest.importorskip("opacus", reason="needs the extra dpsgd: run `make dpsgd`")
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = dp_sgd.play(TINY, 1.0, "mahalanobis", 0, dp_sgd.opacus, dp_sgd.rehearse_opacus)
    assert all(np.isfinite(entry["auc"]) for entry in lines)


def test_the_verdict_says_whether_the_white_box_proves_twice_as_much():
    def said(black: float, white: float) -> str:
        return dp_sgd.verdict(
            [
                line(attack, value, strategy)
                for strategy in dp_sgd.STRATEGIES
                for attack, value in (("black box", black), ("white box", white))
            ]
        )

    assert "at least 2 times" in said(0.4, 0.8)
    assert "at least 2 times" in said(0.0, 0.1)
    assert "not 2 times" in said(0.4, 0.7)
    assert "hide" in said(0.0, 0.0)


def test_show_averages_over_runs():
    console = Console(width=140, record=True, file=io.StringIO())
    lines = [line(a, e, s) for s in dp_sgd.STRATEGIES for a in dp_sgd.ATTACKS for e in (1.0, 2.0)]
    dp_sgd.show(lines, console)
    assert "1.50 (0.50)" in console.export_text()
