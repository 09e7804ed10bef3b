"""Zip archives from strangers, read within limits: no bombs, no name twice, nothing cut off."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path

from divulge.data import budgets
from divulge.errors import InputError, require

FLOOR = 64 << 20
"""An archive that unpacks to no more than this may compress as well as it likes."""
MEMBERS = 1 << 17


def allowed(place: Path) -> int:
    """Most bytes that an archive may unpack to, with all archives inside it."""
    return budgets.unpacked(place.stat().st_size, FLOOR)


def contents(
    place: Path | io.BytesIO, name: str | None = None, most: int | None = None
) -> dict[str, bytes]:
    """All members unpacked, by name, once they are known to take at most ``most`` bytes."""
    where = name or str(place)
    if isinstance(place, Path):
        budgets.require_file(place)
        most = allowed(place) if most is None else most
    try:
        with zipfile.ZipFile(place) as archive:
            found = archive.infolist()
            _check(found, most or 0, where)
            return {item.filename: _within(archive, item) for item in found}
    except (
        zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError,
    ) as error:  # fmt: skip
        if isinstance(error, InputError):
            raise
        raise InputError(f"Cannot load {where}: {error}.") from error


def _check(found: list[zipfile.ZipInfo], most: int, where: str) -> None:
    require(
        len(found) <= budgets.raised(MEMBERS),
        f"Cannot load {where}: it holds {len(found):,} files, which no model does. {budgets.HINT}",
    )
    names = [item.filename for item in found]
    require(len(names) == len(set(names)), f"Cannot load {where}: it holds a file twice.")
    whole = sum(item.file_size for item in found)
    require(
        whole <= most,
        f"Cannot load {where}: it claims to unpack to {whole:,} bytes; {most:,} are allowed for "
        f"its size. {budgets.HINT}",
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
