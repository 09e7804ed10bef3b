"""What the ledger says of whole audits in which nothing leaks, in two tables.

    python docs/scripts/ledger_tables.py

Games of the present code only (``divulge selftest --show docs/evidence``); nothing is played.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from divulge.selftest import ledger, uses
from divulge.selftest.case import Case
from divulge.selftest.cases import cases
from divulge.selftest.row import exact_interval
from divulge.selftest.run import ERROR
from divulge.selftest.standing import Standing, standings

KEPT = "docs/evidence/ledger.jsonl"
ESTIMATED = {
    "membership, balanced, estimated": "mu",
    "membership, prior, estimated": "epsilon",
}
HOSTILE = ("hostile, membership headline", "membership, documents", "membership, texts")


def known() -> list[Standing]:
    """Rows of whole audits of null tables."""
    chosen = [
        case
        for case in cases()
        if isinstance(case, Case)
        and case.bound in (*ESTIMATED, *HOSTILE)
        and case.mechanism.startswith("null")
    ]
    folder = Path(__file__).resolve().parents[2] / Path(KEPT).parent
    return standings(ledger.read(folder), chosen, ERROR, {c.label: uses.digest(c) for c in chosen})


def counted(rows: Sequence[Standing]) -> list[str]:
    """Games, false claims among them, and the largest."""
    games, false = sum(r.games for r in rows), sum(r.false for r in rows)
    largest = max((r.excess for r in rows if r.games), default=0.0)
    return [f"{false} of {games}", f"{largest:.3f}"]


def shifted(rows: Sequence[Standing]) -> Table:
    """Shifts of every kind, everything estimated."""
    table = Table("shift", "rows", "attack", "mu: false", "largest", "epsilon: false", "largest")
    found: dict[tuple[str, ...], dict[str, Standing]] = defaultdict(dict)
    for row in rows:
        if row.case.bound in ESTIMATED:
            size, attack = row.case.setting.split(" rows, attack sees ")
            place = (row.case.mechanism.removeprefix("null, "), size, attack)
            found[place][ESTIMATED[row.case.bound]] = row
    for place, pair in found.items():
        table.add_row(*place, *counted([pair["mu"]]), *counted([pair["epsilon"]]))
    both = list(zip(*([pair["mu"], pair["epsilon"]] for pair in found.values()), strict=True))
    table.add_row("all", "", "", *counted(both[0]), *counted(both[1]))
    return table


def hostile(rows: Sequence[Standing]) -> Table:
    """Tables made to fool an audit: those that ever did, and the others together."""
    table = Table("null audits", "kinds", "false", "largest", "95% interval of the rate")
    own = [row for row in rows if row.case.bound in HOSTILE]
    caught = [row for row in own if row.false]
    groups = [(_named(row), [row]) for row in caught]
    for word, control in (("without a control", False), ("with a control", True)):
        silent = [
            row for row in own if not row.false and row.case.setting.endswith("control") == control
        ]
        groups.append((f"the others, {word}", silent))
    for name, members in [*groups, ("all", own)]:
        games, false = sum(r.games for r in members), sum(r.false for r in members)
        interval = "{:.1%} to {:.1%}".format(*exact_interval(false, games)) if games else ""
        table.add_row(name, str(len(members)), *counted(members), interval)
    return table


def _named(row: Standing) -> str:
    told = row.case.mechanism.removeprefix("null, ")
    return f"{told}, with a control" if row.case.setting.endswith("control") else told


def main() -> None:
    """Print both."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    rows, console = known(), Console()
    for table in (shifted(rows), hostile(rows)):
        console.print(table)


if __name__ == "__main__":
    main()
