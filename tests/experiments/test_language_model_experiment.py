"""The experiment with later text, on invented novels: complete, resumable, readable."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'language'")
pytest.importorskip("transformers", reason="needs the extra 'language'")

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
from r_data import SENTENCE, packed

import language_model

TINY = language_model.Sizes(
    length=8,
    vocabulary=320,
    layers=1,
    width=16,
    batch=64,
    pretraining=1,
    later=150,
)


@pytest.fixture
def library(tmp_path):
    path = tmp_path / "Rdata.rdb"
    rng, raw = np.random.default_rng(0), b""
    words = SENTENCE.split()
    for k, title in enumerate(("MANSFIELD PARK", "EMMA", "PERSUASION")):
        lines = [title, ""]
        for chapter in range(6):
            lines += [f"Chapter {chapter + 1}", ""]
            lines += [" ".join(rng.choice(words[k : k + 14], 12)) + "." for _ in range(25)]
        raw += packed(lines)
    path.write_bytes(raw)
    return path


@pytest.mark.slow
def test_three_audits_of_one_model_and_nothing_twice(library, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(language_model, "EARLY", ("EMMA",))
    monkeypatch.setattr(language_model, "LATER", ("PERSUASION",))
    monkeypatch.setattr(language_model, "QUICK", TINY)
    words = ["--text", str(library), "--out", str(tmp_path / "out"), "--epochs", "1", "--quick"]
    language_model.main(words)
    first = capsys.readouterr()
    for arm in language_model.ARMS:
        assert arm in first.out
    assert "epoch 1" in first.err

    def refuse(*_, **__):
        raise AssertionError("trained again")

    monkeypatch.setattr(language_model.finetune, "finetune", refuse)
    language_model.main(words)
    assert capsys.readouterr().out == first.out


def test_a_missing_library_is_one_line(tmp_path):
    with pytest.raises(SystemExit, match="make text"):
        language_model.main(["--text", str(tmp_path / "none"), "--out", str(tmp_path)])
