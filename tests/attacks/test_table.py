"""From a model and records to a table of scores: chunks, kept pieces, files, errors."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import divulge
from divulge.attacks import registry, scoring
from divulge.data import tables
from divulge.errors import InputError
from divulge.models.base import SMALLEST


def records(count: int = 600, seed: int = 0) -> pa.Table:
    x, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(y))[:count]
    columns = {f"x_{j}": x[rows, j] for j in range(x.shape[1])}
    return pa.table({**columns, "digit": y[rows], "member": np.arange(count) < count // 2})


def matrix(table: pa.Table) -> np.ndarray:
    return np.column_stack([table[f"x_{j}"].to_numpy() for j in range(64)])


@pytest.fixture(scope="module")
def table():
    return records()


@pytest.fixture(scope="module")
def model(table):
    learned = table.slice(0, 300)
    forest = RandomForestClassifier(20, random_state=0)
    return forest.fit(matrix(learned), learned["digit"].to_numpy())


@pytest.fixture(scope="module")
def calm(table):
    x, y = load_digits(return_X_y=True)
    return RandomForestClassifier(20, random_state=1).fit(x[:200], y[:200])


WANTED = {"features": "x_*", "label": "digit"}


def column(frame, name):
    return np.asarray(frame[name].to_numpy())


def test_loss_is_the_models_own(table, model):
    found = divulge.score(table, model=model, attack="loss", **WANTED)
    p = model.predict_proba(matrix(table))
    hit = p[np.arange(len(p)), table["digit"].to_numpy()]
    expected = -np.log(np.maximum(hit, SMALLEST))
    np.testing.assert_allclose(column(found, "loss"), expected)
    assert found.columns[:-1] == table.column_names


def test_all_takes_what_can_run(table, model, calm):
    few = divulge.score(table, model=model, **WANTED)
    assert {"loss", "confidence", "entropy", "modified_entropy", "logit_gap"} <= set(few.columns)
    assert "rmia_offline" not in few.columns
    assert not {"min_k", "zlib"} & set(few.columns)
    more = divulge.score(
        table, model=model, references=[calm], population=records(200, seed=5), **WANTED
    )
    assert {"rmia_offline", "difficulty", "quantile"} <= set(more.columns) - set(few.columns)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1_000, 97])
def test_chunks_do_not_change_a_score(table, model, calm, rows, tmp_path):
    given = {"references": [calm], "population": records(200, seed=5), **WANTED}
    whole = divulge.score(table, model=model, **given)
    path = tmp_path / "records.parquet"
    pq.write_table(table, path, row_group_size=50)
    out = tmp_path / "scores.parquet"
    assert divulge.score(path, model=model, table=out, chunk=rows, **given) is None
    read = tables.read(out)
    assert read.columns == whole.columns
    for name in whole.columns:
        np.testing.assert_array_equal(column(read, name), column(whole, name))


def shadowed(table: pa.Table) -> tuple[pa.Table, list, list[str]]:
    rng, shadows, names = np.random.default_rng(3), [], []
    x, y = matrix(table), table["digit"].to_numpy()
    halves = [rng.permutation(np.arange(len(y)) % 2 == 0) for _ in range(3)]
    for k, half in enumerate(h for pair in halves for h in (pair, ~pair)):
        shadows.append(LogisticRegression(max_iter=300).fit(x[half] / 16, y[half]))
        names.append(f"in_{k}")
        table = table.append_column(names[-1], pa.array(half))
    return table, shadows, names


@pytest.mark.filterwarnings("ignore:lbfgs failed")
def test_pooled_attacks_see_all_records_whatever_the_chunks(table, model):
    table, shadows, names = shadowed(table)
    given = {"shadows": shadows, "shadow_columns": names, "attack": ["lira", "loss"], **WANTED}
    whole = divulge.score(table, model=model, **given)
    cut = divulge.score(table, model=model, chunk=101, **given)
    for name in ("lira", "loss"):
        np.testing.assert_allclose(column(whole, name), column(cut, name), rtol=1e-9)


@pytest.mark.slow
def test_members_apart_become_a_column(table, model, tmp_path):
    first, second = (
        table.slice(0, 300).drop_columns("member"),
        table.slice(300).drop_columns("member"),
    )
    out = tmp_path / "scores.csv"
    divulge.score(members=first, nonmembers=second, model=model, table=out, columns=(), **WANTED)
    read = tables.read(out)
    assert read.columns[0] == "member"
    assert column(read, "member").sum() == 300
    result = divulge.membership(out, score="loss")
    assert result.verdict.status == "leak"
    with pytest.raises(InputError, match="already a column 'member'"):
        divulge.score(members=table, nonmembers=table, model=model, **WANTED)


class Counting:
    """A model that counts how often it is asked."""

    def __init__(self, model, path):
        self.model, self.path, self.classes_ = model, path, model.classes_

    def predict_proba(self, x):
        with self.path.open("a") as log:
            log.write(f"{len(x)}\n")
        return self.model.predict_proba(x)


def test_a_second_run_asks_nothing_again(table, model, tmp_path):
    log = tmp_path / "log"
    log.touch()
    asked = Counting(model, log)
    kept = {"cache": tmp_path / "kept", "cache_key": "one"}
    given = {"model": asked, **kept, "chunk": 100, "attack": "loss", **WANTED}
    first = divulge.score(table, **given)
    after = log.read_text().splitlines()
    assert after == ["32", *["100"] * 6]
    second = divulge.score(table, **given)
    assert log.read_text().splitlines() == [*after, "32"]  # the first records, to see what can run
    np.testing.assert_array_equal(column(first, "loss"), column(second, "loss"))
    damaged = sorted((tmp_path / "kept").glob("*.piece"))[2]
    damaged.write_bytes(damaged.read_bytes()[:-7])
    third = divulge.score(table, **given)
    assert log.read_text().splitlines()[-2:] == ["32", "100"]
    np.testing.assert_array_equal(column(first, "loss"), column(third, "loss"))


def test_a_model_without_a_name_cannot_be_kept(table, model, tmp_path):
    with pytest.raises(InputError, match="cannot be identified"):
        divulge.score(
            table, model=Counting(model, tmp_path / "log"), cache=tmp_path, attack="loss", **WANTED
        )


@pytest.mark.slow
def test_processes_give_the_same(table, model):
    one = divulge.score(table, model=model, chunk=100, **WANTED)
    two = divulge.score(table, model=model, chunk=100, n_jobs=2, **WANTED)
    for name in one.columns:
        np.testing.assert_array_equal(column(one, name), column(two, name))


def test_the_file_says_what_made_it(table, model, tmp_path):
    out = tmp_path / "s.parquet"
    divulge.score(table, model=model, table=out, attack=["loss", "confidence"], **WANTED)
    said = json.loads(pq.read_schema(out).metadata[b"divulge"])
    assert said["divulge"] == divulge.__version__
    assert said["attacks"]["loss"] == {"lower_is_member": True}
    for name in said["attacks"]:
        sign = scoring.direction(name, None)
        assert sign == registry.direction(name)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"attack": "los"}, "Did you mean 'loss'"),
        ({"attack": "rmia_offline"}, "--reference.*--population"),
        ({"attack": []}, "at least one attack"),
        ({"features": "y_*"}, "No column of the table matches"),
        ({"label": "digits"}, "Did you mean 'digit'"),
        ({"label": "x_3"}, "does not know: 1[1-6].0 in row"),
        ({"table": "scores.xlsx"}, "must end in .parquet or .csv"),
        ({"chunk": 0}, "chunk must be at least 1"),
        ({"model": 3}, "predict_proba or a callable"),
        ({"shadows": [lambda t: t]}, "Every shadow model needs the column"),
        (
            {"references": [lambda t: np.ones(len(t))], "attack": "difficulty"},
            "must give the same",
        ),
    ],
)
def test_bad_input_is_one_clear_error(table, model, change, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=words):
        divulge.score(table, **{"model": model, **WANTED, **change})
    assert list(tmp_path.iterdir()) == []


def test_a_score_column_that_is_there_is_not_overwritten(table, model, tmp_path):
    crowded = table.append_column("loss", pa.array(np.zeros(len(table))))
    out = tmp_path / "s.parquet"
    with pytest.raises(InputError, match="already has a column 'loss'"):
        divulge.score(crowded, model=model, table=out, keep="loss", **WANTED)
    assert list(tmp_path.iterdir()) == []
    divulge.score(crowded, model=model, table=out, columns=["member"], **WANTED)
    assert tables.read(out).columns[0] == "member"


def test_membership_takes_attacks_by_name(table, model):
    result = divulge.membership(
        table, model=model, attack=["loss", "entropy"], features="x_*", label="digit",
        estimator="logistic",
    )  # fmt: skip
    assert result.verdict.status == "leak"
