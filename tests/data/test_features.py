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
    assert not listed.whole
    assert "80 numbers" in listed.folded[0]
    columns = encode(
        tables.read({f"x_{j}": wide[:, j] for j in range(80)}), [f"x_{j}" for j in range(80)]
    )
    assert columns.matrix.shape == (300, 80)  # whatever they are called
    assert columns.whole
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


def test_levels_without_a_column_of_their_own_are_kept_as_codes(rng):
    """A frequent level, forty with ten records, and rare ones, which count as one."""
    words = ["often"] * 300 + [f"some {k}" for k in range(40) for _ in range(10)] + list("abcde")
    features = encode(tables.read({"c": words}), ["c"])
    assert features.names == ("c = often", "c, log frequency")
    assert features.origin == ("c", "c")
    assert features.categories == ("c", "c, beginning", "c, last character")
    assert features.derived == features.categories[1:]
    codes = features.levels[:, 0]
    assert np.unique(codes).size == 42
    assert np.unique(codes[-5:]).size == 1
    assert "5 levels of 'c'" in features.folded[0]
    assert not features.whole


def test_no_level_is_folded_away_where_all_have_records():
    words = [f"some {k}" for k in range(40) for _ in range(10)]
    features = encode(tables.read({"c": words}), ["c"])
    assert features.folded == ()
    assert np.unique(features.levels).tolist() == list(range(40))
    some = features.rows(np.array([0, 399]))
    assert some.levels[:, 0].tolist() == [codes_of(features, 0), codes_of(features, 399)]


def codes_of(features, row):
    return int(features.levels[row, 0])
