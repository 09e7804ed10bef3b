"""One section of the page: what it draws, how to read it, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from divulge.report.drawing import Drawing
from divulge.result import Diagnostics, plain

ROWS = 60
"""The longest series that is also shown as a table beside its chart."""


def no_note(value: Any) -> str:
    """Nothing to add to the caption."""
    return ""


def no_table(value: Any) -> None:
    """The series are too long to be read as a table."""


def scalars(value: Any) -> dict[str, Any]:
    """The single numbers and words that came with a chart's series."""
    given = {} if isinstance(value, tuple) else value.to_json()
    return {k: v for k, v in given.items() if not isinstance(v, list | Mapping)}


def side_by_side(value: Any) -> Any:
    """The series behind a chart as rows of a table, None unless short enough to read."""
    series = {k: v for k, v in value.to_json().items() if isinstance(v, list)}
    edges = series.pop("edges", None)
    if edges:
        series = {"from": edges[:-1], "to": edges[1:], **series}
    lengths = {len(v) for v in series.values()}
    if len(series) < 2 or len(lengths) != 1 or max(lengths) > ROWS:
        return None
    return [dict(zip(series, row, strict=True)) for row in zip(*series.values(), strict=True)]


def short(rows: list[Any]) -> Any:
    """Rows of a table, None if there are too many to read."""
    return plain(rows) if len(rows) <= ROWS else None


@dataclass(frozen=True)
class Panel:
    """One drawing of a section."""

    name: str
    draw: Callable[[Diagnostics], Drawing | None]
    title: str = ""
    caption: str = ""
    """How to read this one, where the section's caption does not say."""


@dataclass(frozen=True)
class Section:
    """One diagnostic that is drawn: its heading, how to read it, and the numbers behind it.

    The callables get the record that stands under the key.
    """

    key: str
    title: str
    caption: str
    panels: tuple[Panel, ...]
    note: Callable[[Any], str] = no_note
    facts: Callable[[Any], dict[str, Any]] = scalars
    numbers: Callable[[Any], Any] = side_by_side
    names: bool = False
    """Whether the chart cuts names that only its table shows whole."""
