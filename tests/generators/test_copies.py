"""Copies are found exactly; tables of another form are described."""

from __future__ import annotations

import numpy as np
import pytest
from mixed_table import frame, records

from divulge.data import tables
from divulge.errors import InputError
from divulge.generators.copies import exact_copies, same_schema


def test_copies_of_mixed_rows():
    table = frame(300)
    table["score"] = table["score"] + np.float32(0.001) * np.arange(300, dtype=np.float32)
    members, other = tables.read(table[:200]), table[200:].copy()
    mixed = tables.read(table.iloc[[5, 250, 17, 260, 199]].reset_index(drop=True))
    np.testing.assert_array_equal(exact_copies(members, mixed), [0, 2, 4])
    assert exact_copies(members, tables.read(other.reset_index(drop=True))).size == 0


def test_one_different_value_is_no_copy():
    members = tables.read({"a": [1.0, 2.0], "b": ["x", "y"]})
    near = tables.read({"a": [1.0, np.nextafter(2.0, 3.0)], "b": ["y", "y"]})
    assert exact_copies(members, near).size == 0
    assert exact_copies(members, near, ["b"]).tolist() == [0, 1]


def test_missing_equals_missing_and_types_may_differ():
    members = tables.read({"a": [1, None], "b": [np.nan, 2.0]})
    made = tables.read({"a": [1.0, np.nan, 1.0], "b": [None, 2.0, 2.0]})
    assert exact_copies(members, made).tolist() == [0, 1]


def test_large_whole_numbers_are_exact():
    members = tables.read({"a": np.array([2**60], dtype=np.int64)})
    assert exact_copies(members, tables.read({"a": np.array([2**60 + 1])})).size == 0


def test_lists():
    members = tables.read({"e": np.array([[1.0, 2.0], [3.0, 4.0]])})
    assert exact_copies(members, tables.read({"e": np.array([[3.0, 4.0]])})).tolist() == [0]


def test_copies_need_columns():
    with pytest.raises(InputError, match="no column in common"):
        exact_copies(tables.read({"a": [1]}), tables.read({"b": [1]}))
    with pytest.raises(InputError, match=r"the generated records has no column 'b'"):
        exact_copies(tables.read({"a": [1], "b": [1]}), tables.read({"a": [1]}), ["b"])
    with pytest.raises(InputError, match="Column 'a' holds"):
        exact_copies(tables.read({"a": [1]}), tables.read({"a": ["1"]}))


def test_the_same_form_has_no_differences():
    assert same_schema(records(), records(seed=1)) == []


def test_columns_that_are_missing_or_of_another_kind_in_one_error():
    members = tables.read({"a": [1], "b": ["x"], "c": [True]})
    made = tables.read({"b": [1.0], "c": [True], "d": [1]})
    with pytest.raises(InputError) as error:
        same_schema(members, made)
    text = str(error.value)
    assert "lack the column 'a'" in text
    assert "'b' (words among the members, numbers among the generated records)" in text
    assert "also have the column 'd'" in text


def test_oddities_are_named():
    members = tables.read({"a": [1.0, 2.0], "b": ["x", "y"], "c": [1.0, np.nan]})
    made = tables.read({"a": [1.5, None], "b": ["z", "x"], "c": [1.0, 2.0], "d": [0, 0]})
    found = " ".join(same_schema(members, made))
    assert "Only the generated records have the column 'd'" in found
    assert "Column 'a': whole numbers among the members, fractions generated." in found
    assert "Column 'a': values are missing among the generated records only (1)." in found
    assert "Column 'b': 1 values of generated records that no member has, such as 'z'." in found
    assert "Column 'c': values are missing among the members only (1)." in found
