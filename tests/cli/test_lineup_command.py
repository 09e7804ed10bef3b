"""The lineup command, from files to exit codes."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from commands import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("lineup")
    rng = np.random.default_rng(0)
    score = rng.normal(size=(200, 8))
    score[:, 0] += 2.0
    table = pd.DataFrame(score, columns=[f"s_{j}" for j in range(8)])
    table.assign(key=[f"person {i} here" for i in range(200)], n=1).to_csv(
        place / "wide.csv", index=False
    )
    table[:10].to_csv(place / "few.csv", index=False)
    table.assign(s_3=table["s_3"].where(table.index != 9)).to_csv(place / "gaps.csv", index=False)
    return place


def test_from_a_table_to_a_result_a_report_and_ranks(folder):
    done = run(
        "lineup", "wide.csv", "--id", "key", "--copies", "n", "--delta", "1e-6", "--out",
        "result.json", "--report", "report.html", "--table", "ranks.csv", "--claim",
        "epsilon=0.1,delta=1e-6", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("LEAK")
    assert "mean rank" in done.stdout
    result = json.loads((folder / "result.json").read_text())
    assert result["game"] == "lineup"
    assert {b["delta"] for b in result["bounds"]} == {None, 0.0, 1e-6}
    page = (folder / "report.html").read_text()
    assert "How do the true values rank among their alternatives?" in page
    assert "rank of the true value" in page
    assert "person 17 here" not in page
    assert len(pd.read_csv(folder / "ranks.csv")) == 200


def test_nothing_can_be_concluded_from_few(folder):
    done = run("lineup", "few.csv", "--table", "none.csv", "--json", cwd=folder)
    assert done.returncode == 3
    assert json.loads(done.stdout)["verdict"]["status"] == "cannot conclude"
    assert not (folder / "none.csv").exists()


def test_bad_scores_are_refused_and_nothing_is_written(folder):
    done = run("lineup", "gaps.csv", "--out", "bad.json", cwd=folder)
    assert done.returncode == 2
    assert "'s_3' of the table must be finite" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "bad.json").exists()


LONG = {"id": np.repeat(np.arange(40), 4), "true": [1, 0, 0, 0] * 40, "v": np.arange(160)}


@pytest.mark.parametrize(
    ("table", "words", "message"),
    [
        ({"v": [12 if k == 13 else k for k in range(160)]}, ("--value", "v"),
         "Line-up 3 (row 12): an alternative equals the true value"),
        ({"id": [9 if k == 160 - 1 else k // 4 for k in range(160)]}, (),
         "The line-up 9 of the table (row 36) has 5 candidates where others have 4"),
        ({"score": [np.nan if k == 77 else 1.0 for k in range(160)]}, (),
         "'score' of the table must be finite. Found nan in row 77"),
        ({"true": [0 if k == 8 else int(k % 4 == 0) for k in range(160)]}, (),
         "The line-up 2 of the table (row 8) must have one true candidate. It has 0"),
    ],
)  # fmt: skip
def test_bad_line_ups_are_one_error_with_the_row(tmp_path, table, words, message):
    score = np.random.default_rng(0).normal(size=160)
    pd.DataFrame({**LONG, "score": score, **table}).to_csv(tmp_path / "t.csv", index=False)
    done = run("lineup", "t.csv", "--id", "id", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.split())


def test_a_recipe_that_cannot_make_the_true_value(tmp_path, monkeypatch):
    keys = [f"{k:06d}" for k in range(40)]
    keys[5] = "12ab"
    table = pd.DataFrame({"text": [f"the key is {k}" for k in keys], "key": keys})
    table.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "own_flat_model.py").write_text("def loss(rows):\n    return [0.0] * len(rows)\n")
    monkeypatch.syspath_prepend(tmp_path)
    done = run(
        "lineup", "t.csv", "--model", "own_flat_model:loss", "--text", "text", "--value", "key",
        "--draw", "digits:6", "--attack", "loss", "--no-cache", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert "row 5 that digits:6 cannot draw: it has 4 characters" in " ".join(done.stderr.split())
