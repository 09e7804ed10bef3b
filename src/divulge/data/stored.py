"""How is a table larger than memory read? In batches, the columns that are needed, from disk.

A Parquet or CSV file, a folder of Parquet files (also in hive partitions, ``member=1/...``), or an
array of NumPy's, which is read whole.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from divulge.data import arrays, budgets, dialect, parquet, views
from divulge.errors import InputError, require

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".tsv", ".txt")
NUMPY = (".npy",)
BATCH = 1 << 18
"""Rows read at once."""
BLOCK = 1 << 26
"""Bytes of a CSV file read at once; the types of its columns are told from the first block."""


@dataclass(frozen=True)
class Stored:
    """A table on disk that has been looked at, but not read."""

    path: Path
    dataset: Any = field(repr=False)
    """With text as codes, where it is Parquet."""
    parquet: tuple[Path, ...] = ()
    """Its files, where they are Parquet."""
    types: Any = field(default=None, repr=False)
    """Of the columns as they are given, where they are Parquet."""
    shown: Mapping[str, str] | None = None
    """The columns by other names, and where each comes from; None: as they are."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.dataset.schema.names if self.shown is None else self.shown)

    def kind(self, column: str) -> Any:
        """The Arrow type of a column."""
        name = column if self.shown is None else self.shown[column]
        schema = self.dataset.schema
        if name in schema.names:
            return schema.field(name).type
        return views.element_type(schema.field(views.base(name)).type, name)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """The rows in their order, a batch at a time."""
        if self.shown is None:
            yield from self._stored(columns)
            return
        import pyarrow as pa

        asked = [self.shown[c] for c in columns]
        own = set(self.dataset.schema.names)
        bases = list(dict.fromkeys(c if c in own else views.base(c) for c in asked))
        for batch in self._stored(bases):
            found = [batch.column(c) if c in own else self._element(batch, c) for c in asked]
            yield pa.RecordBatch.from_arrays(found, names=list(columns))

    def _element(self, batch: Any, name: str) -> Any:
        return views.element(batch.column(views.base(name)), name, str(self.path))

    def _stored(self, columns: Sequence[str]) -> Iterator[Any]:
        """The same by the names that the file has."""
        import pyarrow as pa

        try:
            if self.parquet:
                parquet.check(self.path, self.parquet, columns)
            found = self.dataset.to_batches(
                columns=list(columns), batch_size=BATCH, batch_readahead=2, fragment_readahead=1
            )
            if self.parquet:
                found = parquet.counted(self.path, self.parquet, found, self.types)
            yield from found
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise dialect.trouble(self.path, error) from error

    def table(self, columns: Sequence[str], words: Collection[str] = ()) -> Any:
        """Every row of these columns; the texts of ``words`` are kept as codes."""
        import pyarrow as pa

        parts = [coded(batch, words) for batch in self.batches(columns) if batch.num_rows]
        require(len(parts) > 0, f"{self.path} has no rows.")
        return pa.Table.from_batches(parts).unify_dictionaries()


def open_table(path: Path) -> Stored:
    """Look at a file or a folder; InputError where it is none that can be read."""
    import pyarrow as pa
    import pyarrow.dataset

    files = files_of(path)
    for file in files:
        budgets.require_file(file)
    kind = files[0].suffix.lower()
    try:
        if kind in PARQUET:
            plain, dataset = (_parquet(path, files, text) for text in ([], parquet.texts(files)))
            found = Stored(path, dataset, tuple(files), plain.schema)
        elif kind in NUMPY:
            found = Stored(path, arrays.table(path))
        else:
            found = Stored(path, _csv(path, dialect.of_file(path)))
        names = found.columns
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise dialect.trouble(path, error) from error
    if len(set(names)) != len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise InputError(f"{path} has two columns named {twice!r}. Rename one.")
    return found


def open_source(source: Any) -> Stored:
    """The same for a path, or for a view of one."""
    found = open_table(Path(views.origin(source)))
    if not isinstance(source, views.TableView):
        return found
    return replace(found, shown=source.shown(found.columns))


def on_disk(source: Any) -> bool:
    """Whether a source, or what it is a view of, is a path."""
    return isinstance(views.origin(source), str | os.PathLike)


def _parquet(path: Path, files: Sequence[Path], codes: Sequence[str]) -> Any:
    """Parquet files as one table; the columns in ``codes`` as codes into a dictionary."""
    import pyarrow.dataset

    form = pyarrow.dataset.ParquetFileFormat(
        read_options=pyarrow.dataset.ParquetReadOptions(dictionary_columns=list(codes))
    )
    return pyarrow.dataset.dataset(
        [str(f) for f in files],
        format=form,
        partitioning=pyarrow.dataset.partitioning(flavor="hive"),
        partition_base_dir=str(path if path.is_dir() else path.parent),
    )


def files_of(path: Path) -> list[Path]:
    """The file itself, or the Parquet files of a folder, sorted; hidden ones are left out."""
    if not os.path.isdir(path):  # which, unlike path.is_dir(), takes any name
        budgets.require_file(path)
        kind = path.suffix.lower()
        if kind not in PARQUET + CSV + NUMPY:
            raise InputError(
                f"{path} is neither Parquet nor CSV nor .npy: its name ends in {kind!r}."
            )
        return [path]
    found = sorted(
        f
        for f in path.rglob("*")
        if f.suffix.lower() in PARQUET
        and not any(part.startswith((".", "_")) for part in f.relative_to(path).parts)
    )
    require(len(found) > 0, f"The folder {path} holds no Parquet file.")
    return found


def _csv(path: Path, written: dialect.Dialect) -> Any:
    """A CSV file; in one of several blocks, whole numbers may turn out not to be whole later."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset

    form = pyarrow.dataset.CsvFileFormat(
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=written.delimiter, newlines_in_values=True
        ),
        convert_options=pyarrow.csv.ConvertOptions(decimal_point=written.decimal),
        read_options=pyarrow.csv.ReadOptions(block_size=BLOCK),
    )
    dataset = pyarrow.dataset.dataset(str(path), format=form)
    dialect.require_text(path, dataset.schema)
    if path.stat().st_size <= BLOCK:
        return dataset
    wider = [
        pa.field(f.name, pa.float64()) if pa.types.is_integer(f.type) else f for f in dataset.schema
    ]
    return pyarrow.dataset.dataset(str(path), format=form, schema=pa.schema(wider))


def coded(batch: Any, words: Collection[str]) -> Any:
    """A batch with the texts of these columns as codes."""
    import pyarrow as pa

    for name in words:
        column = batch.column(name)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            at = batch.schema.get_field_index(name)
            batch = batch.set_column(at, name, column.dictionary_encode())
    return batch


def release() -> None:
    """Give memory that Arrow no longer needs back to the system: a large table leaves much."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def fingerprint(path: Path) -> str:
    """SHA-256 of a file's bytes; of a folder, of the sorted names and digests of its files."""
    if not path.is_dir():
        return file_sha256(path)
    digest = hashlib.sha256()
    for file in files_of(path):
        digest.update(f"{file_sha256(file)}  {file.relative_to(path).as_posix()}\n".encode())
    return digest.hexdigest()


def file_sha256(path: str | os.PathLike[str]) -> str:
    """The digest of a file's bytes."""
    budgets.require_file(Path(path))
    digest = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
