"""The attribute command, from files to exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pandas as pd
import pytest
from commands import run
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from divulge.mechanisms.labelled import NoisyLabels


def divulge(*words: str | Path, cwd: Path) -> CompletedProcess[str]:
    return run("attribute", *words, cwd=cwd)


@pytest.fixture
def records(tmp_path):
    drawn = NoisyLabels(epsilon=3.0).sample(2000, np.random.default_rng(0))
    table = pd.DataFrame(
        {
            "y": drawn.codes,
            **{f"p_{c}": drawn.target[:, c] for c in (0, 1)},
            **{f"q_{c}": drawn.proxy[:, c] for c in (0, 1)},
            **{f"x_{j}": drawn.features[:, j] for j in range(5)},
        }
    )
    table.to_parquet(tmp_path / "train.parquet")
    table.to_csv(tmp_path / "train.csv", index=False)
    return tmp_path


def test_from_a_table_to_a_report(records):
    done = divulge(
        "train.parquet", "--label", "y", "--target", "p_", "--proxy", "q_", "--proxy-exact",
        "--repeats", "5", "--out", "result.json", "--report", "report.html",
        "--claim", "epsilon=1", cwd=records,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "LEAK: The model gives away 'y'" in done.stdout
    result = json.loads((records / "result.json").read_text())
    assert result["game"] == "attribute"
    assert result["provenance"]["inputs"][0]["name"] == "train.parquet"
    page = (records / "report.html").read_text()
    assert "pairs of a record&#39;s own value and another one" in page


@pytest.mark.slow
def test_the_csv_is_the_same_audit(records):
    found = [
        json.loads(divulge(name, "--label", "y", "--proxy-exact", "--json", cwd=records).stdout)[
            "bounds"
        ]
        for name in ("train.parquet", "train.csv")
    ]
    assert found[0] == found[1]


@pytest.fixture
def models(records):
    io = pytest.importorskip("skops.io", reason="skops is in the extra models")
    table = pd.read_parquet(records / "train.parquet")
    x = [f"x_{j}" for j in range(5)]
    io.dump(DecisionTreeClassifier(random_state=0).fit(table[x], table["y"]), records / "m.skops")
    io.dump(LogisticRegression().fit(table[x][:1000], table["y"][:1000]), records / "e.skops")
    return records


def test_from_model_files(models):
    words = (
        "--data", "train.parquet", "--model", "m.skops", "--proxy-model", "e.skops",
        "--label", "y", "--features", "x_*", "--proxy-exact", "--json",
    )  # fmt: skip
    refused = divulge(*words, cwd=models)
    assert refused.returncode == 2
    assert "--trust sklearn.tree._tree.Tree" in refused.stderr
    done = divulge(*words, "--trust", "sklearn.tree._tree.Tree", cwd=models)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["verdict"]["status"] == "leak"  # a full tree has every label


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train.parquet"], "Name the label column"),
        (["train.parquet", "--label", "z"], "has no column 'z'"),
        (["train.parquet", "--label", "y", "--data", "train.csv"], "Give one table"),
        (["--label", "y"], "Give one table"),
        (["absent.parquet", "--label", "y"], "There is no file"),
        (["train.parquet", "--label", "y", "--model", "m.pkl"], "There is no file"),
        (["train.parquet", "--label", "y", "--tau", "2"], "tau must lie"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(records, words, message):
    done = divulge(*words, "--out", "result.json", cwd=records)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (records / "result.json").exists()


def test_too_few_records_is_exit_code_3(records):
    pd.read_csv(records / "train.csv")[:100].to_csv(records / "few.csv", index=False)
    done = divulge("few.csv", "--label", "y", cwd=records)
    assert done.returncode == 3
    assert "CANNOT CONCLUDE" in done.stdout
