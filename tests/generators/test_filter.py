"""The filter removes what a classifier recognises, and says when nothing would be left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from mixed_table import records

from divulge.data import tables
from divulge.errors import InputError
from divulge.generators.filter import Filtered, matrix
from divulge.generators.trees import SequentialTrees


@dataclass(frozen=True)
class Poor:
    """Gaussians, of which a share lies far off; or all of them alike."""

    off: float = 0.2
    name: str = "poor"

    @property
    def settings(self):
        return {"off": self.off}

    def generate(self, records, count, rng):
        x = rng.normal(size=(count, 2))
        x[rng.random(count) < self.off] += 8.0
        return tables.read({"x": x[:, 0], "y": x[:, 1]})


@dataclass(frozen=True)
class Same:
    """Always the same record."""

    name: str = "same"

    @property
    def settings(self):
        return {}

    def generate(self, records, count, rng):
        return tables.read({"x": np.ones(count), "y": np.ones(count)})


def real(rng, rows=400):
    return tables.read({"x": rng.normal(size=rows), "y": rng.normal(size=rows)})


def test_poor_samples_go(rng):
    made = Filtered(Poor(), share=0.25).generate(real(rng), 1000, rng)
    assert len(made) == 1000
    assert (made["x"].to_numpy() > 5).mean() < 0.01


def test_a_small_share_removes_a_small_share(rng):
    made = Filtered(Poor(), share=0.1).generate(real(rng), 2000, rng)
    assert (made["x"].to_numpy() > 5).mean() == pytest.approx(0.1 / 0.9, abs=0.06)


def test_mixed_tables_keep_their_form_and_the_seed_decides():
    generator = Filtered(SequentialTrees(trees=2), share=0.2)
    first, second = (
        generator.generate(records(300), 100, np.random.default_rng(5)).to_arrow() for _ in "ab"
    )
    assert first.equals(second)
    assert first.num_rows == 100
    assert first.schema.equals(records(300).to_arrow().schema.remove_metadata())


def test_nothing_left_is_an_error(rng):
    with pytest.raises(InputError, match="After 2 rounds the filter left 0 of 50 generated"):
        Filtered(Same(), rounds=2).generate(real(rng), 50, rng)


def test_settings_name_both():
    filtered = Filtered(Poor(0.3), share=0.2)
    assert filtered.name == "poor, filtered"
    assert filtered.settings == {
        "generator": "poor", "off": 0.3, "filter_share": 0.2, "filter_rounds": 4,
    }  # fmt: skip
    for share in (0.0, 1.0, float("nan")):
        with pytest.raises(InputError, match="share must lie in"):
            Filtered(Poor(), share)
    with pytest.raises(InputError, match="rounds must be at least 1"):
        Filtered(Poor(), rounds=0)


def test_the_matrix_of_many_levels():
    words = [f"w{i}" for i in range(400) for _ in range(12)]
    x, categorical = matrix(tables.read({"w": [*words, None], "n": np.arange(4801.0)}))
    assert categorical == [True, False]
    assert np.nanmax(x[:, 0]) == 250
    assert np.isnan(x[-1, 0])
