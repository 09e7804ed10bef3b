"""The terminal as a place where text from outside may be shown.

``escape`` is for every name, value and sentence that did not come from this package's own source:
one line, without markup. The console itself shows no control character but the line feeds, tabs
and styles that it makes itself, whatever it is given.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich import markup
from rich.console import Console
from rich.table import Table
from rich.text import Text

from divulge.text.visible import one_line, visible


def escape(text: str) -> str:
    """Text from outside inside of markup: one visible line, and no markup of its own."""
    return markup.escape(one_line(text))


def two_columns(rows: Iterable[tuple[str, str]]) -> Table:
    """Names and what they stand for, without a heading; both may come from outside."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(escape(name), escape(value))
    return table


class Screen(Console):
    """A console without highlighting and emoji codes that spells out control characters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, "emoji": False, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        """Every string passes here, be it printed, or the cell of a table."""
        return super().render_str(visible(text.replace("\r", "")), **options)
