"""A table as the user gave it: its name in messages, its content, and what names it in a result.

The one way in which games and attacks read: ``read_table`` takes everything into memory,
``look_at`` opens a file without reading it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from divulge.data import stored, tables
from divulge.data.stored import Stored
from divulge.data.tables import Frame


@dataclass(frozen=True)
class Given:
    """One of the user's tables: in memory, or on disk and not read yet."""

    where: str
    """How a message names it."""
    source: Any = field(repr=False)
    table: Frame | Stored = field(repr=False)

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self.table.columns)

    @property
    def frame(self) -> Frame:
        """The whole table, in memory."""
        if isinstance(self.table, Stored):
            return tables.read(self.table.table(self.columns))
        return self.table

    def fingerprint(self, name: str | None = None) -> dict[str, str]:
        """Name and SHA-256: those of the file, or ``name`` and the digest of the values."""
        frame = None if isinstance(self.table, Stored) else self.table
        called = self.where.removeprefix("the ") if name is None else name
        return tables.fingerprint(self.source, frame, called)


def read_table(where: str, source: Any) -> Given:
    """A table in memory, whatever form it was given in."""
    return Given(where, source, tables.read(source))


def look_at(where: str, source: Any) -> Given:
    """A table on disk that is not read yet; one in memory as it is."""
    if stored.on_disk(source):
        return Given(where, source, stored.open_source(source))
    return read_table(where, source)
