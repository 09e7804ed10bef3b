"""The synthetic command, from files to exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pandas as pd
import pytest
from commands import run
from sklearn.neighbors import KNeighborsClassifier


def divulge(*words: str | Path, cwd: Path) -> CompletedProcess[str]:
    return run("synthetic", *words, cwd=cwd)


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, n)
    income = np.where(rng.random(n) < 0.3, 0.0, np.exp(rng.normal(2.0, 1.0, n)).round(1))
    region = rng.choice(["north", "south", "east"], n, p=[0.5, 0.3, 0.2])
    y = (age / 60 + (region == "north") + rng.normal(size=n) > 1.4).astype(int)
    height = rng.normal(170, 10, n).round(2)
    weight = (height - 100 + rng.normal(0, 10, n)).round(2)
    columns = {"age": age, "height": height, "weight": weight, "income": income}
    return pd.DataFrame({**columns, "region": region, "y": y})


def with_losses(table: pd.DataFrame, shift: float, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    loss = rng.normal(size=len(table)) - shift
    return table.assign(target_loss=loss, helper_loss=rng.normal(size=len(table)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("synthetic")
    members = with_losses(people(1000, 0), 1.5, 1)
    members.to_parquet(place / "in.parquet")
    with_losses(people(1000, 2), 0.0, 3).to_parquet(place / "made.parquet")
    members.drop(columns=["target_loss", "helper_loss"]).to_csv(place / "in.csv", index=False)
    return place


@pytest.mark.slow
def test_from_tables_with_losses_to_a_report(folder):
    done = divulge(
        "--members", "in.parquet", "--generated", "made.parquet", "--label", "y",
        "--target-loss", "target_loss", "--helper-loss", "helper_loss", "--seed", "1",
        "--out", "result.json", "--report", "report.html", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("LEAK")
    result = json.loads((folder / "result.json").read_text())
    assert result["game"] == "synthetic"
    assert result["measurements"]["epsilon_tilde"] > 0.3
    assert [i["name"] for i in result["provenance"]["inputs"]] == ["in.parquet", "made.parquet"]
    assert "<html" in (folder / "report.html").read_text()
    assert list((folder / ".divulge").glob("contest-*.piece"))


@pytest.mark.slow
def test_from_a_model_file_and_members_alone(folder):
    io = pytest.importorskip("skops.io", reason="skops is in the extra models")
    table = pd.read_csv(folder / "in.csv")
    x = table[["age", "height", "weight", "income"]].to_numpy(dtype=float)
    model = KNeighborsClassifier(n_neighbors=1, algorithm="brute").fit(x, table["y"])
    io.dump(model, folder / "target.skops")
    words = (
        "--members", "in.csv", "--model", "target.skops", "--label", "y", "--features",
        "age,height,weight,income", "--no-cache", "--json",
    )  # fmt: skip
    done = divulge(*words, cwd=folder)
    trust: list[str] = []
    if done.returncode == 2 and "--trust" in done.stderr:
        trust = done.stderr.split("pass ")[1].rstrip(".\n").split()
        done = divulge(*words, *trust, cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    result = json.loads(done.stdout)
    assert result["diagnostics"]["models"]["generator"] == "trees"
    assert result["diagnostics"]["models"]["helper"].startswith("untrained copy")
    assert result["trials"]["taught_generator"] == 350


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--members", "none.csv", "--target-loss", "a"), "no file none.csv"),
        (("--members", "in.parquet"), "Nothing is known of the target"),
        (("--members", "in.parquet", "--model", "x.skops"), "x.skops"),
        (("--members", "in.parquet", "--target-loss", "target_los"), "Did you mean"),
        (
            ("--members", "in.parquet", "--target-loss", "target_loss", "--generated", "in.csv"),
            "'target_loss'",
        ),
        (
            (
                "--members",
                "in.parquet",
                "--target-loss",
                "target_loss",
                "--generated",
                "in.parquet",
            ),
            "exact copies",
        ),
    ],
)
def test_bad_input_is_exit_code_2_and_one_message(folder, words, message):
    done = divulge(*words, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
