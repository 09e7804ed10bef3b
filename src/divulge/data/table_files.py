"""The one writer of tables: Parquet or CSV, by the name of the file, whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from divulge.data.stored import PARQUET
from divulge.data.writing import Named, replacing, require_not_among
from divulge.errors import InputError, require

WRITTEN = (*PARQUET, ".csv")


def require_table_name(path: Named, inputs: Iterable[Any] = ()) -> Path:
    """The place of a table to be written; InputError unless its name says Parquet or CSV."""
    target = Path(path)
    if target.suffix.lower() not in WRITTEN:
        raise InputError(f"{os.fspath(path)} must end in .parquet or .csv: it is a table.")
    require(target.parent.is_dir(), f"There is no folder {target.parent}.")
    require_not_among(target, inputs)
    return target


def write_table(path: Named, parts: Iterable[Any], about: Mapping[str, Any] | None = None) -> None:
    """Write Arrow tables one below the other as one file, which appears when it is whole."""
    target = require_table_name(path)
    with replacing(target) as place:
        fill_table(place, target, parts, about)


def fill_table(
    place: Path, target: Path, parts: Iterable[Any], about: Mapping[str, Any] | None = None
) -> None:
    """Write Arrow tables, as they come, to ``place`` in the form that the name ``target`` says.

    ``about`` is kept in the Parquet file, in the place of what its schema said, under the name
    divulge: a file that has it is known to be ours.
    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    parquet = target.suffix.lower() in PARQUET
    kind = pyarrow.parquet.ParquetWriter if parquet else pyarrow.csv.CSVWriter
    with ExitStack() as opened:
        writer: Any = None
        schema: Any = None
        for table in parts:
            try:
                if writer is None:
                    schema = table.schema
                    if about is not None:
                        schema = schema.with_metadata({"divulge": json.dumps(about)})
                    writer = opened.enter_context(kind(place, schema))
                writer.write_table(table.cast(schema))
            except pa.ArrowInvalid as error:
                if parquet:
                    raise InputError(f"Cannot write {target}: {error}") from error
                raise InputError(
                    f"CSV cannot hold these columns: {error}. Write Parquet."
                ) from error
            except (pa.ArrowException, OSError) as error:
                raise InputError(f"Cannot write {target}: {error}") from error
