"""A ledger of the self-test: in the terminal, and as a page."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from divulge.report.console import Screen, escape
from divulge.selftest import uses
from divulge.selftest.case import Case, Check
from divulge.selftest.standing import Family, Standing, convicting

STYLES = {"convicted": "bold red", "stale": "yellow", "too few": "yellow", "never played": "dim"}
PLAYED = (
    "bound", "mechanism", "game", "games", "false", "95% interval", "excess", "wealth", "power",
    "standing",
)  # fmt: skip
COMPUTED = ("bound", "mechanism", "game", "computed", "largest", "limit", "standing")
FAMILIES = ("family", "rows", "games", "false", "wealth", "standing")
Cells = tuple[str, ...]


@dataclass(frozen=True)
class Account:
    """What a ledger says of the rows that were chosen."""

    known: Sequence[Standing]
    together: Sequence[Family]
    rows: int
    """All rows there are: they share the probability of a false conviction."""
    repetitions: int
    folder: str

    def state(self, row: Standing) -> str:
        """How a row stands."""
        return row.state(self.rows, self.repetitions)

    def family_state(self, family: Family) -> str:
        """How a family stands."""
        return "convicted" if family.wealth >= convicting(self.rows) else "holds"

    @property
    def convicted(self) -> list[str]:
        """Rows and families that make false claims more often than they say."""
        rows = [row.case.label for row in self.known if self.state(row) == "convicted"]
        return rows + [
            f"{family.name}, all rows together"
            for family in self.together
            if self.family_state(family) == "convicted"
        ]

    @property
    def complete(self) -> bool:
        """Whether the present code has played every row as often as it should."""
        return all(self.state(row) in ("holds", "power only") for row in self.known)

    @property
    def code(self) -> str:
        """A digest of the code that all these rows can reach now."""
        every = " ".join(uses.digest(row.case) for row in self.known)
        return hashlib.sha256(every.encode()).hexdigest()[:16]

    @property
    def summary(self) -> str:
        """One line."""
        states = Counter(self.state(row) for row in self.known)
        told = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
        games = sum(row.games for row in self.known if isinstance(row.case, Case))
        hours = sum(row.seconds for row in self.known) / 3600.0
        return f"{len(self.known)} rows: {told}. {games} games, {hours:.1f} hours of one core."

    def played(self) -> list[Cells]:
        """The rows of games, under ``PLAYED``."""
        return [_played(row, self.state(row)) for row in self.known if isinstance(row.case, Case)]

    def computed(self) -> list[Cells]:
        """The checks, under ``COMPUTED``."""
        return [
            _computed(row.case, row, self.state(row))
            for row in self.known
            if isinstance(row.case, Check)
        ]

    def families(self) -> list[Cells]:
        """The families, under ``FAMILIES``."""
        return [
            (
                family.name,
                f"{family.rows}",
                f"{family.games}",
                f"{family.false / family.games:.2%}",
                _wealth(family.wealth),
                self.family_state(family),
            )
            for family in self.together
        ]


def _played(row: Standing, state: str) -> Cells:
    name = (row.case.bound, row.case.mechanism, row.case.setting)
    if not row.games:
        return (*name, f"({row.stale})" if row.stale else "", "", "", "", "", "", state)
    low, high = row.interval
    return (
        *name,
        f"{row.games}",
        f"{row.false / row.games:.2%}",
        f"{low:.1%}-{high:.1%}",
        f"{row.excess:.3f}" if row.false else "",
        _wealth(row.wealth),
        "" if row.power is None else f"{row.power:.0%}",
        state,
    )


def _computed(case: Check, row: Standing, state: str) -> Cells:
    limit = row.error if case.limit is None else case.limit
    largest = f"{row.excess:.6g}" if row.games else ""
    name = (case.bound, case.mechanism, case.setting, case.quantity)
    return (*name, largest, f"{limit:.6g}", state)


def _wealth(log: float) -> str:
    return f"{math.exp(min(log, 200.0)):.2g}"


def print_account(account: Account, console: Console | None = None) -> None:
    """Every row that was ever played, by bound; families; and one line."""
    console = console or Screen()
    for names, rows in ((COMPUTED, account.computed()), (PLAYED, account.played())):
        by_bound: dict[str, list[Cells]] = {}
        for bound, *cells in rows:
            if cells[-1] != "never played":
                by_bound.setdefault(bound, []).append(tuple(cells))
        for bound, own in by_bound.items():
            console.print(f"[bold]{escape(bound)}[/bold]")
            _print_table(names[1:], own, console)
    _print_table(FAMILIES, account.families(), console)
    console.print(account.summary)
    for name in account.convicted:
        console.print(f"[bold red]CONVICTED: {escape(name)}[/bold red]")


def _print_table(names: Cells, rows: Sequence[Cells], console: Console) -> None:
    if not rows:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, name in enumerate(names):
        table.add_column(name, overflow="fold", no_wrap=place > 1 and name != "computed")
    for cells in rows:
        *most, state = map(escape, cells)
        style = STYLES.get(state)
        table.add_row(*most, f"[{style}]{state}[/{style}]" if style else state)
    console.print(table)
    console.print()


def page(account: Account) -> str:
    """The whole ledger as Markdown."""
    made = max((row.made for row in account.known), default="")
    highest = math.exp(convicting(account.rows))
    out = [
        "# The self-test's ledger",
        "",
        f"`divulge selftest --show {account.folder} --page` wrote this page; "
        "`divulge selftest --into` plays on.",
        "",
        f"{account.summary} Last entry: {made}. Digest of the code of all rows: {account.code}.",
        "",
        "*Wealth* is what a bet of 1 against the row has become. A sound row ever reaches "
        f"{highest:.3g}, and is convicted, with so small a probability that all of them together "
        "make 0.001, however often one looks. *Power* is the mean bound over the truth, *excess* "
        "how far the worst claim lay above it. *Stale*: the code has changed since.",
    ]
    for title, names, rows in (
        ("Played", PLAYED, account.played()),
        ("Families", FAMILIES, account.families()),
        ("Computed", COMPUTED, account.computed()),
    ):
        out += ["", f"## {title}", "", _line(names), "|" + "---|" * len(names)]
        out += [_line(cells) for cells in rows]
    return "\n".join(out) + "\n"


def _line(cells: Cells) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
