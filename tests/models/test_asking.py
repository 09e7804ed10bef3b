from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from divulge.attacks import scoring
from divulge.data import tables
from divulge.errors import InputError
from divulge.models import base
from divulge.models.estimator import Estimator
from divulge.models.outputs import margins


class Known:
    classes_ = np.array(["a", "b", "c"])


MODEL = Estimator(Known())
ANSWERS = base.Answers(log_probabilities=np.zeros((4, 3)))


@pytest.mark.parametrize(
    "values",
    [
        ["c", "a", "b", "a"],
        pd.Series(["c", "a", "b", "a"]),
        pd.Series(pd.Categorical(["c", "a", "b", "a"], categories=["z", "c", "b", "a"])),
        pl.Series(["c", "a", "b", "a"]),
        pa.chunked_array([["c", "a"], [], ["b", "a"]]),
    ],
    ids=["list", "pandas", "category", "polars", "chunks"],
)
def test_labels_become_columns_of_the_answer(values):
    if not isinstance(values, list):
        values = tables.nw.from_native(values, series_only=True)
    np.testing.assert_array_equal(base.codes(MODEL, ANSWERS, values, "y"), [2, 0, 1, 0])


def test_numbers_stand_for_classes_of_either_kind():
    numbered = Estimator(type("Numbered", (), {"classes_": np.array([0, 1, 2])})())
    for values in ([2, 0, 1, 0], [2.0, 0.0, 1.0, 0.0], ["2", "0", "1", "0"]):
        column = tables.read({"y": values})["y"]
        np.testing.assert_array_equal(base.codes(numbered, ANSWERS, column, "y"), [2, 0, 1, 0])


@pytest.mark.parametrize("values", [["a", "b", "x", "x"], ["a", "b", None, "a"]])
def test_an_unknown_class_is_named_with_its_first_row(values):
    column = tables.read({"y": pa.array(values)})["y"]
    with pytest.raises(InputError, match=f"{values[2]!r} in row 2"):
        base.codes(MODEL, ANSWERS, column, "y")


def test_columns_of_every_kind_make_one_matrix():
    columns = {
        "f": pa.chunked_array([[0.5], [], [1.5, None]]),
        "s": pa.array([0.5, 1.5, 2.5], pa.float32()),
        "i": pa.array([1, None, 3]),
        "b": pa.array([True, None, False]),
    }
    expected = [[0.5, 0.5, 1, 1], [1.5, 1.5, np.nan, np.nan], [np.nan, 2.5, 3, 0]]
    table = pa.table(columns)
    for source in (table, pl.from_arrow(table)):
        np.testing.assert_array_equal(base.matrix(tables.read(source)), expected)
    with pytest.raises(InputError, match="'w' of the table must hold numbers"):
        base.matrix(tables.read({"w": ["a"]}))


def test_logarithms_refuse_what_is_no_probability():
    assert np.isfinite(base.logarithms([[0.0, 1.0]], "m")).all()
    np.testing.assert_array_equal(base.logarithms([[0.25, 0.75]], "m"), np.log([[0.25, 0.75]]))
    np.testing.assert_array_equal(base.logarithms([0.75], "m"), np.log([[0.25, 0.75]]))
    for bad in ([0.5, 0.6], [np.nan, 1.0], [1.5, -0.5], [np.inf, 0.0]):
        with pytest.raises(InputError, match=r"sum to 1.*record 1 \(1 of 2\)"):
            base.logarithms([[0.5, 0.5], bad], "m")


def test_a_matrix_by_columns_or_in_single_precision_holds_the_same():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5000, 3))
    records = tables.read({"a": values[:, 0], "b": values[:, 1], "c": values[:, 2]})
    by_rows, by_columns = base.matrix(records), base.matrix(records, by="columns")
    assert by_rows.flags.c_contiguous
    assert by_columns.flags.f_contiguous
    for found in (by_rows, by_columns):
        np.testing.assert_array_equal(found, values)
    single = base.matrix(records, dtype=np.float32)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, values.astype(np.float32))
    listed = base.matrix(tables.read({"image": values}), dtype=np.float32)
    assert listed.dtype == np.float32
    np.testing.assert_array_equal(listed, single)


def seen_by(model, records):
    """The matrix that a fitted model is shown."""
    shown = []
    answer = model.predict_proba
    model.predict_proba = lambda x: shown.append(x) or answer(x)
    Estimator(model).ask(records)
    return shown[0]


@pytest.mark.parametrize(
    ("model", "by_columns"),
    [
        (LogisticRegression(), True),
        (MLPClassifier((4,), tol=1.0, random_state=0), True),
        (make_pipeline(StandardScaler(), LogisticRegression()), True),
        (make_pipeline(StandardScaler(), DecisionTreeClassifier()), False),
        (DecisionTreeClassifier(), False),
        (RandomForestClassifier(3, random_state=0), False),
    ],
    ids=lambda m: None if isinstance(m, bool) else type(m).__name__,
)
def test_models_that_multiply_are_shown_columns_and_others_rows(model, by_columns):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    records = tables.read(x)
    model.fit(x, rng.random(40) < 1.0 / (1.0 + np.exp(-x[:, 0])))
    own = np.log(np.clip(model.predict_proba(x), base.SMALLEST, 1.0))
    assert seen_by(model, records).flags.f_contiguous == by_columns
    np.testing.assert_allclose(Estimator(model).ask(records).log_probabilities, own, rtol=1e-12)


def test_a_model_with_steps_of_its_own_is_no_pipeline():
    class Own:
        steps = 100

        def predict_proba(self, x):
            return np.full((len(x), 2), 0.5)

    assert seen_by(Own(), tables.read(np.zeros((3, 2)))).flags.c_contiguous


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("row", "bad"), [(0, [0.5, 0.6]), (77, [np.nan, 1.0]), (99, [-0.1, 1.1])])
def test_a_bad_row_is_named_however_the_answers_lie(order, row, bad):
    p = np.full((100, 2), 0.5)
    p[row] = bad
    with pytest.raises(InputError, match=rf"record {row} \(1 of 100\)"):
        base.logarithms(np.asarray(p, order=order), "m")


@pytest.mark.parametrize("excess", [0.9e-3, 1.1e-3, -0.9e-3, -1.1e-3])
def test_sums_may_be_off_by_a_thousandth_either_way(excess):
    p = np.array([[0.5, 0.5], [0.5 + excess, 0.5]])
    if abs(excess) <= 1e-3:
        np.testing.assert_array_equal(base.logarithms(p, "m"), np.log(p))
    else:
        with pytest.raises(InputError, match="record 1"):
            base.logarithms(p, "m")


@pytest.mark.parametrize("classes", [2, 3, 7, 8, 9, 20])
def test_the_layout_of_logits_does_not_change_a_bit(classes):
    z = np.random.default_rng(classes).normal(scale=5.0, size=(300, classes))
    shifted = z - z.max(axis=1, keepdims=True)
    expected = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(base.log_softmax(z), expected)
    np.testing.assert_array_equal(margins(z, "m"), expected)


def test_losses_come_batch_by_batch_and_rows_are_counted_through():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 2))
    y = np.arange(1000) % 3 * 10
    model = LogisticRegression().fit(x, y)
    table = tables.read({"a": x[:, 0], "b": x[:, 1], "y": y})
    found = scoring.losses(Estimator(model, batch=300), table, ["a", "b"], "y", "the table")
    own = -np.log(model.predict_proba(x)[np.arange(1000), y // 10])
    np.testing.assert_allclose(found, own, rtol=1e-12)
    batches = list(base.batches(Estimator(model, batch=300), table.select("a", "b")))
    assert [(some.start, some.stop, len(said)) for some, said in batches] == [
        (0, 300, 300), (300, 600, 300), (600, 900, 300), (900, 1000, 100),
    ]  # fmt: skip
    y[950] = 7
    strange = tables.read({"a": x[:, 0], "b": x[:, 1], "y": y})
    with pytest.raises(InputError, match="7 in row 950"):
        scoring.losses(Estimator(model, batch=300), strange, ["a", "b"], "y", "the table")
