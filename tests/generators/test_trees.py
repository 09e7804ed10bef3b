"""Sequential forests keep the form of a table and its dependencies, and copy few records."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from mixed_table import frame, records

from divulge.data import tables
from divulge.errors import InputError
from divulge.generators.copies import exact_copies, same_schema
from divulge.generators.trees import SequentialTrees

FAST = SequentialTrees(trees=3)


@pytest.fixture(scope="module")
def made():
    return FAST.generate(records(), 900, np.random.default_rng(1))


def test_form(made):
    source = records()
    assert len(made) == 900
    assert made.to_arrow().schema.equals(source.to_arrow().schema.remove_metadata())
    assert same_schema(source, made) == []


def test_decimals_ranges_spikes_and_rare_levels(made):
    old, new = frame(), made.to_pandas()
    np.testing.assert_allclose(new["income"] * 100, np.rint(new["income"] * 100), atol=1e-6)
    assert new["income"].max() <= old["income"].max()
    assert (new["income"] == 0).mean() == pytest.approx((old["income"] == 0).mean(), abs=0.06)
    assert set(new["town"].dropna()) == set(old["town"].dropna())
    assert new["town"].isna().mean() == pytest.approx(0.2, abs=0.06)
    assert set(new["country"]) == {"nowhere"}


def test_dependencies_survive(made):
    new = made.to_pandas()
    assert (new["adult"] == (new["age"] >= 21)).mean() > 0.98
    assert ((new["grade"] == "senior") == (new["age"] > 50)).mean() > 0.98
    assert new["score"].isna()[new["age"] > 72].mean() > 0.95
    assert new["score"].isna()[new["age"] < 68].mean() < 0.05


def test_few_copies(made):
    assert exact_copies(records(), made).size < 0.02 * len(made)


def test_the_seed_decides():
    first, second, other = (
        FAST.generate(records(200), 50, np.random.default_rng(s)).to_arrow() for s in (3, 3, 4)
    )
    assert first.equals(second)
    assert not first.equals(other)


def test_nulls_and_nans_stay_what_they_are(rng):
    source = tables.read({"x": np.array([1.0, np.nan] * 50), "y": [1.5, None] * 50})
    made = FAST.generate(source, 80, rng).to_arrow()
    assert made["x"].null_count == 0
    assert made["y"].null_count == np.isnan(made["x"].to_numpy()).sum() > 0


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_data_frames_of_any_library(library, rng):
    source = tables.read(library({"a": [1, 2, 3] * 20, "b": ["x", "y", "z"] * 20}))
    made = FAST.generate(source, 30, rng)
    assert made.columns == ["a", "b"]
    assert set(made.rows()) == {(1, "x"), (2, "y"), (3, "z")}


def test_one_column_and_one_row(rng):
    assert FAST.generate(tables.read({"a": [5, 5, 5]}), 4, rng)["a"].to_list() == [5] * 4
    assert len(FAST.generate(tables.read({"a": [5], "b": ["x"]}), 4, rng)) == 4


def test_settings():
    assert SequentialTrees().settings == {"trees": 10, "leaf": 10}
    with pytest.raises(InputError, match="leaf must be at least 1"):
        SequentialTrees(leaf=0)
    with pytest.raises(InputError, match="trees must be at least 1"):
        SequentialTrees(trees=0)
