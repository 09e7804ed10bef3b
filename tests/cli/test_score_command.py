"""``divulge score`` and games that are pointed at a model."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from divulge.data import tables

skops_io = pytest.importorskip("skops.io", reason="needs the extra 'models'")


def divulge(*words: str | Path, cwd: Path) -> CompletedProcess[str]:
    return run(*words, cwd=cwd)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with records, a model of half of them and a reference model."""
    folder = tmp_path_factory.mktemp("score")
    x, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))
    own, other, rest = rows[:600], rows[600:1200], rows[1200:]

    def table(some):
        return {**{f"x_{j}": x[some, j] for j in range(x.shape[1])}, "digit": y[some]}

    for name, some in (("members", own), ("nonmembers", other), ("population", rest[300:])):
        pq.write_table(pa.table(table(some)), folder / f"{name}.parquet")
    for name, some in (("model", own), ("reference", rest[:300])):
        forest = RandomForestClassifier(30, min_samples_leaf=2, random_state=0)
        skops_io.dump(forest.fit(x[some], y[some]), folder / f"{name}.skops")
    return folder


ASK = ("--features", "x_*", "--label", "digit")
APART = ("--members", "members.parquet", "--nonmembers", "nonmembers.parquet")


def trusted(place: Path) -> tuple[str, ...]:
    unknown = skops_io.get_untrusted_types(file=place / "model.skops")
    return tuple(word for name in unknown for word in ("--trust", name))


def test_scores_on_one_machine_are_audited_on_another(place, tmp_path):
    given = (*ASK, *trusted(place), "--reference", "reference.skops", "--population",
             "population.parquet", "--columns", "digit", "--no-cache")  # fmt: skip
    out = tmp_path / "scores.parquet"
    done = divulge(
        "score", "--model", "model.skops", *APART, *given, "--table", str(out), cwd=place
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    found = tables.read(out)
    assert found.columns[:2] == ["member", "digit"]
    assert {"loss", "logit_gap", "rmia_offline", "quantile"} <= set(found.columns)
    audited = divulge("membership", str(out), "--score", "logit_gap", "--json", cwd=place)
    assert audited.returncode == 0, audited.stderr
    assert json.loads(audited.stdout)["verdict"]["status"] == "leak"


@pytest.mark.slow
def test_membership_is_pointed_at_a_model(place):
    done = divulge(
        "membership", *APART, "--model", "model.skops", *ASK, *trusted(place), "--json", cwd=place
    )
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["verdict"]["status"] == "leak"
    names = [entry["name"] for entry in data["provenance"]["inputs"]]
    assert names == ["members.parquet", "nonmembers.parquet", "model.skops"]


def test_a_pickle_that_would_write_a_file_is_refused(place, tmp_path):
    class Writes:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "written",))

    bad = tmp_path / "model.pkl"
    bad.write_bytes(pickle.dumps(Writes()))
    out = tmp_path / "scores.parquet"
    done = divulge("score", "--model", str(bad), *APART, *ASK, "--table", str(out), cwd=place)
    assert done.returncode == 2
    assert "can run any code" in done.stderr
    assert "--allow-pickle" in done.stderr
    assert not (tmp_path / "written").exists()
    assert not out.exists()


def test_pickle_behind_the_flag(place, tmp_path):
    table = tables.read(place / "members.parquet")
    x = np.column_stack([table[f"x_{j}"].to_numpy() for j in range(64)])
    tree = DecisionTreeClassifier(random_state=0, max_depth=4).fit(x, table["digit"].to_numpy())
    (tmp_path / "tree.pkl").write_bytes(pickle.dumps(tree))
    out = tmp_path / "scores.csv"
    done = divulge(
        "score", "--model", str(tmp_path / "tree.pkl"), "--allow-pickle", *APART, *ASK,
        "--attack", "loss,confidence", "--table", str(out), "--no-cache", cwd=place,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert tables.read(out).columns[-2:] == ["loss", "confidence"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "none.skops"), "There is no file none.skops"),
        (("--model", "model.skops"), "--trust"),
        (("--model", "model.skops", "--with", "outputs"), "--with is NAME=VALUE"),
        (("--model", "model.skops", "--with", "colour=red"), "api, name, key_variable"),
        (("--model", "http://127.0.0.1:9/v1", "--with", "rate=fast"), "rate must be a number"),
        (("--model", "model.skops", "--shadow", "model.skops"), "--shadow is MODEL=COLUMN"),
        (("--model", "model.skops", "--backend", "spark"), "Unknown execution backend 'spark'"),
    ],
)
def test_bad_input_is_one_clear_error(place, tmp_path, words, said):
    out = tmp_path / "scores.parquet"
    done = divulge("score", *words, *APART, *ASK, "--table", str(out), cwd=place)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_key_in_an_address_does_not_enter_the_result(monkeypatch):
    from divulge.cli import output

    typed = ["divulge", "membership", "--model", "https://host/v1?key=s3cret#more", "--seed", "1"]
    monkeypatch.setattr(sys, "argv", typed)
    assert output.command_line() == "divulge membership --model https://host/v1 --seed 1"
