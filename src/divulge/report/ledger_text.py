"""A ledger of the self-test: in the terminal, and as a page."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table

from divulge.report.console import Screen, escape
from divulge.selftest import uses
from divulge.selftest.case import Case, Check
from divulge.selftest.standing import Family, Standing, convicting

STYLES = {
    "convicted": "bold red",
    "doubtful": "red",
    "stale": "yellow",
    "too few": "yellow",
    "never played": "dim",
}
PLAYED_ENOUGH = ("holds", "power only", "doubtful")
PLAYED = (
    "bound", "mechanism", "game", "games", "false", "95% interval", "excess", "wealth", "power",
    "standing",
)  # fmt: skip
COMPUTED = ("bound", "mechanism", "game", "computed", "largest", "limit", "standing")
FAMILIES = ("family", "rows", "games", "false", "wealth", "standing")
NAMES = ("family", "mechanism", "game", "computed")
"""What says which row it is; all else is a figure."""
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
        return all(self.state(row) in PLAYED_ENOUGH for row in self.known)

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

    def to_json(self) -> dict[str, Any]:
        """The same for a program; ``log_wealth`` is null where it is infinite."""
        return {
            "rows": [_row_json(row, self.state(row)) for row in self.known],
            "families": [
                {
                    "family": family.name,
                    "rows": family.rows,
                    "games": family.games,
                    "false_claims": family.false,
                    "log_wealth": _finite(family.wealth),
                    "standing": self.family_state(family),
                }
                for family in self.together
            ],
            "convicted": self.convicted,
            "complete": self.complete,
            "code": self.code,
        }


def _row_json(row: Standing, state: str) -> dict[str, Any]:
    case = row.case
    told: dict[str, Any] = {
        "bound": case.bound,
        "parameter": case.parameter,
        "delta": case.delta,
        "mechanism": case.mechanism,
        "setting": case.setting,
        "claimed_error": row.error,
        "standing": state,
    }
    if not row.games:
        return {**told, "games": 0, "stale_games": row.stale}
    told |= {"seconds": row.seconds, "made": row.made}
    if isinstance(case, Check):
        limit = row.error if case.limit is None else case.limit
        return {**told, "quantity": case.quantity, "highest": row.excess, "limit": limit}
    low, high = row.interval
    return {
        **told,
        "games": row.games,
        "false_claims": row.false,
        "rate_low": low,
        "rate_high": high,
        "largest_excess": row.excess,
        "log_wealth": _finite(row.wealth),
        "mean_bound": row.total / row.games,
        "truth": _finite(case.truth),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


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
    """As columns, or, where the terminal is too narrow for them, a line or two for each row."""
    if not rows:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in names:
        table.add_column(name, overflow="fold", no_wrap=name not in NAMES)
    for cells in rows:
        table.add_row(*map(escape, cells[:-1]), _styled(cells[-1]))
    unbounded = console.options.update(width=10_000)
    if Measurement.get(console, unbounded, table).maximum <= console.width:
        console.print(table)
    else:
        for cells in rows:
            told = dict(zip(names, map(escape, cells[:-1]), strict=False))
            console.print(" | ".join(told[name] for name in told if name in NAMES))
            figures = [f"{n} {told[n]}" for n in told if n not in NAMES and told[n]]
            console.print(Padding(f"{', '.join(figures)}: {_styled(cells[-1])}", (0, 0, 0, 4)))
    console.print()


def _styled(state: str) -> str:
    style = STYLES.get(state)
    return f"[{style}]{state}[/{style}]" if style else state


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
        "how far the worst claim lay above it. *Stale*: the code has changed since. "
        "*Doubtful*: not convicted, but the 95% interval of its rate lies above the stated error; "
        "of rows that attain their error exactly one in forty looks so by chance.",
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
