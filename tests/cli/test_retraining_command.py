"""The retraining command, from files to exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import pandas as pd
import pytest
from commands import run

COUNTS = pd.DataFrame(
    {"false_positives": [5, 8], "negatives": 60, "false_negatives": [9, 3], "positives": 60}
)


def divulge(*words: str | Path, cwd: Path) -> CompletedProcess[str]:
    return run(*words, cwd=cwd)


@pytest.fixture
def folder(tmp_path):
    COUNTS.to_csv(tmp_path / "counts.csv", index=False)
    COUNTS.to_parquet(tmp_path / "counts.parquet")
    COUNTS.assign(false_positives=[5, 70]).to_csv(tmp_path / "above.csv", index=False)
    COUNTS.assign(positives=0).to_csv(tmp_path / "zero.csv", index=False)
    COUNTS.assign(false_negatives=[0.1, 3]).to_csv(tmp_path / "rates.csv", index=False)
    COUNTS.drop(columns="negatives").to_csv(tmp_path / "missing.csv", index=False)
    return tmp_path


def test_from_a_table_to_a_report(folder):
    done = divulge(
        "retraining", "counts.csv", "--delta", "1e-3", "--delta", "0", "--sampler", "1000",
        "--out", "result.json", "--report", "report.html", "--claim", "epsilon=0.1,delta=1e-3",
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Posterior under the priors" in done.stdout
    result = json.loads((folder / "result.json").read_text())
    assert result["game"] == "retraining"
    assert set(result["posterior"]["epsilon"]) == {"q05", "q50", "q95"}
    assert result["provenance"]["inputs"][0]["name"] == "counts.csv"
    page = (folder / "report.html").read_text()
    for name in ("region", "joint", "density-epsilon", "priors", "trace", "autocorrelation"):
        assert f'id="chart-{name}"' in page
    check = divulge("check", "result.json", "--claim", "epsilon=0.1,delta=1e-3", cwd=folder)
    assert check.returncode == 1


def test_json_owns_stdout_and_parquet_is_the_same(folder):
    words = ("--json", "--strength", "1", "--prior", "exponential:2")
    found = [
        json.loads(divulge("retraining", name, *words, cwd=folder).stdout)
        for name in ("counts.csv", "counts.parquet")
    ]
    assert found[0]["posterior"] == found[1]["posterior"]
    assert found[0]["posterior"]["strength"] == {"fixed": 1.0}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["above.csv"], "false_positives cannot exceed negatives. Found 70 of 60 in row 1"),
        (["zero.csv"], "positives must be at least 1"),
        (["rates.csv"], "must hold whole numbers. Found 0.1 in row 0. Give counts, not rates."),
        (["missing.csv"], "has no column 'negatives'"),
        (["absent.csv"], "There is no file"),
        (["counts.csv", "--delta", "1"], "delta must lie in [0, 1). Found 1.0."),
        (["counts.csv", "--strength", "3"], "strength must lie"),
        (["counts.csv", "--prior", "cauchy:1"], "Cannot read the prior"),
        (["counts.csv", "--margins", "normal"], "give --correlated too"),
        (["counts.csv", "--group", "who"], "has no column 'who'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(folder, words, message):
    done = divulge("retraining", *words, "--out", "result.json", cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (folder / "result.json").exists()
