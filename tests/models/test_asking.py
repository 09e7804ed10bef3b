from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from divulge import tables
from divulge.errors import InputError
from divulge.models import base
from divulge.models.estimator import Estimator


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
