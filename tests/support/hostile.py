"""Bad and odd inputs as a table: files, what is typed, and what has to be said."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet
import pytest
from commands import run

ROWS = 60


@dataclass(frozen=True)
class Case:
    """One command on bad input."""

    name: str
    command: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    says: tuple[str, ...] = ()
    """Words of the one line of error."""
    code: int = 2


def parametrised(cases: Iterable[Case], one_in: int = 1) -> Any:
    """``@parametrised(CASES)``: every case a test by its own name.

    Of a grid of commands and mistakes ``one_in`` so many, by chance, is quick; all are in the long
    form.
    """
    listed = list(cases)
    names = [f"{' '.join(case.command[:1])}: {case.name}" for case in listed]
    assert len(set(names)) == len(names), sorted(n for n in names if names.count(n) > 1)
    spared = [crc32(name.encode()) % one_in > 0 for name in names]
    given = [
        pytest.param(case, id=name, marks=[pytest.mark.slow] * slow)
        for case, name, slow in zip(listed, names, spared, strict=True)
    ]
    return pytest.mark.parametrize("case", given)


def lay_out(files: Mapping[str, bytes], folder: Path) -> None:
    """Write the files of a case; one whose name ends in / is an empty folder."""
    for name, content in files.items():
        place = folder / name
        if name.endswith("/"):
            place.mkdir(parents=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file of a folder with its bytes, and every folder."""
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None
        for p in sorted(folder.rglob("*"))
        if "__pycache__" not in p.parts
    }


def refused(case: Case, folder: Path) -> str:
    """Run a case: one line of error, the exit code, nothing written, no input changed."""
    lay_out(case.files, folder)
    before = contents(folder)
    done = run(*case.command, cwd=folder)
    lines = done.stderr.splitlines()
    errors = [line for line in lines if line.startswith("divulge: ")]
    assert done.returncode == case.code, (done.returncode, done.stdout[-600:], done.stderr[-600:])
    assert "Traceback" not in done.stderr
    assert len(errors) == 1, done.stderr
    assert lines[-1] == errors[0], done.stderr
    assert done.stdout == ""
    for word in case.says:
        assert word in errors[0], errors[0]
    assert contents(folder) == before
    return errors[0]


def csv(columns: Mapping[str, Sequence[Any]], delimiter: str = ",") -> bytes:
    """Columns as CSV; None is an empty cell. Nothing is quoted."""
    rows = zip(*columns.values(), strict=True)
    lines = [delimiter.join(columns)]
    lines += [delimiter.join("" if v is None else str(v) for v in row) for row in rows]
    return ("\n".join(lines) + "\n").encode()


def parquet(columns: Mapping[str, Any]) -> bytes:
    """Columns as Parquet."""
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(dict(columns)), buffer)
    return buffer.getvalue()


def document(value: Any) -> bytes:
    """JSON, NaN and infinity as Python writes them."""
    return json.dumps(value).encode()


def numbers(offset: float = 0.0, rows: int = ROWS) -> list[float]:
    """Different numbers without a pattern that matters."""
    return [offset + ((k * 7919) % 997) / 997.0 for k in range(rows)]


def replaced(
    columns: Mapping[str, Sequence[Any]], name: str, value: Any, row: int = 3
) -> dict[str, list[Any]]:
    """The columns with one cell changed."""
    changed = {k: list(v) for k, v in columns.items()}
    changed[name][row] = value
    return changed
