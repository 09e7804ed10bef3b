"""Long work in pieces that survive a kill: computed once, kept on disk, checked when read back.

A piece is named by what it was computed from (its inputs, its parameters and the versions of
divulge, numpy and scikit-learn), so a second run finds it and a changed input does not. The file
starts with the SHA-256 of its content: what was cut off or altered is computed again. Arrays and
tables only, never pickle.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge import __version__, tables
from divulge.errors import InputError
from divulge.result import plain, write_bytes

Arrays = dict[str, npt.NDArray[Any]]
DIGEST = 64
"""Hexadecimal digits of SHA-256 at the head of a file."""


@dataclass(frozen=True)
class Pieces:
    """A folder of finished pieces; without a folder everything is computed again."""

    folder: Path | None = None

    def arrays(
        self, name: str, inputs: Mapping[str, Any], compute: Callable[[], Mapping[str, Any]]
    ) -> Arrays:
        """Named arrays of numbers or text, from disk if they are there, else computed and kept."""
        found = self._read(name, inputs)
        if found is not None:
            try:
                with np.load(io.BytesIO(found), allow_pickle=False) as kept:
                    return {key: kept[key] for key in kept.files}
            except (ValueError, zipfile.BadZipFile, EOFError):
                pass
        computed = {key: np.asarray(value) for key, value in compute().items()}
        if self.folder is not None:
            buffer = io.BytesIO()
            np.savez(buffer, allow_pickle=False, **computed)
            self._write(name, inputs, buffer.getvalue())
        return computed

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
        made_by = [__version__, *(metadata.version(p) for p in ("numpy", "scikit-learn"))]
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


def digest(value: Any) -> str:
    """The SHA-256 of arrays, so that other data make other pieces."""
    whole = hashlib.sha256()
    for part in value if isinstance(value, tuple) else (value,):
        try:
            array = np.ascontiguousarray(np.asarray(part))
        except (TypeError, ValueError):
            array = np.array([repr(part)])
        content = array.tobytes() if array.dtype != object else repr(array.tolist()).encode()
        whole.update(f"{array.dtype}{array.shape}".encode() + content)
    return whole.hexdigest()
