"""The membership command, from files to exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pandas as pd
import pytest
from commands import run
from scipy.special import expit


def divulge(*words: str | Path, cwd: Path) -> CompletedProcess[str]:
    return run(*words, cwd=cwd)


@pytest.fixture
def scores(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    member = rng.random(2000) < expit(x)
    table = pd.DataFrame(
        {
            "member": member,
            "loss": -(1.5 * member + rng.normal(size=2000)),
            "pi": expit(x),
            "age": x,
            "constant": 1.0,
        }
    )
    table.to_parquet(tmp_path / "scores.parquet")
    table.to_csv(tmp_path / "scores.csv", index=False)
    return tmp_path


def test_from_a_table_to_a_claim(scores):
    done = divulge(
        "membership", "scores.parquet", "--propensity", "pi", "--out", "result.json",
        "--report", "report.html", cwd=scores,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "LEAK" in done.stdout
    assert "further bounds" in done.stdout
    result = json.loads((scores / "result.json").read_text())
    assert result["game"] == "membership"
    assert result["provenance"]["inputs"][0]["name"] == "scores.parquet"
    assert result["provenance"]["command"].startswith("divulge membership")
    assert (scores / "report.html").read_text().startswith("<!")

    refuted = divulge("check", "result.json", "--claim", "epsilon=0.1,delta=1e-5", cwd=scores)
    assert (refuted.returncode, refuted.stdout.split(":")[0]) == (1, "Refuted")
    fine = divulge("check", "result.json", "--claim", "mu=30", cwd=scores)
    assert fine.returncode == 0
    apart = divulge("check", "result.json", "--claim", "epsilon=1,delta=0.5", cwd=scores)
    assert apart.returncode == 3

    again = divulge(
        "report", "result.json", "--report", "again.html", "--claim", "mu=0.1", cwd=scores
    )
    assert again.returncode == 0
    assert "efuted" in (scores / "again.html").read_text()


def test_json_owns_stdout(scores):
    done = divulge("membership", "scores.csv", "--propensity", "pi", "--json", cwd=scores)
    data = json.loads(done.stdout)
    assert data["verdict"]["status"] == "leak"
    assert {b["correction"] for b in data["bounds"]} >= {"none", "balanced", "prior"}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("membership", "none.csv"), 2, "no file"),
        (("membership", "scores.csv", "--score", "los"), 2, "Did you mean 'loss'"),
        (("membership", "scores.csv", "--truth", "age"), 2, "two values"),
        (("membership", "scores.csv", "--correction", "magic"), 2, "Unknown correction"),
        (("membership",), 2, "one table"),
        (("check", "none.json", "--claim", "mu=1"), 2, "Cannot read"),
        (("report", "scores.csv", "--report", "x.html"), 2, "not JSON"),
    ],
)
def test_bad_input_is_one_message_and_nothing_is_written(scores, words, code, message):
    before = sorted(p.name for p in scores.iterdir())
    extra = ("--out", "o.json", "--report", "r.html") if words[0] == "membership" else ()
    done = divulge(*words, *extra, cwd=scores)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert sorted(p.name for p in scores.iterdir()) == before
