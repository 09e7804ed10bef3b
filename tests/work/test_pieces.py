"""Finished pieces are found again, damaged ones are not believed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import divulge
from divulge.data import tables
from divulge.errors import InputError
from divulge.work import versions
from divulge.work.pieces import Pieces


class Work:
    def __init__(self, value):
        self.value, self.calls = value, 0

    def __call__(self):
        self.calls += 1
        return self.value


def test_arrays_are_computed_once(tmp_path):
    work = Work({"loss": np.arange(3.0), "name": np.array(["a", "b"])})
    first = Pieces(tmp_path).arrays("losses", {"seed": 1}, work)
    second = Pieces(tmp_path).arrays("losses", {"seed": 1}, work)
    assert work.calls == 1
    np.testing.assert_array_equal(first["loss"], second["loss"])
    assert list(second["name"]) == ["a", "b"]


def test_other_inputs_are_another_piece(tmp_path):
    work = Work({"x": np.zeros(1)})
    for inputs in ({"seed": 1}, {"seed": 2}, {"seed": 1, "records": "abc"}):
        Pieces(tmp_path).arrays("losses", inputs, work)
    assert work.calls == 3


def test_tables_keep_their_types(tmp_path):
    frame = tables.read({"a": [1, 2], "b": ["x", None], "c": [0.5, 1.5]})
    work = Work(frame)
    pieces = Pieces(tmp_path)
    pieces.table("generated", {}, work)
    again = pieces.table("generated", {}, work)
    assert work.calls == 1
    assert again.to_arrow().equals(frame.to_arrow())


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-5], lambda b: b[:80] + b"x" + b[81:], lambda b: b""]
)
def test_a_damaged_piece_is_computed_again(tmp_path, damage):
    pieces, work = Pieces(tmp_path), Work({"x": np.arange(100.0)})
    pieces.arrays("piece", {}, work)
    path = pieces.path("piece", {})
    path.write_bytes(damage(path.read_bytes()))
    assert not pieces.has("piece", {})
    np.testing.assert_array_equal(pieces.arrays("piece", {}, work)["x"], np.arange(100.0))
    assert work.calls == 2
    assert pieces.has("piece", {})


def test_without_a_folder_nothing_is_kept():
    work = Work({"x": np.zeros(1)})
    for _ in range(2):
        Pieces().arrays("piece", {}, work)
    assert work.calls == 2


def test_objects_are_refused_not_pickled(tmp_path):
    with pytest.raises(ValueError, match="allow_pickle"):
        Pieces(tmp_path).arrays("piece", {}, lambda: {"x": np.array([object()], dtype=object)})


def test_a_folder_that_cannot_be_made_is_one_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="Cannot make the folder"):
        Pieces(tmp_path / "file" / "deep").arrays("piece", {}, lambda: {"x": np.zeros(1)})


def test_the_source_is_that_of_the_whole_package():
    here = Path(divulge.__file__).parent
    assert versions.source() == versions.source(here)
    assert versions.source() != versions.source(here / "work")
