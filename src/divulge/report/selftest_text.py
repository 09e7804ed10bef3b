"""The self-test in the terminal: what was computed, what was played, and families of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from divulge.report.console import Screen, escape
from divulge.text.rounding import at_least

if TYPE_CHECKING:
    from divulge.selftest import Row

_FAILS = "[bold red]FAILS[/bold red]"
_VERDICTS = {"fails": _FAILS, "too low": "[bold red]TOO LOW[/bold red]"}


def print_selftest(rows: Sequence[Row], console: Console | None = None) -> None:
    """Exact probabilities beside the stated error, then one table per bound."""
    console = console or Screen()
    exact = [row for row in rows if row.exact is not None]
    games = [row for row in rows if row.exact is None and row.truth is not None]
    families = [row for row in rows if row.truth is None and row.exact is None]
    if exact:
        _print_exact(exact, console)
    for name in dict.fromkeys(row.bound for row in games):
        _print_games([row for row in games if row.bound == name], console)
    if families:
        _print_families(families, console)
    failed = sum(not row.holds for row in rows)
    if failed:
        console.print(f"\n[bold red]{failed} of {len(rows)} rows FAIL.[/bold red]")
        return
    played = sum(row.repetitions for row in games)
    console.print(
        "\nNo bound makes false claims significantly more often than it says "
        f"({len(games)} rows of games, {played} games; {len(exact)} exact checks)."
    )


def _print_exact(rows: Sequence[Row], console: Console) -> None:
    console.print("\n[bold]computed exactly[/bold]: nothing may be above the limit")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("bound", "mechanism", "game", "computed"):
        table.add_column(name, overflow="fold")
    for name in ("largest", "limit", "least"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in rows:
        exact = row.exact
        assert exact is not None
        table.add_row(
            escape(row.bound),
            escape(row.mechanism),
            escape(row.setting),
            escape(exact.quantity),
            _up(exact.highest),
            f"{exact.limit:.6g}",
            f"{exact.lowest:.6g}",
            _VERDICTS.get(row.verdict, row.verdict),
        )
    console.print(table)


def _up(value: float) -> str:
    """Rounded up: what is above its limit looks so."""
    return f"{math.ceil(value * 1e6) / 1e6:.6f}" if math.isfinite(value) else str(value)


def _print_games(rows: Sequence[Row], console: Console) -> None:
    first = rows[0]
    target = first.parameter if first.delta is None else f"epsilon at delta {first.delta:g}"
    console.print(
        f"\n[bold]{escape(first.bound)}[/bold]: {target}, claims error {first.claimed_error:g}"
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("mechanism", overflow="fold")
    table.add_column("game", overflow="fold")
    for name in ("games", "false", "95% interval", "bound", "truth", "power"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in rows:
        table.add_row(
            escape(row.mechanism),
            escape(row.setting),
            f"{row.repetitions}",
            f"{row.rate:.1%}",
            f"{row.rate_low:.1%}-{row.rate_high:.1%}",
            "" if row.mean_bound is None else at_least(row.mean_bound),
            f"{row.truth:.3f}",
            "" if row.power is None else f"{row.power:.0%}",
            _VERDICTS.get(row.verdict, row.verdict),
        )
    console.print(table)


def _print_families(rows: Sequence[Row], console: Console) -> None:
    console.print("\n[bold]families[/bold]: all rows of a family together")
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("family")
    for name in ("rows", "games", "false", "95% interval"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in rows:
        table.add_row(
            escape(row.mechanism),
            escape(row.setting.removesuffix(" rows together")),
            f"{row.repetitions}",
            f"{row.rate:.1%}",
            f"{row.rate_low:.1%}-{row.rate_high:.1%}",
            _VERDICTS.get(row.verdict, row.verdict),
        )
    console.print(table)
