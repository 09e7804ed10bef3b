"""``--map OLD=NEW`` and elements of lists on the command line, and what a table of scores keeps."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import BUILT, run

RNG = np.random.default_rng(0)
MEMBER = np.arange(300) % 2 == 0
LOSS = RNG.normal(size=300) - 3.0 * MEMBER
TABLES = ("membership", "attribute", "synthetic", "retraining", "lineup", "leakage", "score",
          "shadows", "audit")  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    emb = np.column_stack([RNG.normal(size=300), LOSS])
    pq.write_table(pa.table({"split": MEMBER, "emb": list(emb)}), tmp_path / "scores.parquet")
    return tmp_path


def test_every_command_that_reads_records_has_it():
    inner = BUILT.commands["canaries"].commands
    found = {**{n: BUILT.commands[n] for n in TABLES}, **inner}
    for name, command in found.items():
        assert any("--map" in p.opts for p in command.params), name


def test_an_audit_under_other_names(folder):
    words = ("--map", "split=member", "--map", "emb[1]=loss", "--json")
    done = run("membership", "scores.parquet", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    pq.write_table(pa.table({"member": MEMBER, "loss": LOSS}), folder / "plain.parquet")
    same = run("membership", "plain.parquet", "--json", cwd=folder)
    assert json.loads(done.stdout)["bounds"] == json.loads(same.stdout)["bounds"]


def test_the_choice_of_a_game_says_what_was_mapped(folder):
    words = ("--map", "split=member", "--map", "emb[1]=loss")
    done = run("audit", "scores.parquet", *words, "--explain", cwd=folder)
    assert done.returncode == 0, done.stderr
    said = re.search(r"The same as: divulge (.*)", done.stderr)[1]
    assert "scores.parquet" in said
    assert "--map split=member --map 'emb[1]=loss'" in said


def test_counts_under_other_names(tmp_path):
    (tmp_path / "c.csv").write_text("fp,negatives,fn,positives\n" + "40,100,38,100\n" * 4)
    done = run(
        "retraining", "c.csv", "--map", "fp=false_positives", "--map", "fn=false_negatives",
        "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--map", "splt=member"), "rename (--map): the input has no column 'splt'"),
        (("--map", "splt=member"), "Did you mean 'split'?"),
        (("--map", "split"), "--map is OLD=NEW"),
        (("--map", "split=emb"), "rename (--map): the table already has a column 'emb'"),
        (("--truth", "split", "--score", "emb[7]"), "has 2 elements"),
    ],
)
def test_errors_are_one_line(folder, words, message):
    done = run("membership", "scores.parquet", *words, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_table_of_scores_keeps_what_the_audit_needs(tmp_path):
    skops = pytest.importorskip("skops.io")
    from sklearn.linear_model import LogisticRegression

    x, y = RNG.normal(size=(300, 2)), np.arange(300) % 2
    skops.dump(LogisticRegression().fit(x, y), tmp_path / "m.skops")
    table = pa.table(
        {"patient": [f"p{k}" for k in range(300)], "member": MEMBER, "a": x[:, 0], "b": x[:, 1],
         "y": y, "date": np.arange(300)}
    )  # fmt: skip
    pq.write_table(table, tmp_path / "r.parquet")
    words = ("score", "r.parquet", "--model", "m.skops", "--features", "a,b", "--label", "y",
             "--attack", "loss", "--table", "s.parquet", "--no-cache")  # fmt: skip
    done = run(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert pq.read_schema(tmp_path / "s.parquet").names == ["member", "a", "b", "y", "loss"]
    assert "leaves out 'patient', 'date'" in done.stderr
    done = run(*words, "--keep", "date", cwd=tmp_path)
    assert pq.read_schema(tmp_path / "s.parquet").names == [
        "member", "a", "b", "y", "date", "loss",
    ]  # fmt: skip
    assert "leaves out 'patient'." in done.stderr
    done = run(*words, "--keep", "*", cwd=tmp_path)
    assert pq.read_schema(tmp_path / "s.parquet").names == [*table.column_names, "loss"]
    assert "leaves out" not in done.stderr
