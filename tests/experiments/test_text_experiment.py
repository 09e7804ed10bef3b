"""The text experiment, on invented novels in R's format: complete, resumable, readable."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'language'")
pytest.importorskip("transformers", reason="needs the extra 'language'")

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
import panoramia_text
from austen import chapters, novels
from r_data import SENTENCE, packed

from divulge.data import tables
from divulge.errors import InputError
from divulge.models.chunks import token_matrix
from divulge.models.language import load


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "Rdata.rdb"
    rng, raw = np.random.default_rng(0), b""
    for title in ("EMMA", "MANSFIELD PARK", "Persuasion"):
        lines = [title, ""]
        for chapter in range(4):
            lines += [f"Chapter {chapter + 1}", ""]
            lines += [" ".join(rng.choice(SENTENCE.split(), 12)) + "." for _ in range(25)]
        raw += packed(lines)
    path.write_bytes(raw)
    return path


def test_reads_novels_and_chapters(library):
    found = novels(library)
    assert list(found) == ["EMMA", "MANSFIELD PARK", "PERSUASION"]
    parts = chapters(found["PERSUASION"], "PERSUASION")
    assert list(parts) == [f"Persuasion {i}" for i in range(1, 5)]
    assert not any("Chapter" in text or "\n" in text for text in parts.values())


def test_says_what_is_wrong_with_the_file(library, tmp_path):
    with pytest.raises(InputError, match="make text"):
        novels(tmp_path / "none")
    damaged = tmp_path / "damaged.rdb"
    damaged.write_bytes(library.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"Cannot read|not the file"):
        novels(damaged)


def test_area_is_the_share_of_ordered_pairs():
    area = panoramia_text.area
    assert area(np.array([1.0, 2.0]), np.array([3.0, 4.0])) == 1.0
    assert area(np.array([1.0, 4.0]), np.array([1.0, 5.0])) == pytest.approx(0.625)


def test_runs_and_resumes(library, tmp_path, monkeypatch, capsys):
    pytest.importorskip("opacus", reason="needs the extra 'dpsgd'")
    sizes = panoramia_text.Sizes(
        members=60,
        nonmembers=30,
        generated=40,
        length=8,
        most=40,
        vocabulary=320,
        layers=1,
        width=16,
        batch=16,
        pretraining=1,
        snapshots=(1, 12),
        generator=1,
        helper=1,
        private=1,
        private_batch=20,
        epsilons=(2.0,),
        rate=1e-2,
    )
    monkeypatch.setattr(panoramia_text, "QUICK", sizes)
    arguments = ["--text", str(library), "--out", str(tmp_path), "--quick"]
    panoramia_text.main(arguments)
    assert "DP-SGD, epoch 1" in capsys.readouterr().out
    losses = {}
    for target in ("E1", "E12", "DP2"):
        folder = tmp_path / "quick" / target
        for part, rows in (("members", 30), ("generated", 20), ("nonmembers", 30)):
            frame = tables.read(folder / f"{part}.parquet")
            assert len(frame) == rows
            for column in ("target_loss", "helper_loss", "reference_min_k", "public_zlib", "e_15"):
                assert np.isfinite(tables.numbers(frame, column, part)).all()
        members = tables.read(folder / "members.parquet")
        losses[target] = members["target_loss"].to_numpy()
        again = load(folder / "model").losses(token_matrix(members))
        assert again == pytest.approx(losses[target], abs=1e-4)
    assert losses["E12"].mean() < losses["E1"].mean()
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "pieces").iterdir()}
    panoramia_text.main(arguments)
    assert "epoch" not in capsys.readouterr().out
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "pieces").iterdir()} == before
