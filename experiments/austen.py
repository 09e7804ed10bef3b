"""Jane Austen's novels from R's package janeaustenr, as Debian ships it (``make text``)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from pathlib import Path

from divulge.errors import InputError, require

CHAPTER = re.compile(r"^\s*(?:chapter|volume)\s+[0-9ivxlc]+\.?\s*$", re.IGNORECASE)


def novels(path: Path) -> dict[str, list[str]]:
    """Lines of the novels from R's database: per novel a length, then a packed vector of strings.

    Only the fields that such a vector has are read; nothing in the file is executed.
    """
    require(
        path.exists(),
        f"{path} is missing. Fetch the novels with 'make text' (Debian's package "
        "r-cran-janeaustenr) or name the file with --text.",
    )
    raw, at, found = path.read_bytes(), 0, {}
    try:
        while at < len(raw):
            packed = zlib.decompressobj()
            data = packed.decompress(raw[at + 4 :])
            at = len(raw) - len(packed.unused_data)
            place = data.index(b"UTF-8") + 5 + 4
            count, place = int.from_bytes(data[place : place + 4]), place + 4
            lines = []
            for _ in range(count):
                size = int.from_bytes(data[place + 4 : place + 8])
                lines.append(data[place + 8 : place + 8 + size].decode())
                place += 8 + size
            require(place == len(data), f"{path} is not the file of the package.")
            found[lines[0].strip().upper()] = lines
    except (zlib.error, ValueError, IndexError) as error:
        raise InputError(f"Cannot read {path}: {error}") from error
    return found


def chapters(lines: Sequence[str], novel: str) -> dict[str, str]:
    """Chapters by name, each one line of text."""
    found: list[list[str]] = []
    for line in lines:
        if CHAPTER.match(line):
            found.append([])
        elif found:
            found[-1].append(line)
    texts = [" ".join(" ".join(part).split()) for part in found]
    return {f"{novel.title()} {i}": t for i, t in enumerate((t for t in texts if t), 1)}
