"""What the terminal says of members against generated records: three figures and what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from divulge.report.console import escape
from divulge.report.synthetic_words import FIGURES, SHORT
from divulge.report.wording import finite, number
from divulge.result import Result, plain
from divulge.text.rounding import rounded_up
from divulge.text.visible import one_line

ROWS = 20
"""Other audits shown, at most."""
MEANING = "a measurement, not a bound"
"""For a result that does not say it itself."""


_COMPARED = ("real_nonmembers_epsilon", "one_run_epsilon")


def figures(result: Result, keys: Iterable[str] = tuple(FIGURES)) -> dict[str, str]:
    """Measurements as text, as far as the result holds them."""
    held = plain(result.measurements)
    found = ((key, finite(held.get(key))) for key in keys)
    return {key: number(value) for key, value in found if value is not None}


def print_synthetic(result: Result, console: Console) -> frozenset[str]:
    """The figures, what their difference means, their spread, and other audits beside them.

    Returns the measurements that have been said; prints and says nothing for any other game.
    """
    if result.game != "synthetic":
        return frozenset()
    held = plain(result.diagnostics)
    shown = figures(result)
    if shown:
        console.print("\n[bold]Members against generated records (PANORAMIA)[/bold]")
        console.print(_table([(FIGURES[key], text) for key, text in shown.items()]))
    if "epsilon_tilde" in shown:
        console.print(f"epsilon~ is {escape(meaning(held.get('measurement')))}.")
    spread = spread_rows(held.get("repeats"))
    if spread:
        console.print(f"\n[bold]{escape(_repeated(held['repeats']))}[/bold]")
        console.print(_table(spread))
        console.print("Mean and 95% t-interval: a spread, not a bound.")
    others = compared(held.get("comparison"))
    if others:
        console.print("\n[bold]Other audits beside it, in epsilon[/bold]")
        console.print(_table(others))
    told = [text for _, text in others]
    again = [key for key, text in figures(result, _COMPARED).items() if text in told]
    return frozenset([*shown, *again])


def meaning(measurement: Any) -> str:
    """What epsilon~ means, in the words that the result holds."""
    said = measurement.get("meaning") if isinstance(measurement, Mapping) else None
    return one_line(said).rstrip(".") if isinstance(said, str) and said.strip() else MEANING


def spread_rows(repeats: Any) -> list[tuple[str, str]]:
    """Each figure with its mean and interval over repeats."""
    rows = []
    for key, name in SHORT.items():
        given = repeats.get(key) if isinstance(repeats, Mapping) else None
        if isinstance(given, Mapping):
            found = [finite(given.get(part)) for part in ("mean", "low", "high")]
            mean, low, high = found
            if mean is not None and low is not None and high is not None:
                rows.append((name, f"{number(mean)} ({number(low)} to {rounded_up(high)})"))
    return rows


def compared(comparison: Any) -> list[tuple[str, str]]:
    """The other audits by name, each with its epsilon."""
    rows = []
    for item in comparison if isinstance(comparison, list) else ():
        if isinstance(item, Mapping) and isinstance(item.get("attack"), str):
            value = finite(item.get("epsilon"))
            rows.append(
                (one_line(item["attack"]), "not computed" if value is None else number(value))
            )
    return rows[:ROWS]


def _repeated(repeats: Mapping[str, Any]) -> str:
    count = finite(repeats.get("count"))
    return "Spread over repeats" if count is None else f"Spread over {count:.0f} repeats"


def _table(rows: list[tuple[str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(overflow="fold")
    table.add_column(no_wrap=True)
    for name, value in rows:
        table.add_row(escape(name), escape(value))
    return table
