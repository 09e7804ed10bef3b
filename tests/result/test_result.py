from __future__ import annotations

import json

import numpy as np
import pytest

from divulge.data.writing import write_text
from divulge.errors import InputError
from divulge.result import Bound, Result, Verdict, floor_to, plain

BOUND = Bound("epsilon", 1.2345678, 0.95, "betting", "a theorem", ("an assumption",), delta=0.0)
RESULT = Result(
    "membership",
    Verdict("leak", False, "It leaks.", ("because",)),
    (BOUND,),
    measurements={"auc": np.float64(0.7), "bad": np.nan},
    trials={"members": np.int64(3)},
)


def test_values_are_rounded_towards_the_smaller_claim():
    assert floor_to(1.23999, 2) == 1.23
    assert BOUND.to_json()["value"] == 1.234567
    assert floor_to(float("inf"), 2) == float("inf")


def test_json_round_trip(tmp_path):
    path = tmp_path / "result.json"
    RESULT.save(path)
    again = Result.load(path)
    assert again.to_json() == RESULT.to_json()
    assert json.loads(path.read_text())["measurements"] == {"auc": 0.7, "bad": None}
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def test_plain_takes_arrays_and_tuples():
    assert plain({"a": (np.arange(2), [np.inf])}) == {"a": [[0, 1], [None]]}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 2}', '{"schema": 1}', "\xff"])
def test_damaged_files_are_refused(tmp_path, text):
    path = tmp_path / "result.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(InputError):
        Result.load(path)


def test_a_missing_file_and_an_unwritable_place_are_said(tmp_path):
    with pytest.raises(InputError, match="Cannot read"):
        Result.load(tmp_path / "none.json")
    with pytest.raises(InputError, match="Cannot write"):
        write_text(tmp_path / "no" / "such" / "folder.json", "x")
