"""A ledger of games: what every row has shown so far, in lines that outlive the run.

A folder of JSON lines. An entry says what some games of one row came to, made by which code
(``uses.py``); entries of the same code add up, in any order and from any machine: a file of another
ledger may be laid beside. A line that a kill cut off is not read. One run writes at a time.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from divulge.data.writing import write_bytes
from divulge.errors import InputError

try:
    import fcntl
except ImportError:  # no such locks on Windows
    fcntl = None  # type: ignore[assignment]

FILE, LOCK = "ledger.jsonl", ".lock"


@dataclass(frozen=True)
class Entry:
    """Some games of a row, or the edges of a check (then ``seed`` and ``first`` say nothing)."""

    row: str
    code: str
    error: float
    seed: int
    first: int
    games: int
    false: int
    """False claims; of a check: edges beyond the limit, or whether it is too low."""
    excess: float
    """By how much the worst claim was above the truth; of a check: the largest value."""
    total: float
    """Sum of the claims; of a check: the smallest value."""
    seconds: float
    made: str
    """The day of the last of them, and by which versions on which machine."""

    @property
    def last(self) -> int:
        return self.first + self.games


def read(folder: Path) -> list[Entry]:
    """All whole lines of all files; games that are told twice count once."""
    if not folder.is_dir():
        raise InputError(f"There is no ledger in {folder}: `divulge selftest --into` makes one.")
    found: dict[tuple[Any, ...], list[Entry]] = defaultdict(list)
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
            entry = _parsed(line, path, number)
            found[entry.row, entry.code, entry.error, entry.seed].append(entry)
    return [entry for entries in found.values() for entry in _once(entries)]


def _parsed(line: bytes, path: Path, number: int) -> Entry:
    try:
        return Entry(**json.loads(line))
    except (ValueError, TypeError) as error:
        wanted = ", ".join(field.name for field in fields(Entry))
        raise InputError(
            f"{path.name}, line {number} is no entry of a ledger ({wanted}): {error}"
        ) from error


def _once(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Those that do not overlap, and neighbours as one."""
    kept: Entry | None = None
    for entry in sorted(entries, key=lambda e: (e.first, -e.games)):
        if kept is None:
            kept = entry
        elif entry.first == kept.last:
            kept = _joined(kept, entry)
        elif entry.first > kept.last:
            yield kept
            kept = entry
    if kept is not None:
        yield kept


def _joined(one: Entry, other: Entry) -> Entry:
    return Entry(
        row=one.row,
        code=one.code,
        error=one.error,
        seed=one.seed,
        first=one.first,
        games=one.games + other.games,
        false=one.false + other.false,
        excess=max(one.excess, other.excess),
        total=one.total + other.total,
        seconds=one.seconds + other.seconds,
        made=max(one.made, other.made),
    )


def line(entry: Entry) -> bytes:
    """One line."""
    told = asdict(entry)
    for name, digits in (("excess", 6), ("total", 6), ("seconds", 3)):
        told[name] = round(told[name], digits)
    return json.dumps(told, allow_nan=False).encode() + b"\n"


class Writer:
    """Appends entries, each whole; only while ``writing``."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / FILE).open("ab")

    def append(self, entry: Entry) -> None:
        """Write one line through to the disk."""
        self._file.write(line(entry))
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


@contextmanager
def writing(folder: Path) -> Iterator[Writer]:
    """A writer that nobody else is beside."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("w")
    except OSError as error:
        raise InputError(f"Cannot write into {folder}: {error.strerror}.") from error
    with lock:
        if fcntl is not None:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InputError(
                    f"Another self-test is writing into {folder}. Wait for it, or name another "
                    "folder: its file can be laid beside this one's later."
                ) from error
        _mend(folder / FILE)
        writer = Writer(folder)
        try:
            yield writer
        finally:
            writer.close()


def _mend(path: Path) -> None:
    """Take away the end of a line that a kill cut off."""
    if path.exists():
        content = path.read_bytes()
        if content and not content.endswith(b"\n"):
            write_bytes(path, content[: content.rfind(b"\n") + 1])


def compact(folder: Path, current: dict[str, str]) -> None:
    """One file, few lines: what the present code played, or else what the last one did.

    ``current`` has the code of every row that there still is.
    """
    entries = [entry for entry in read(folder) if entry.row in current]
    latest: dict[str, str] = {}
    for entry in sorted(entries, key=lambda e: e.made):
        latest[entry.row] = entry.code
    played = {entry.row for entry in entries if entry.code == current[entry.row]}
    kept = [
        entry
        for entry in sorted(entries, key=lambda e: (e.row, e.seed, e.first))
        if entry.code == (current if entry.row in played else latest)[entry.row]
    ]
    others = [path for path in folder.glob("*.jsonl") if path.name != FILE]
    write_bytes(folder / FILE, b"".join(line(entry) for entry in kept))
    for path in others:
        path.unlink()
