"""The list of attacks as a person reads it in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from divulge.attacks.base import NEEDS, Attack
from divulge.report.console import Screen, escape


def print_attacks(attacks: Sequence[Attack], *, console: Console | None = None) -> None:
    """Name, needs, sign and paper of every attack, then what the needs mean."""
    console = console or Screen()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("attack", no_wrap=True)
    table.add_column("members", no_wrap=True)
    table.add_column("needs", ratio=1)
    table.add_column("paper", ratio=1)
    for attack in attacks:
        table.add_row(
            escape(attack.name),
            "lower" if attack.lower_is_member else "higher",
            ", ".join(attack.needs),
            escape(attack.paper),
        )
    console.print(table)
    console.print("\n[bold]needs[/bold]")
    meanings = Table(box=None, pad_edge=False, show_header=False)
    meanings.add_column(no_wrap=True)
    meanings.add_column()
    for need, meaning in NEEDS.items():
        meanings.add_row(need, escape(meaning))
    console.print(meanings)
