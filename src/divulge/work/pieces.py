"""Long work in pieces that survive a kill: computed once, kept on disk, checked when read back.

A piece is named by what it was computed from (its inputs, its parameters, divulge's own source and
the versions of what computes), so a second run finds it, and a changed input or an edited checkout
does not. The file starts with the SHA-256 of its content: what was cut off or altered is computed
again. Arrays and tables only, never pickle.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.data import tables
from divulge.data.writing import write_bytes
from divulge.errors import InputError
from divulge.result import plain
from divulge.work import versions

Arrays = dict[str, npt.NDArray[Any]]
DIGEST = 64
"""Hexadecimal digits of SHA-256 at the head of a file."""


def digest(*values: Any) -> str:
    """The SHA-256 of arrays, numbers and tuples of them: other data make other pieces."""
    found = hashlib.sha256()
    for value in values:
        if isinstance(value, tuple):
            found.update(digest(*value).encode())
            continue
        try:
            array = np.ascontiguousarray(np.asarray(value))
        except (TypeError, ValueError):
            array = np.array([repr(value)])
        content = array.tobytes() if array.dtype != object else repr(array.tolist()).encode()
        found.update(repr((array.shape, array.dtype.str)).encode() + content)
    return found.hexdigest()


@dataclass(frozen=True)
class Pieces:
    """A folder of finished pieces; without a folder everything is computed again."""

    folder: Path | None = None

    @classmethod
    def at(cls, folder: str | os.PathLike[str] | None) -> Pieces:
        """The pieces of a folder that a user named, or none."""
        return cls(None if folder is None else Path(folder))

    def arrays(
        self, name: str, inputs: Mapping[str, Any], compute: Callable[[], Mapping[str, Any]]
    ) -> Arrays:
        """Named arrays of numbers or text, from disk if they are there, else computed and kept."""
        found = self.find(name, inputs)
        return self.store(name, inputs, compute()) if found is None else found

    def find(self, name: str, inputs: Mapping[str, Any]) -> Arrays | None:
        """The arrays of a whole piece, or None."""
        found = self._read(name, inputs)
        if found is not None:
            try:
                with np.load(io.BytesIO(found), allow_pickle=False) as kept:
                    return {key: kept[key] for key in kept.files}
            except (ValueError, zipfile.BadZipFile, EOFError):
                pass
        return None

    def store(self, name: str, inputs: Mapping[str, Any], computed: Mapping[str, Any]) -> Arrays:
        """Keep arrays as a piece, and give them as they will be found again."""
        arrays = {key: np.asarray(value) for key, value in computed.items()}
        if self.folder is not None:
            buffer = io.BytesIO()
            np.savez(buffer, allow_pickle=False, **arrays)
            self._write(name, inputs, buffer.getvalue())
        return arrays

    def tasks(self, name: str, inputs: Callable[[Any], Mapping[str, Any]]) -> Kept:
        """Many tasks of one kind, each a piece named by ``inputs(task)``."""
        return Kept(self, name, inputs)

    def table(
        self, name: str, inputs: Mapping[str, Any], compute: Callable[[], tables.Frame]
    ) -> tables.Frame:
        """A table, kept as Parquet."""
        import pyarrow as pa
        import pyarrow.parquet

        found = self._read(name, inputs)
        if found is not None:
            try:
                return tables.read(pyarrow.parquet.read_table(io.BytesIO(found)))
            except (pa.ArrowInvalid, OSError):
                pass
        computed = compute()
        if self.folder is not None:
            buffer = io.BytesIO()
            pyarrow.parquet.write_table(computed.to_arrow(), buffer)
            self._write(name, inputs, buffer.getvalue())
        return computed

    def has(self, name: str, inputs: Mapping[str, Any]) -> bool:
        """Whether a whole piece is there."""
        return self._read(name, inputs) is not None

    def path(self, name: str, inputs: Mapping[str, Any]) -> Path | None:
        """Where a piece is or would be."""
        if self.folder is None:
            return None
        made_by = versions.fingerprint()
        text = json.dumps([name, made_by, plain(inputs)], sort_keys=True, default=str)
        return self.folder / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:24]}.piece"

    def _read(self, name: str, inputs: Mapping[str, Any]) -> bytes | None:
        path = self.path(name, inputs)
        if path is None or not path.exists():
            return None
        raw = path.read_bytes()
        content = raw[DIGEST:]
        whole = hashlib.sha256(content).hexdigest().encode() == raw[:DIGEST]
        return content if whole else None

    def _write(self, name: str, inputs: Mapping[str, Any], content: bytes) -> None:
        path = self.path(name, inputs)
        assert path is not None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"Cannot make the folder {path.parent}: {error.strerror}.") from error
        write_bytes(path, hashlib.sha256(content).hexdigest().encode() + content)


@dataclass(frozen=True)
class Kept:
    """What an engine asks before a task and tells after it; kept where the caller is."""

    pieces: Pieces
    name: str
    inputs: Callable[[Any], Mapping[str, Any]]

    def find(self, task: Any) -> Arrays | None:
        """The result of a finished task, or None."""
        return self.pieces.find(self.name, self.inputs(task))

    def store(self, task: Any, result: Mapping[str, Any]) -> Arrays:
        """Keep the result of a task."""
        return self.pieces.store(self.name, self.inputs(task), result)
