"""What the terminal says of the leakage of single records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from divulge.report.console import escape
from divulge.report.leakage_words import EXACT, QUANTILES, figure, is_summary
from divulge.report.wording import finite, number
from divulge.result import Result, plain

SHOWN = ("leakage", "advantage", "exact_advantage", "advantage_by_similar")
ROWS = 10
"""Most exposed records shown."""


def print_leakage(result: Result, console: Console) -> frozenset[str]:
    """The distribution, the most exposed records and what similar ones reveal.

    Returns the measurements that have been said; prints and says nothing for any other game.
    """
    if result.game != "leakage":
        return frozenset()
    held = plain(result.diagnostics)
    summaries = {k: v for k, v in plain(result.measurements).items() if is_summary(v)}
    if summaries:
        console.print("[bold]Over the records[/bold]")
        table = _table("", *(name for _, name in QUANTILES))
        for key, value in summaries.items():
            table.add_row(escape(figure(key)), *(_number(value[k], key) for k, _ in QUANTILES))
        console.print(table)
    rows = [r for r in _list(held.get("most_exposed")) if isinstance(r, Mapping)][:ROWS]
    if rows:
        console.print("\n[bold]Most exposed[/bold]")
        keys = [
            k
            for k in ("leakage", "advantage", "exact_advantage", "advantage_by_similar")
            if k in rows[0]
        ]
        names = {key: figure(key) for key in keys if key != "advantage_by_similar"}
        names["leakage"] = "leakage"
        table = _table("id", *(names.get(k, "with a similar record") for k in keys))
        for row in rows:
            table.add_row(escape(str(row.get("id"))), *(_number(row.get(k)) for k in keys))
        console.print(table)
    line = _similar(held.get("similar"))
    if line:
        console.print(f"\n{escape(line)}")
    return frozenset(summaries)


def _similar(given: Any) -> str:
    found = given if isinstance(given, Mapping) else {}
    share, count = finite(found.get("median_share")), finite(found.get("compared"))
    if share is None or count is None:
        return ""
    return (
        f"Somebody who holds the nearest reference record instead keeps {share:.1%} of the leakage "
        f"(median of {count:.0f} records)."
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any, key: str = "") -> str:
    known = finite(value)
    if known is None:
        return "infinite" if key.startswith(EXACT) else "beyond 600"
    return number(known)


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right", no_wrap=len(name) < 12)
    return table
