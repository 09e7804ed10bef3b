"""Results of one game side by side, in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from divulge.report.console import Screen, escape
from divulge.report.terminal import parameter_name, status, value_text
from divulge.result import Result


def print_trend(
    names: Sequence[str], results: Sequence[Result], console: Console | None = None
) -> None:
    """One line per result: file, date, verdict, AUC and every headline bound, epsilon first."""
    console = console or Screen()
    every = dict.fromkeys(
        parameter_name(b)
        for parameter in ("epsilon", "mu")
        for result in results
        for b in result.headline()
        if b.parameter == parameter
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("result", "date", "verdict"):
        table.add_column(heading, overflow="fold")
    for heading in ("AUC", *every):
        table.add_column(escape(heading), justify="right", overflow="fold")
    for name, result in zip(names, results, strict=True):
        stated = {parameter_name(b): value_text(b.value) for b in result.headline()}
        area = result.measurements.get("auc")
        table.add_row(
            escape(name),
            escape(str(result.provenance.get("date", "-"))),
            escape(status(result).lower()),
            value_text(area) if isinstance(area, float) else "-",
            *(stated.get(bound, "-") for bound in every),
        )
    console.print(table)
