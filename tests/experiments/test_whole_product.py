"""Audits drawn at random, from files to JSON: what is drawn is what a command can play."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import run

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
whole_product = importlib.import_module("whole_product")


def drawn(game, folder: Path, seed: int):
    rng = np.random.default_rng(seed)
    return game(folder, rng, lambda *words: run(*words, cwd=folder))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scores", "planned", "lined_up", "labelled", "retrained"])
def test_a_drawn_audit_is_played_and_judged(name, tmp_path):
    audit = drawn(getattr(whole_product, name), tmp_path, 3)
    done = run(*audit.words, "--out", "result.json", cwd=tmp_path)
    assert done.returncode in (0, 3), done.stderr
    for bound in json.loads((tmp_path / "result.json").read_text())["bounds"]:
        if bound["headline"]:
            assert audit.truth(bound["parameter"], bound["delta"]) >= 0.0


def test_the_same_number_is_the_same_audit(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    one, other = (drawn(whole_product.shifted, tmp_path / folder, 7) for folder in ("a", "b"))
    assert one.words == other.words
    files = [sorted((tmp_path / folder).iterdir())[0].read_bytes() for folder in ("a", "b")]
    assert files[0] == files[1]


def test_false_claims_and_crashes_are_told(capsys):
    from rich.console import Console

    played = [
        whole_product.Played(
            0, "lineup (null)", 0, false=True, excess=0.2, power=None, seconds=1.0
        ),
        whole_product.Played(1, "lineup (leak)", 0, power=0.5, seconds=2.0),
        whole_product.Played(2, "canaries (null)", 1, seconds=1.0, error="canaries audit: broken"),
    ]
    whole_product.show(played, Console(width=110))
    told = " ".join(capsys.readouterr().out.split())
    assert "1 of 3 audits claim falsely" in told
    assert "crash 2: canaries audit: broken" in told


@pytest.mark.slow
def test_an_audit_is_kept(tmp_path):
    first = whole_product.kept(5, 0, tmp_path)
    assert first.code in (0, 3)
    assert whole_product.kept(5, 0, tmp_path) == first
