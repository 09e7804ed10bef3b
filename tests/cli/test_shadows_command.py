"""``divulge shadows``, and its table in ``divulge score``."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from commands import run
from model_data import NAMES, two_classes
from sklearn.linear_model import LogisticRegression

from divulge.data import tables

skops_io = pytest.importorskip("skops.io", reason="needs the extra 'models'")

ASK = ("--features", "x_*", "--label", "y")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Records, members apart, a population, and a model of the members."""
    folder = tmp_path_factory.mktemp("shadows")
    frame = two_classes()
    records, others = frame.iloc[:200], frame.iloc[200:260]
    records.to_parquet(folder / "records.parquet")
    for name, truth in (("members", 1), ("nonmembers", 0)):
        some = records[records["member"] == truth].drop(columns="member")
        some.to_csv(folder / f"{name}.csv", index=False)
    others.drop(columns="member").to_parquet(folder / "population.parquet")
    seen = records[records["member"] == 1]
    fitted = LogisticRegression().fit(seen[NAMES].to_numpy(), seen["y"])
    skops_io.dump(fitted, folder / "target.skops")
    (folder / "makers.py").write_text(
        "from sklearn.tree import DecisionTreeClassifier\n"
        "def make(seed):\n    return DecisionTreeClassifier(random_state=seed)\n"
    )
    return folder


def test_from_the_model_to_the_scores(place, tmp_path):
    table, scores = tmp_path / "shadows.parquet", tmp_path / "scores.parquet"
    more = ("--population", "population.parquet")
    done = run(
        "shadows", "records.parquet", "--model", "target.skops", *ASK, *more, "--count", "4",
        "--cache", tmp_path / "kept", "--table", table, "--save", tmp_path / "models", cwd=place,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert len(list((tmp_path / "kept").iterdir())) == 4
    assert len(list((tmp_path / "models").iterdir())) == 4
    done = run(
        "score", "--members", "members.csv", "--nonmembers", "nonmembers.csv", "--model",
        "target.skops", *ASK, *more, "--shadows", table, "--columns", "y", "--no-cache",
        "--table", scores, cwd=place,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = tables.read(scores)
    assert found.columns[:2] == ["member", "y"]
    assert {"lira", "lira_offline", "rmia", "learned"} <= set(found.columns)
    audited = run("membership", scores, "--score", "lira", "--json", cwd=place)
    assert audited.returncode == 0, audited.stderr


def test_code_that_makes_models_and_members_apart(place, tmp_path):
    words = ("--model", "makers:make", *ASK, "--count", "2", "--no-cache")
    apart = ("--members", "members.csv", "--nonmembers", "nonmembers.csv")
    for name, given in (("a", ("records.parquet",)), ("b", apart)):
        done = run("shadows", *given, *words, "--table", tmp_path / f"{name}.parquet", cwd=place)
        assert done.returncode == 0, done.stderr
    both = [pd.read_parquet(tmp_path / f"{name}.parquet") for name in "ab"]
    for column in both[0].columns:
        assert np.array_equal(*(np.vstack(t[column].tolist()) for t in both)), column


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "target.skops", "--training", "epochs"), "--training is NAME=VALUE"),
        (("--model", "target.skops", "--training", "depth=3"), "Invalid parameter 'depth'"),
        (("--model", "target.skops", "--count", "1"), "At least two shadow models"),
        (("--model", "none.skops"), "There is no file none.skops"),
        (("--model", "http://127.0.0.1:9/v1"), "does not say how to train another"),
        (("--model", "makers:other"), "has no attribute 'other'"),
        (("--model", "target.skops", "--data", "records.parquet"), "Give one table"),
        (("--model", "target.skops", "--save", "."), "is not empty"),
    ],
)
def test_bad_input_is_one_clear_error(place, tmp_path, words, said):
    out = tmp_path / "shadows.parquet"
    done = run("shadows", "records.parquet", *words, *ASK, "--table", out, cwd=place)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_something_else_is_refused(place, tmp_path):
    words = ("--model", "target.skops", *ASK, "--table", tmp_path / "scores.parquet")
    for more, said in (
        (("--shadows", "records.parquet"), "not a table that divulge shadows wrote"),
        (("--shadows", "a.parquet", "--shadow", "target.skops=y"), "--shadow or --shadows, not"),
    ):
        done = run("score", "records.parquet", *words, *more, cwd=place)
        assert done.returncode == 2
        assert said in done.stderr
