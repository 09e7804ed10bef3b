"""``divulge compare``: what changed between two results, and over many."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import options, output

EXAMPLE = (
    "divulge compare last.json result.json",
    "divulge compare last.json result.json --error 0.01",
)


def command(
    results: Annotated[
        list[Path], typer.Argument(help="Results written with --out, the earliest first.")
    ],
    error: Annotated[
        float, options.statistics(help="Error probability of calling chance a change.")
    ] = 0.05,
) -> None:
    """Say what changed between results of one game; the last is judged against the one before.

    Exit code 0: not worse; 1: worse by more than chance; 2: bad input; 3: not comparable.
    """
    from divulge.comparison import trend
    from divulge.report.trend import print_trend
    from divulge.result import Result

    found = [Result.load(path) for path in results]
    judged = trend(found, error=error)
    print_trend([path.name for path in results], found)
    output.say(judged[-1].sentence)
    raise typer.Exit(judged[-1].exit_code)
