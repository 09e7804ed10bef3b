"""The experiment with hashes in a language model, on invented novels: complete, and in tables."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'language'")
pytest.importorskip("transformers", reason="needs the extra 'language'")

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
import lineup_language
from lineup_language import OTHER, OWN, PUBLIC, Sizes
from r_data import SENTENCE, packed

TINY = Sizes(hashes=20, words=4, pretraining=20, epochs=2, layers=1, width=16, texts=20, scored=40,
             games=2)  # fmt: skip


@pytest.fixture
def library(tmp_path):
    rng, raw = np.random.default_rng(0), b""
    for title in (*PUBLIC, OWN, OTHER):
        lines = [title, "", "Chapter 1", ""]
        lines += [" ".join(rng.choice(SENTENCE.split(), 12)) + "." for _ in range(220)]
        raw += packed(lines)
    path = tmp_path / "Rdata.rdb"
    path.write_bytes(raw)
    return path


@pytest.mark.slow
def test_both_tables_are_complete(library):
    said: list[str] = []
    leaks, nulls = lineup_language.run(library, TINY, 0, said.append)
    assert leaks.row_count == 9
    assert nulls.row_count == 13
    assert list(nulls.columns[2].cells)[-1] == "24"
    assert any("60 line-ups scored, 0 void" in text for text in said)


def test_a_missing_file_is_one_message(tmp_path, capsys):
    assert lineup_language.main(["--text", str(tmp_path / "none.rdb")]) == 2
    assert "make text" in " ".join(capsys.readouterr().out.split())


def test_the_interval_is_that_of_clopper_and_pearson():
    found = lineup_language.interval(0, 100)
    assert found.startswith("0.0% to 3.")
