"""Tables under other names: renamed columns, and elements of lists, on disk and in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge
from divulge.data import renaming, tables, views
from divulge.data.given import look_at
from divulge.data.views import TableView
from divulge.errors import InputError

RNG = np.random.default_rng(0)
MEMBER = np.arange(400) % 2 == 0
LOSS = RNG.normal(size=400) - 2.0 * MEMBER
EMB = np.column_stack([RNG.normal(size=400), LOSS, RNG.normal(size=400)])
PLAIN = {"member": MEMBER, "loss": LOSS, "x": EMB[:, 0]}
OTHER = pa.table({"train": MEMBER, "emb": list(EMB), "x": EMB[:, 0]})
FORMS = {
    "arrow": lambda path: OTHER,
    "pandas": lambda path: OTHER.to_pandas(),
    "polars": lambda path: pl.from_arrow(OTHER),
    "parquet": lambda path: _written(path),
}


def _written(path):
    pq.write_table(OTHER, path / "t.parquet", row_group_size=64)
    return path / "t.parquet"


@pytest.mark.parametrize("form", FORMS)
def test_a_view_has_the_new_names_and_the_elements(form, tmp_path):
    view = TableView(FORMS[form](tmp_path), {"train": "member", "emb[1]": "loss"}, ("emb[2]",))
    for frame in (tables.read(view), look_at("the table", view).frame):
        assert frame.columns == ["member", "emb", "x", "loss", "emb[2]"]
        np.testing.assert_array_equal(frame["loss"].to_numpy(), LOSS)
        np.testing.assert_array_equal(frame["emb[2]"].to_numpy(), EMB[:, 2])
        np.testing.assert_array_equal(frame["member"].to_numpy(), MEMBER)


@pytest.fixture(scope="module")
def plain():
    return divulge.membership(PLAIN, score="loss", features="x", quick=True)


@pytest.mark.parametrize(
    "form",
    [
        "pandas",
        *(pytest.param(f, marks=pytest.mark.slow) for f in ("parquet", "arrow", "polars")),
    ],
)
def test_the_same_audit_under_other_names(form, plain, tmp_path):
    """In memory and on disk; that every form is read alike is the test above."""
    given = FORMS[form](tmp_path)
    renamed = {"train": "member", "emb[1]": "loss"}
    named = divulge.membership(given, rename=renamed, features="x", quick=True)
    assert named.bounds == plain.bounds
    assert divulge.membership(
        given, truth="train", score="emb[1]", features=["emb[0]"], lower_is_member=True, quick=True
    ).headline() == pytest.approx(plain.headline())


def test_the_input_is_named_by_its_own_content(tmp_path):
    path = _written(tmp_path)
    renamed = divulge.membership(path, rename={"train": "member", "emb[1]": "loss"})
    itself = divulge.membership(path, truth="train", score="emb[1]", lower_is_member=True)
    assert renamed.provenance["inputs"] == itself.provenance["inputs"]


def test_names_may_be_exchanged():
    view = TableView({"a": [1, 2], "b": [3, 4]}, {"a": "b", "b": "a"})
    assert tables.read(view)["a"].to_list() == [3, 4]


def test_a_column_of_that_name_is_itself():
    frame = tables.read(TableView({"e[0]": [7.0], "e": [[1.0]]}, {}, ("e[0]",)))
    assert frame["e[0]"].to_list() == [7.0]


def test_elements_of_lists_of_lists():
    column = pa.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
    assert views.element(column, "e[1][0]", "the table").to_pylist() == [3, 7]
    assert views.element_type(column.type, "e[1][0]") == pa.int64()


@pytest.mark.parametrize(
    ("rename", "words", "message"),
    [
        ({"trian": "member"}, {}, r"rename \(--map\): the input has no column 'trian'"),
        ({"trian": "member"}, {}, "Did you mean 'train'"),
        ({"x": "emb"}, {}, r"rename \(--map\): the table already has a column 'emb'"),
        ({"emb[0]": "x"}, {}, r"rename \(--map\): the table already has a column 'x'"),
        ({}, {"truth": "train", "score": "emb[3]"}, "has 3 elements, which are counted from 0"),
        ({}, {"truth": "train", "score": "x[3]"}, "'x' of .* holds double"),
        ({}, {"truth": "train", "score": "embb[3]"}, "no column 'embb.3.'. Did you mean 'emb'"),
        ({"train": ""}, {}, "takes names of columns"),
    ],
)
@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_errors_name_the_option_and_the_nearest_column(form, tmp_path, rename, words, message):
    with pytest.raises(InputError, match=message):
        divulge.membership(FORMS[form](tmp_path), rename=rename, **words)


def test_words_of_the_command_line():
    assert renaming.pairs(["a=b", "c=d=e"]) == {"a": "b", "c=d": "e"}
    for bad in ("a", "=b", "a="):
        with pytest.raises(InputError, match="--map is OLD=NEW"):
            renaming.pairs([bad])
    with pytest.raises(InputError, match="'a' twice"):
        renaming.pairs(["a=b", "a=c"])


def test_pandas_with_an_index_of_its_own():
    frame = pd.DataFrame({"e": [[1.0, 2.0], [3.0, 4.0]]}, index=[5, 9])
    assert tables.read(TableView(frame, {}, ("e[1]",)))["e[1]"].to_list() == [2.0, 4.0]
