"""Dirac canaries and GLiR at a tiny size; an attack with a similar record in hand."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "experiments"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"experiment_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


dirac, similar = load("dirac_canaries"), load("similar_record")


def test_the_likelihood_ratio_has_the_power_of_the_formula_and_the_centre_none():
    """Distance from the record is as good as the ratio; distance from the centre sees nothing."""
    found = dirac.one_mean(5.0, 5000, 40_000, np.random.default_rng(0))
    ratio, record, centre, formula = found[4:]
    assert ratio == pytest.approx(formula, abs=0.015)
    assert record == pytest.approx(formula, abs=0.015)
    assert 0.09 < centre < 0.14


def test_every_kind_of_canary_is_trained_and_scored(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(dirac, "QUICK", dirac.Setting(160, 20, steps=3, rehearsed=2))
    out = tmp_path / "deep" / "dirac.csv"
    dirac.main(["--quick", "--noise", "1", "--games", "500", "--out", str(out)])
    text = out.read_text().splitlines()
    assert text[0].split(",") == list(dirac.COLUMNS)
    assert len(text) == 1 + 2 * 3
    assert "within a run" in capsys.readouterr().out


def test_dirac_canaries_are_recognised():
    """Little noise and a canary in nearly every step: the coins are read off."""
    setting = dirac.Setting(records=300, canaries=30, rate=0.5, steps=12, rehearsed=2)
    found = dirac.play(setting, 0.3, "dirac", 0)
    assert found["likelihood ratio"] > 0.95


def test_a_similar_record_does_what_the_theorem_says(tmp_path, capsys):
    lines = similar.rows(20_000, 0)
    for line in lines:
        assert line["seen"] == pytest.approx(line["theorem"], abs=0.02)
    pytest.importorskip("altair", reason="altair is in the extra report")
    similar.main(["--quick", "--out", str(tmp_path / "figure.svg")])
    assert (tmp_path / "figure.svg").read_text().startswith("<svg")
    assert "Theorem 4.5" in capsys.readouterr().out
