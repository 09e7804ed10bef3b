"""Columns become numbers and categories, and come back as they were."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from mixed_table import frame, records

from divulge.data import tables
from divulge.errors import InputError
from divulge.generators.encoding import columns_of, first_rows, grid, rebuild, smear, snap


def column(values, name="x"):
    return columns_of(tables.read({name: values}))[0]


@pytest.mark.parametrize(
    ("numbers", "step"),
    [
        ([1, 2, 5], 1.0),
        ([500, 1500, 2000], 500.0),
        ([0.1, 0.25, 3.0], 0.05),
        ([-3.5, 0.0], 3.5),
        ([3.0], 0.0),
        ([np.pi, np.e, 10 / 3], 0.0),
        ([0.0, 2.0**60], 0.0),
    ],
)
def test_the_grid_of_the_data(numbers, step):
    assert grid(np.sort(np.array(numbers, dtype=float))) == pytest.approx(step)


def test_single_precision_decimals_are_decimals():
    assert grid(np.float32([0.1, 0.7, 1.3, 20.4]).astype(float)) == pytest.approx(0.1)


def test_kinds_and_missing_values():
    found = {c.name: c for c in columns_of(records())}
    assert {n for n, c in found.items() if c.kind == "category"} == {
        "adult", "town", "grade", "country",
    }  # fmt: skip
    missing = frame().isna().sum()
    for name, c in found.items():
        assert (c.codes < 0).sum() == missing[name]
        assert c.counts.sum() + missing[name] == len(c)


@pytest.mark.parametrize("name", records().columns)
def test_every_record_is_its_own_donor(name):
    source = records()
    c = next(c for c in columns_of(source) if c.name == name)
    back = rebuild(c, np.arange(len(source)), c.floats() if c.kind == "number" else None)
    assert back.equals(c.values)
    assert back.type == source[name].to_arrow().type


@pytest.mark.parametrize("name", ["age", "income", "score", "visits", "since", "day"])
def test_new_numbers_have_the_old_type(name):
    source = records()
    c = next(c for c in columns_of(source) if c.name == name)
    donors = np.flatnonzero(c.codes >= 0)
    values = np.full(donors.size, c.numbers[-1])
    back = rebuild(c, donors, values)
    assert back.type == c.values.type
    assert set(back.to_pylist()) == {c.values[int(np.argmax(c.codes))].as_py()}


def test_smearing_keeps_what_repeats_and_moves_what_does_not(rng):
    values = np.concatenate([np.zeros(50), [7.0, 7.0], np.round(rng.uniform(10, 99, 40), 1)])
    c = column(values)
    codes = np.repeat(c.codes, 20)
    new = smear(c, codes, rng)
    old = c.numbers[codes]
    often = c.counts[codes] > 1
    assert (new[often] == old[often]).all()
    assert (new[~often] != old[~often]).mean() > 0.5
    assert new.min() == 0.0
    assert new.max() <= values.max()
    np.testing.assert_allclose(new * 10, np.rint(new * 10), atol=1e-9)
    assert np.isnan(smear(c, np.array([-1]), rng)).all()


def test_snapping(rng):
    c = column(np.array([10, 20, 50, 50]))
    np.testing.assert_array_equal(snap(c, np.array([-5.0, 14.9, 31.0, 99.0])), [10, 10, 30, 50])
    assert np.isnan(snap(column(np.array([np.nan, np.nan])), np.array([np.nan]))).all()


def test_first_rows_lead_to_every_value():
    c = column(["b", None, "a", "b"])
    assert [c.values[int(r)].as_py() for r in first_rows(c)] == ["b", "a", None]
    assert first_rows(column([1, 2]))[-1] == -1


def test_a_column_without_any_value():
    assert (columns_of(tables.read({"x": [None, None], "y": [1, 2]}))[0].codes == -1).all()


def test_text_is_refused_by_name():
    words = [f"word {i}" for i in range(300)]
    with pytest.raises(InputError, match=r"'note'.*holds text: 300 different values"):
        column(words, "note")
    assert column(words[:50], "note").levels == 50


def test_what_cannot_be_learned_is_refused_by_name():
    with pytest.raises(InputError, match=r"'e'.*List"):
        column(np.ones((4, 3)), "e")
    with pytest.raises(InputError, match="'x' of the records is infinite in row 1"):
        column([0.0, np.inf])
    with pytest.raises(InputError, match="cannot be read as a table"):
        columns_of(tables.read(pd.DataFrame({"x": [1, "a"]}, dtype=object)))
    with pytest.raises(InputError, match="have no rows"):
        columns_of(tables.read({"x": np.zeros(0)}))
