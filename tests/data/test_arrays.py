from __future__ import annotations

import numpy as np
import pytest

import divulge
from divulge.data import tables
from divulge.errors import InputError


def test_a_matrix_and_named_fields(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6.0).reshape(3, 2))
    assert tables.read(tmp_path / "a.npy").columns == ["x_0", "x_1"]
    rng = np.random.default_rng(0)
    rows = np.zeros(600, dtype=[("member", "i8"), ("loss", "f8")])
    rows["member"] = np.arange(600) % 2
    rows["loss"] = rng.normal(size=600) - 2.0 * rows["member"]
    np.save(tmp_path / "scores.npy", rows)
    found = divulge.membership(tmp_path / "scores.npy")
    assert found.verdict.status == "leak"
    assert found.provenance["inputs"][0]["name"] == "scores.npy"


@pytest.mark.parametrize("array", [np.zeros((2, 2, 2)), np.array([{"a": 1}], dtype=object)])
def test_what_is_no_table_is_refused(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(InputError, match=r"a\.npy"):
        tables.read(tmp_path / "a.npy")


def test_rates_with_their_totals_are_counts():
    rates = {"FPR": [0.03, 0.02], "FNR": [0.05, 0.01], "n": [100, 100]}
    counts = {"fp": [3, 2], "fn": [5, 1], "n": [100, 100]}
    assert divulge.retraining(rates).bounds == divulge.retraining(counts).bounds
    with pytest.raises(InputError, match="whole number of errors"):
        divulge.retraining({**rates, "n": [10, 10]})
