"""Parquet files that are small on disk and large in memory; honest ones stay as they are."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from divulge.data import chunked, parquet, stored, tables
from divulge.errors import InputError

ROWS = 100_000


def codes(text, rows=ROWS):
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([text]))


def written(place, schema=False, **columns):
    table = pa.table({**columns, "member": np.arange(ROWS) % 2})
    pq.write_table(table, place, compression="zstd", store_schema=schema)
    assert place.stat().st_size < 1 << 20
    return place


def nested(text):
    lists = pa.ListArray.from_arrays(np.arange(ROWS + 1), codes(text))
    return {"l": lists, "s": pa.StructArray.from_arrays([codes(text)], ["k"])}


BOMBS = {
    "text": ({"t": codes("x" * (1 << 20))}, False, "unpacks to more"),
    "categories": ({"t": codes("x" * (1 << 20))}, True, "unpacks to more"),
    "lists": ({"l": nested("x" * (1 << 20))["l"]}, False, "unpacks to more"),
    "structs": ({"s": nested("x" * (1 << 20))["s"]}, False, "unpacks to more"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_text_that_grows_is_refused_before_it_does(tmp_path, name):
    columns, schema, message = BOMBS[name]
    place = written(tmp_path / "t.parquet", schema, **columns)
    before = pa.total_allocated_bytes()
    with pytest.raises(InputError, match=message) as caught:
        tables.read(place)
    assert "DIVULGE_BUDGET" in str(caught.value)
    assert pa.total_allocated_bytes() - before < 300 << 20
    with pytest.raises(InputError, match=message):
        list(stored.open_table(place).batches(list(columns)))
    with pytest.raises(InputError, match=message):
        chunked.open_chunks([(place, None)], 1000).first(10)
    assert len(stored.open_table(place).table(["member"])) == ROWS  # what is not asked for


def test_many_equal_numbers_are_refused_by_what_they_claim(tmp_path, monkeypatch):
    place = written(tmp_path / "t.parquet", v=np.zeros(ROWS))
    assert len(tables.read(place)) == ROWS
    monkeypatch.setattr(parquet, "FLOOR", 1000)
    monkeypatch.setattr("divulge.data.budgets.RATIO", 5)
    with pytest.raises(InputError, match="unpacks to more"):
        tables.read(place)
    monkeypatch.setenv("DIVULGE_BUDGET", "100000")
    assert len(tables.read(place)) == ROWS


def test_one_text_may_not_be_too_long(tmp_path, monkeypatch):
    place = written(tmp_path / "t.parquet", t=codes("x" * 2000))
    assert len(stored.open_table(place).table(["member"])) == ROWS
    monkeypatch.setattr(parquet, "CELL", 1999)
    with pytest.raises(InputError, match=r"column 't' holds a text of 2,000 bytes; 1,999"):
        tables.read(place)


def test_what_is_claimed_need_not_be_true(tmp_path, monkeypatch):
    place = written(tmp_path / "t.parquet", t=codes("x" * 1000))
    monkeypatch.setattr(parquet, "check", lambda *_: None)
    monkeypatch.setattr(parquet, "FLOOR", 10 << 20)
    with pytest.raises(InputError, match="unpacks to more"):
        tables.read(place)


def test_honest_files_are_read_as_they_are(tmp_path):
    day = datetime.date(2024, 1, 2)
    table = pa.table(
        {
            "text": ["a", None, "", "b" * 100],
            "large": pa.array(["a", None, "", "b"], pa.large_string()),
            "bytes": pa.array([b"a", None, b"", b"b"]),
            "category": pa.array(["u", "v", "u", None]).dictionary_encode(),
            "lists": [["a", "b"], [], None, [None, "c"]],
            "numbers": [[1.0, 2.0], [], None, [3.0]],
            "struct": [{"k": "a", "v": 1}, {"k": None, "v": 2}, None, {"k": "b", "v": 3}],
            "map": pa.array([[("a", "b")], [], None, [("c", None)]], pa.map_("string", "string")),
            "money": pa.array([decimal.Decimal("1.20")] * 4),
            "wide": pa.array([decimal.Decimal("1.20")] * 4, pa.decimal256(60, 2)),
            "day": [day] * 4,
            "none": pa.nulls(4),
            "a.b": ["x", "y", "z", "z"],
        }
    )
    place = tmp_path / "t.parquet"
    pq.write_table(table, place)
    found = tables.read(place).to_arrow()
    assert found.schema.remove_metadata() == table.schema
    assert found.to_pylist() == table.to_pylist()
    some = stored.open_table(place).table(["a.b", "text"])
    assert some.to_pylist() == table.select(["a.b", "text"]).to_pylist()
