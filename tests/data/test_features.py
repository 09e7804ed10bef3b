from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from divulge.data import tables
from divulge.data.features import COMPONENTS, duplicates, encode
from divulge.errors import InputError


def test_numbers_categories_and_missing_values():
    frame = tables.read({"n": pa.array([1.0, None, 3.0, 5.0]), "c": ["a", "b", None, "a"]})
    features = encode(frame, ["n", "c"])
    assert features.names == ("n", "n is missing", "c = a", "c = (missing)", "c = b")
    np.testing.assert_allclose(features.matrix.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(features.matrix.std(axis=0), 1.0)


def test_constant_columns_are_dropped_and_no_features_are_fine():
    frame = tables.read({"a": [1, 1, 1], "b": [1, 2, 3]})
    assert encode(frame, ["a", "b"]).names == ("b",)
    assert encode(frame, []).matrix.shape == (3, 0)


def test_embeddings_are_reduced(rng):
    wide = rng.normal(size=(300, 80))
    listed = encode(tables.read({"e": wide}), ["e"])
    assert listed.matrix.shape == (300, COMPONENTS)
    columns = encode(
        tables.read({f"x_{j}": wide[:, j] for j in range(80)}), [f"x_{j}" for j in range(80)]
    )
    assert columns.matrix.shape == (300, COMPONENTS)
    few = encode(tables.read({"e": wide[:, :5]}), ["e"])
    assert few.names[0] == "e[0]"


def test_dates_become_numbers():
    frame = tables.read({"d": pa.array([0, 86400, 172800], pa.timestamp("s"))})
    assert encode(frame, ["d"]).matrix.shape == (3, 1)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([None, None], pa.float64()), "no value"),
        (pa.array([float("nan")] * 2), "NaN in every row"),
        (pa.array([1.0, float("inf")]), "infinite in row 1"),
        (pa.array([[1.0], [1.0, 2.0]]), "same length"),
    ],
)
def test_useless_features_are_named(column, message):
    with pytest.raises(InputError, match=message):
        encode(tables.read(pa.table({"f": column})), ["f"])


def test_duplicates_across_the_pools_are_found():
    frame = tables.read({"a": [1, 2, 3, 1, 5]})
    features = encode(frame, ["a"])
    found = duplicates(features, np.array([1.0, 1.0, -1.0, -1.0, -1.0]))
    np.testing.assert_array_equal(found, [3])
