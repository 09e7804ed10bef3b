"""A table cut into chunks that are read only when they are asked for, and given up when taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from divulge.data import tables
from divulge.data.stored import on_disk, open_source
from divulge.data.tables import Frame
from divulge.data.views import origin
from divulge.errors import require

Change = Callable[[Frame], Frame] | None
Part = tuple[Any, Change]
"""A table, and what is done to each chunk of it."""


@dataclass
class Chunks(Sequence[Any]):
    """Chunks as arrow tables, in order; ``chunks[i]`` reads on until chunk i is there."""

    parts: list[Part]
    size: int
    counts: list[int]
    _held: dict[int, Any] = field(default_factory=dict)
    _read: int = 0
    _source: Iterator[Frame] | None = None

    @property
    def rows(self) -> int:
        """Rows of all parts together."""
        return sum(self.counts)

    def __len__(self) -> int:
        return sum(-(-count // self.size) for count in self.counts)

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        assert isinstance(place, int)
        if self._source is None:
            self._source = self._chunks(self.size)
        while place >= self._read:
            self._held[self._read] = next(self._source).to_arrow()
            self._read += 1
        return self._held[place]

    def take(self, place: int) -> Frame:
        """A chunk that will not be asked for again."""
        self[place]
        return tables.read(self._held.pop(place))

    def first(self, rows: int) -> Frame:
        """The first rows of the first part."""
        return next(self._chunks(rows))

    def _chunks(self, size: int) -> Iterator[Frame]:
        for source, change in self.parts:
            for chunk in _cut(source, size):
                yield chunk if change is None else change(chunk)


def open_chunks(parts: Sequence[Part], size: int) -> Chunks:
    """Look at the tables and count their rows."""
    counts = [_count(source) for source, _ in parts]
    for (source, _), count in zip(parts, counts, strict=True):
        name = str(origin(source)) if on_disk(source) else "a table of records to score"
        require(count > 0, f"{name} has no rows.")
    return Chunks(list(parts), size, counts)


def _count(source: Any) -> int:
    if on_disk(source):
        return int(open_source(source).dataset.count_rows())
    return len(tables.read(source))


def _cut(source: Any, size: int) -> Iterator[Frame]:
    """Chunks of exactly ``size`` rows, the last one shorter."""
    import pyarrow as pa

    if not on_disk(source):
        frame = tables.read(source)
        for start in range(0, len(frame), size):
            yield frame[start : start + size]
        return
    stored = open_source(source)
    held: list[Any] = []
    rows = 0
    for batch in stored.batches(stored.columns):
        held.append(batch)
        rows += batch.num_rows
        while rows >= size:
            table = pa.Table.from_batches(held)
            yield tables.read(table.slice(0, size).combine_chunks())
            held, rows = table.slice(size).to_batches(), rows - size
    if rows:
        yield tables.read(pa.Table.from_batches(held).combine_chunks())
