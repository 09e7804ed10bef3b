"""How is a stranger's Parquet file read within a budget?

One text of a megabyte in a dictionary, mentioned a million times, takes two kilobytes on disk and a
terabyte in memory. So text is read as codes into its dictionary, counted, and only then written
out. What a file claims is looked at before it is read, what it holds while it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from divulge.data import budgets
from divulge.errors import require

FLOOR = 2 << 30
"""Bytes that any file may hold; larger ones may hold ``budgets.RATIO`` times their size."""
CELL = 64 << 20
"""Bytes of the longest text."""
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 8}
TEXT = "BYTE_ARRAY"


def budget(files: Sequence[Path]) -> int:
    """Most bytes that these files may hold."""
    return budgets.unpacked(sum(file.stat().st_size for file in files), FLOOR)


def texts(files: Sequence[Path]) -> list[str]:
    """The columns of text, also inside lists, by their paths."""
    found: dict[str, None] = {}
    for metadata in _metadata(files):
        for j in range(metadata.num_columns):
            column = metadata.schema.column(j)
            if column.physical_type == TEXT and column.logical_type.type != "DECIMAL":
                found[column.path] = None
    return list(found)


def check(path: Path, files: Sequence[Path], columns: Sequence[str]) -> None:
    """InputError if the columns claim to hold more than the files may."""
    claimed = 0
    for metadata in _metadata(files):
        wanted = [
            j
            for j in range(metadata.num_columns)
            if any((metadata.schema.column(j).path + ".").startswith(f"{c}.") for c in columns)
        ]
        for group in range(metadata.num_row_groups):
            chunks = metadata.row_group(group)
            for j in wanted:
                one, kind = chunks.column(j), metadata.schema.column(j)
                width = WIDTHS.get(kind.physical_type, kind.length if kind.length > 0 else 0)
                claimed += one.num_values * width if width else one.total_uncompressed_size
    _require(path, claimed, budget(files))


def counted(path: Path, files: Sequence[Path], batches: Iterator[Any], types: Any) -> Iterator[Any]:
    """The batches with text written out, as long as all of it together stays within the budget."""
    import pyarrow as pa

    most, longest = budget(files), budgets.raised(CELL)
    total = 0
    for batch in batches:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            size, cell = _text(column)
            require(
                cell <= longest,
                f"Cannot read {path}: column {name!r} holds a text of {cell:,} bytes; {longest:,} "
                f"are allowed. {budgets.HINT}",
            )
            total += size or column.nbytes
        _require(path, total, most)
        fields = [types.field(name) for name in batch.schema.names]
        written = [
            c if c.type == f.type else c.cast(f.type)
            for c, f in zip(batch.columns, fields, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(written, schema=pa.schema(fields, types.metadata))


def _metadata(files: Sequence[Path]) -> Iterator[Any]:
    import pyarrow.parquet

    for file in files:
        yield pyarrow.parquet.read_metadata(file)


def _require(path: Path, size: int, most: int) -> None:
    require(
        size <= most,
        f"Cannot read {path}: it unpacks to more than the {most:,} bytes that a file of its size "
        f"may hold. {budgets.HINT}",
    )


def _text(array: Any) -> tuple[int, int]:
    """Bytes of the text that codes stand for, and of the longest; also inside lists."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_struct(kind):
        parts = [_text(part) for part in array.flatten()]
        return sum(size for size, _ in parts), max((cell for _, cell in parts), default=0)
    if pa.types.is_map(kind):
        return _text(pa.StructArray.from_arrays([array.keys, array.items], ["key", "item"]))
    if pa.types.is_nested(kind):
        return _text(array.flatten())
    if not pa.types.is_dictionary(kind) or not _is_text(kind.value_type):
        return 0, 0
    lengths = pc.binary_length(array.dictionary)
    size = pc.sum(pc.take(lengths.cast(pa.int64()), array.indices)).as_py()
    return size or 0, pc.max(lengths).as_py() or 0


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    return any(test(kind) for test in (*tests, pa.types.is_large_binary))
