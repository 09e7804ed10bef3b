"""The tables in what a command printed: those that rich draws, and those in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_TOP, _BODY, _ROW, _END = "┏", "┡", "│", "└"


@dataclass(frozen=True)
class Drawn:
    """A heading, and rows of as many cells."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> list[str]:
        """The lines of a page."""
        return [_line(self.head), "|" + "---|" * len(self.head), *map(_line, self.rows)]


def drawn_tables(text: str) -> list[Drawn]:
    """All of them, in order; a cell must not be broken into lines, a heading may."""
    return [_read(block) for block in _blocks(text.splitlines())]


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """The lines of each table."""
    block: list[str] = []
    for line in lines:
        bare = line.strip()
        if block and block[0][0] == "|" and not bare.startswith("|"):
            yield block
            block = []
        if block or bare.startswith((_TOP, "|")):
            block.append(bare)
        if block and bare.startswith(_END):
            yield block
            block = []
    if block:
        yield block


def _read(block: list[str]) -> Drawn:
    if block[0].startswith("|"):
        head, _, *rows = block
        return Drawn(_cells(head, "|"), tuple(_cells(row, "|") for row in rows))
    at = next(place for place, line in enumerate(block) if line.startswith(_BODY))
    above = [_cells(line, "┃") for line in block[1:at]]
    head = tuple(" ".join(filter(None, parts)) for parts in zip(*above, strict=True))
    rows = [_cells(line, _ROW) for line in block[at + 1 :] if line.startswith(_ROW)]
    return Drawn(head, tuple(rows))


def _cells(line: str, edge: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip(edge).split(edge))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '¦') for cell in cells)} |"
