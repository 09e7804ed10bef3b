"""The leakage command, from files to exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pandas as pd
import pytest
from commands import run


def divulge(*words: str | Path, cwd: Path) -> CompletedProcess[str]:
    return run("leakage", *words, cwd=cwd)


def people(count: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(count, 4)), columns=["a", "b", "c", "d"])
    return table.assign(key=[f"p{i}" for i in range(count)], job="clerk", flat=1.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("leakage")
    people(200, 1).to_parquet(place / "data.parquet")
    people(300, 2).to_csv(place / "ref.csv", index=False)
    return place


GOOD = ("data.parquet", "--reference", "ref.csv", "--features", "a,b,c,d", "--id", "key")


def test_from_tables_to_a_table_and_a_report(folder):
    done = divulge(
        *GOOD, "--mechanism", "subsampled-mean", "--rate", "0.5", "--noise", "0.02", "--delta",
        "1e-5", "--advantage", "0.02", "--table", "leakage.parquet", "--out", "result.json",
        "--report", "report.html", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("COMPUTED")
    assert "Most exposed" in done.stdout
    table = pd.read_parquet(folder / "leakage.parquet")
    assert list(table.columns) == [
        "id", "leakage", "advantage", "tpr_at_0.01", "tpr_at_0.1", "epsilon_at_1e-05",
    ]  # fmt: skip
    assert len(table) == 200
    result = json.loads((folder / "result.json").read_text())
    assert result["game"] == "leakage"
    assert all("id" not in one for one in result["diagnostics"]["most_exposed"])
    page = (folder / "report.html").read_text()
    visible = (page[: page.index("<script")] + done.stdout).replace("key", "")
    assert not any(
        re.search(rf"\b{key}\b", visible) for key in {*table["id"][:20]} - {"p90", "p99"}
    )
    assert "No attack was run and nothing was tested" in page
    assert "fragile" not in page[: page.index("<script")].split("</style>")[1]


def test_ids_are_named_if_asked_for(folder):
    done = divulge(*GOOD, "--ids", "--out", "ids.json", "--table", "ids.parquet", cwd=folder)
    assert done.returncode == 0, done.stderr
    result = json.loads((folder / "ids.json").read_text())
    first = pd.read_parquet(folder / "ids.parquet")["id"][0]
    assert result["diagnostics"]["most_exposed"][0]["id"] == first
    assert first in done.stdout
    assert first not in result["verdict"]["sentence"]


def test_noise_may_differ_from_column_to_column(folder):
    wanted = ("--mechanism", "noisy-mean", "--json", "--noise")
    done = divulge(*GOOD, *wanted, "0.02,0,0.5,0.02", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["diagnostics"]["mechanism"]["noise_by_column"] == [0.02, 0.0, 0.5, 0.02]
    assert found["diagnostics"]["mechanism"]["noise"] is None
    assert "0 to 0.5, one for each column" in found["verdict"]["sentence"]
    same, one = (
        json.loads(divulge(*GOOD, *wanted, noise, cwd=folder).stdout)["diagnostics"]["most_exposed"]
        for noise in ("0.02,0.02,0.02,0.02", "0.02")
    )
    assert same == one
    short = divulge(*GOOD, *wanted, "0.1,0.2", cwd=folder)
    assert short.returncode == 2
    assert "2 numbers, and the features have 4 columns" in short.stderr


def test_json_owns_stdout(folder):
    done = divulge(*GOOD, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"]["status"] == "computed"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.csv", "--reference", "ref.csv"), "no file none.csv"),
        (("data.parquet", "--reference", "ref.csv", "--id", "key"), "Column 'job' of the data"),
        ((*GOOD[:4], "a,flat"), "Column 'flat' is constant"),
        ((*GOOD, "--mechanism", "subsampled-mean", "--rate", "1.5"), "rate must lie in (0, 1]"),
        ((*GOOD, "--mechanism", "noisy-mean"), "needs noise"),
        ((*GOOD, "--table", "table.txt"), "must end in .parquet or .csv"),
    ],
)
def test_bad_input_is_exit_code_2_and_one_message(folder, words, message):
    done = divulge(*words, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_result_without_bounds_cannot_be_held_against_a_claim(folder):
    assert divulge(*GOOD, "--out", "bare.json", cwd=folder).returncode == 0
    done = run("check", "bare.json", "--claim", "mu=1", cwd=folder)
    assert done.returncode == 3
