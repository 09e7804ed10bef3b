from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from divulge.data import tables
from divulge.errors import InputError

COLUMNS = {"member": [True, False, True], "loss": [0.1, 0.7, 0.2], "city": ["a", None, "b"]}


@pytest.mark.parametrize("kind", ["mapping", "pandas", "polars", "arrow", "csv", "parquet"])
def test_every_kind_of_table_reads_the_same(kind, tmp_path):
    arrow = pa.table(COLUMNS)
    if kind == "csv":
        source = tmp_path / "t.csv"
        pd.DataFrame(COLUMNS).to_csv(source, index=False)
    elif kind == "parquet":
        source = tmp_path / "t.parquet"
        pq.write_table(arrow, source)
    else:
        source = {
            "mapping": COLUMNS,
            "pandas": pd.DataFrame(COLUMNS),
            "polars": pl.DataFrame(COLUMNS),
            "arrow": arrow,
        }[kind]
    frame = tables.read(source)
    np.testing.assert_allclose(tables.numbers(frame, "loss", "it"), COLUMNS["loss"])
    np.testing.assert_array_equal(tables.truths(frame, "member", "it"), [1, -1, 1])


def test_a_matrix_is_a_table():
    assert tables.read(np.zeros((4, 3))).columns == ["x_0", "x_1", "x_2"]


def test_a_missing_column_names_the_nearest():
    frame = tables.read(COLUMNS)
    with pytest.raises(InputError, match="Did you mean 'loss'"):
        tables.require_columns(frame, ["los"], "scores.csv")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 0, 1], [1, -1, 1]),
        ([1, -1, 1], [1, -1, 1]),
        (["train", "test", "Train "], [1, -1, 1]),
        (["member", "nonmember", "member"], [1, -1, 1]),
        ([1.0, 0.0, 1.0], [1, -1, 1]),
    ],
)
def test_two_valued_columns(values, expected):
    frame = tables.read({"t": values})
    np.testing.assert_array_equal(tables.truths(frame, "t", "it"), expected)


@pytest.mark.parametrize("values", [[0, 1, 2], ["a", "b", "a"], [0.5, 1.0, 0.0], [1, 0, None]])
def test_other_truth_columns_are_refused(values):
    with pytest.raises(InputError, match="'t'"):
        tables.truths(tables.read({"t": pa.array(values)}), "t", "it")


def test_bad_numbers_are_named_by_row():
    frame = tables.read({"x": [1.0, float("nan"), 2.0]})
    with pytest.raises(InputError, match="row 1"):
        tables.numbers(frame, "x", "it")
    with pytest.raises(InputError, match="must hold numbers"):
        tables.numbers(tables.read({"x": ["a"]}), "x", "it")


def test_patterns():
    frame = tables.read({"x_1": [0], "x_2": [0], "y": [0]})
    assert tables.expand(frame, ["y", "x_*"], "it") == ["y", "x_1", "x_2"]
    with pytest.raises(InputError, match="No column"):
        tables.expand(frame, ["z_*"], "it")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "", "Cannot read"),
        ("t.csv", "a,b\n", "no rows"),
        ("t.csv", "a,a\n1,2\n", "two columns named"),
        ("t.parquet", "not parquet", "Cannot read"),
        ("t.xlsx", "x", "neither Parquet nor CSV"),
    ],
)
def test_damaged_files_are_refused(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        tables.read(path)
    with pytest.raises(InputError, match="no file"):
        tables.read(tmp_path / "none.csv")


def test_two_tables_are_stacked_on_what_they_share():
    frame, truth = tables.stack(
        tables.read({"x": [1, 2], "only": [0, 0], "w": ["a", "b"]}),
        tables.read({"x": [0.5], "w": ["c"]}),
    )
    assert frame.columns == ["x", "w"]
    np.testing.assert_array_equal(truth, [1, 1, -1])
    np.testing.assert_allclose(tables.numbers(frame, "x", "it"), [1, 2, 0.5])
    with pytest.raises(InputError, match="no column in common"):
        tables.stack(tables.read({"a": [1]}), tables.read({"b": [1]}))
    with pytest.raises(InputError, match="among the members"):
        tables.stack(tables.read({"a": [1]}), tables.read({"a": ["x"]}))


def test_fingerprints_follow_the_content(tmp_path):
    one, two = tables.read({"x": [1, 2]}), tables.read({"x": [1, 3]})
    prints = [tables.fingerprint({}, t, "table")["sha256"] for t in (one, two, one)]
    assert prints[0] == prints[2] != prints[1]


@pytest.mark.parametrize(
    "values",
    [
        np.array([-1, 1, 1, -1, 0]),
        np.array([-128, 127, 0], dtype=np.int8),
        np.array([2**64 - 1, 2**64 - 3], dtype=np.uint64),
        np.array([-(2**63), 2**63 - 1]),
        np.array([0, 5000, 0]),
        np.array([7], dtype=np.uint8),
        np.array([], dtype=np.int64),
        pa.array([3, None, 3]),
        pa.chunked_array([[4, 5], [], [5]]),
    ],
    ids=str,
)
def test_levels_give_back_the_column(values):
    column = tables.read({"y": values})["y"]
    distinct, which = tables.levels(column)
    assert [distinct[k] for k in which] == column.to_list()
    assert len(distinct) == len(set(distinct))
