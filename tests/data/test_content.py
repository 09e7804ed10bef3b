"""Keys of rows: equal for equal content, whatever the type, the order or the machine."""

from __future__ import annotations

import datetime

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from divulge.data import content, tables
from divulge.data.arranged import arranged, order_of, rows_named
from divulge.errors import CannotConclude, InputError


def key(values, name="a"):
    column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    return content.keys(pa.table({name: column}), [name])


DAY = datetime.date(2024, 3, 1)
EQUAL = [
    ([1, 0, 2], [1.0, -0.0, 2.0]),
    ([1, 0], [True, False]),
    (pa.array([1, 2], pa.int8()), pa.array([1, 2], pa.uint64())),
    (pa.array([0.5, 2.0], pa.float32()), [0.5, 2.0]),
    ([1.0, None], [1.0, float("nan")]),
    ([1, None], pa.array([1.0, np.nan])),
    (["x", None, "ü"], pa.array(["x", None, "ü"], pa.large_string())),
    (["x", None, "x"], pa.array(["x", None, "x"]).dictionary_encode()),
    ([DAY], [datetime.datetime(2024, 3, 1)]),
    (pa.array([1, 2], pa.timestamp("s")), pa.array([10**9, 2 * 10**9], pa.timestamp("ns"))),
    ([[1, 2], [3, 4]], pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2))),
    ([[1, 2], [3, 4]], pa.array([[1, 2], [3, 4]], pa.large_list(pa.int8()))),
    (pa.chunked_array([[1, 2], [3]]), [1, 2, 3]),
    (pa.nulls(2), pa.array([None, np.nan], pa.float64())),
]


@pytest.mark.parametrize(("first", "second"), EQUAL)
def test_equal_values_have_equal_keys(first, second):
    np.testing.assert_array_equal(key(first), key(second))


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3, None, -1],
        ["a", "b", "", None, "ab"],
        [[1, 2], [2, 1], [1], [1, 2, 0], []],
        [{"a": 1}, {"a": 2}, None],
        [DAY, datetime.date(1960, 1, 1)],
        [b"a", b"b"],
    ],
)
def test_different_values_have_different_keys(values):
    assert np.unique(key(values)).size == len(values)


PINNED = [6311087758423290875, 9592467694579930105]
PINNED_MIXED = 14142272070879468258


def test_the_key_is_pinned():
    """Stable over processes, platforms and versions: a result can be repeated years later."""
    table = pa.table({"a": [1.5, None], "b": ["x", "ü"], "c": [[1.0, 2.0], [3.0, 4.0]]})
    found = [int(v) for v in content.keys(table, ["a", "b", "c"])]
    assert found == PINNED
    assert int(content.mixed(content.keys(table, ["a"]), 7)[0]) == PINNED_MIXED


def test_columns_are_told_apart_in_any_order():
    table = pa.table({"a": [1, 2], "b": [2, 1]})
    first = content.keys(table, ["a", "b"])
    assert first[0] != first[1]
    np.testing.assert_array_equal(first, content.keys(table.select(["b", "a"]), ["b", "a"]))
    np.testing.assert_array_equal(content.keys(table, ["a"]), key([1, 2]))


def test_pieces_change_nothing(monkeypatch):
    table = pa.table({"a": np.arange(100) % 7, "b": [f"{i % 5}" for i in range(100)]})
    whole = content.keys(table, ["a", "b"])
    monkeypatch.setattr(content, "AT_ONCE", 9)
    np.testing.assert_array_equal(content.keys(table, ["a", "b"]), whole)
    frames = [table, pl.from_arrow(table), table.to_pandas(), table.to_batches()[0]]
    for frame in frames[:3]:
        np.testing.assert_array_equal(content.keys(tables.read(frame), ["a", "b"]), whole)
    np.testing.assert_array_equal(content.keys(frames[3], ["a", "b"]), whole)


def test_columns_of_objects_of_several_kinds_have_keys():
    frame = tables.read(pd.DataFrame({"a": [1, "x", None, 2.5]}, dtype=object))
    assert np.unique(content.keys(frame, ["a"])).size == 4


def test_numbers_that_are_drawn_look_uniform_and_change_with_the_seed():
    keys = content.keys(pa.table({"a": np.arange(4096)}), ["a"])
    first, second = content.mixed(keys, 0), content.mixed(keys, 1)
    for found in (first, second):
        counts = np.bincount((found >> np.uint64(60)).astype(int), minlength=16)
        assert ((counts - 256) ** 2 / 256).sum() < 45  # chi-square, 15 degrees
    agree = np.unpackbits((first ^ second).view(np.uint8)).mean()
    assert abs(agree - 0.5) < 0.01
    ranks = np.argsort(np.argsort(first)), np.argsort(np.argsort(second))
    assert abs(np.corrcoef(*ranks)[0, 1]) < 0.08


def test_rows_are_arranged_by_what_is_used():
    """A column of row numbers has a say among equal rows only."""
    frame = tables.read(pd.DataFrame({"a": [3, 1, 2, 1], "row": [0, 1, 2, 3]}))
    other = tables.read(pd.DataFrame({"a": [1, 1, 3, 2], "row": [0, 1, 2, 3]}))
    found = [arranged(f, order_of(f, ["a"], also=["row"]))["a"].to_list() for f in (frame, other)]
    assert found[0] == found[1]
    last = np.array([1, -1, 1, 1])
    order = order_of(frame, ["a"], last)
    ones = [int(i) for i in order if i in (1, 3)]
    assert ones == [1, 3]
    assert isinstance(arranged(frame, order), nw.DataFrame)


def test_errors_name_the_rows_of_the_table_given():
    rows = np.array([40, 30, 20])
    with pytest.raises(InputError, match=r"^bad in row 30, not in row 7$"), rows_named(rows):
        raise InputError("bad in row 1, not in row 7")
    with pytest.raises(InputError, match="row 5 of B"), rows_named(rows, {"B": np.array([5])}):
        raise InputError("row 0 of B")
    with pytest.raises(CannotConclude, match="row 1"), rows_named(rows):
        raise CannotConclude("row 1")


def test_randomness_is_that_of_the_data_and_the_seed():
    score = np.linspace(0.0, 1.0, 50)
    first = content.generator(0, score).random(3)
    assert np.array_equal(first, content.generator(0, score.astype(np.float32)).random(3))
    assert np.array_equal(first, content.generator(0, score * (1.0 + 1e-15)).random(3))
    assert np.array_equal(
        content.generator([0, 1], -0.0 * score).random(3),
        content.generator([0, 1], 0.0 * score).random(3),
    )
    for other in (content.generator(1, score), content.generator(0, score[::-1])):
        assert not np.array_equal(first, other.random(3))
    assert not np.array_equal(first, content.generator(0, score, score).random(3))
