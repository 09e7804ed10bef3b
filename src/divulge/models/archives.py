"""Zip archives from strangers, read within limits: no bombs, no name twice, nothing cut off."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path

from divulge.errors import InputError, require

RATIO = 200
"""Most bytes that one byte of an archive may become: arrays compress well, bombs better."""
FLOOR = 64 << 20
"""An archive that unpacks to no more than this may compress as well as it likes."""


def contents(place: Path | io.BytesIO, name: str | None = None) -> dict[str, bytes]:
    """All members unpacked, by name, once the archive is known to be harmless in size."""
    where = name or str(place)
    try:
        with zipfile.ZipFile(place) as archive:
            found = archive.infolist()
            _check(found, _size(place), where)
            return {item.filename: _within(archive, item) for item in found}
    except (
        zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError,
    ) as error:  # fmt: skip
        if isinstance(error, InputError):
            raise
        raise InputError(f"Cannot load {where}: {error}.") from error


def _size(place: Path | io.BytesIO) -> int:
    return place.getbuffer().nbytes if isinstance(place, io.BytesIO) else place.stat().st_size


def _check(found: list[zipfile.ZipInfo], size: int, where: str) -> None:
    names = [item.filename for item in found]
    require(len(names) == len(set(names)), f"Cannot load {where}: it holds a file twice.")
    whole = sum(item.file_size for item in found)
    require(
        whole <= max(FLOOR, RATIO * size),
        f"Cannot load {where}: its {size:,} bytes claim to unpack to {whole:,}, which no model "
        "does.",
    )


def packed(files: dict[str, bytes]) -> io.BytesIO:
    """An archive in memory that holds these members and nothing else."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    buffer.seek(0)
    return buffer


def _within(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> bytes:
    """A member, of which no more is unpacked than its header admits."""
    with archive.open(item) as stream:
        data = stream.read(item.file_size + 1)
    if len(data) != item.file_size:
        raise ValueError(f"{item.filename} is not as long as the archive says")
    return data
