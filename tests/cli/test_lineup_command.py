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
