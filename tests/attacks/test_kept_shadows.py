"""The table of shadow models: what is written is what is read."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.attacks.kept_shadows import read_kept, table_of
from divulge.data import content, tables
from divulge.errors import InputError
from divulge.models.base import Answers

RECORDS = tables.read({"text": ["one two", "three", "four five six", "seven"]})
ORDER = np.argsort(content.keys(RECORDS, ["text"]))
KEYS = content.keys(RECORDS, ["text"])[ORDER]
INSIDE = np.array([[True, False], [False, True], [True, True], [False, False]])


def said(rng) -> Answers:
    tokens = -rng.random((4, 5))
    tokens[np.arange(5) >= np.array([5, 2, 3, 1])[:, None]] = np.nan
    return Answers(tokens=tokens)


def test_texts_of_several_lengths_and_losses_come_back(rng):
    answers = [said(rng), Answers(losses=rng.random(4))]
    table = table_of(KEYS, INSIDE, answers, ["text"], None, {"shadows": 2})
    kept = read_kept(table)
    assert np.array_equal(kept.inside, INSIDE)
    assert [m.gives for m in kept.models] == ["tokens", "losses"]
    found = kept.models[0].ask(RECORDS).tokens
    assert np.array_equal(found[ORDER], answers[0].tokens, equal_nan=True)
    assert np.array_equal(kept.models[1].ask(RECORDS).losses[ORDER], answers[1].losses)
    assert kept.models[0].cache_key != kept.models[1].cache_key
    marked = kept.marked(RECORDS)
    assert np.array_equal(marked[kept.marks[1]].to_numpy()[ORDER], INSIDE[:, 1])


def test_a_damaged_table_is_an_error(rng):
    table = table_of(KEYS, INSIDE, [said(rng), said(rng)], ["text"], None, {"shadows": 2})
    with pytest.raises(InputError, match="damaged: its records are not in order"):
        read_kept(table.take([1, 0, 2, 3]).replace_schema_metadata(table.schema.metadata))
    with pytest.raises(InputError, match="damaged"):
        read_kept(table_of(KEYS, INSIDE[:, :1], [said(rng)], ["text"], None, {"shadows": 2}))
    with pytest.raises(InputError, match="no answers of shadow model 1"):
        read_kept(table.drop(["tokens 1"]))
    with pytest.raises(InputError, match="not a table that divulge shadows wrote"):
        read_kept(table.replace_schema_metadata(None))
    with pytest.raises(InputError, match="no column 'inside'"):
        read_kept(table.drop(["inside"]))
