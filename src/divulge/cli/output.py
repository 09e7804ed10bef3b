"""What every game does with its result: print, write, and the exit code."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import typer

from divulge import addresses
from divulge.result import Result


def check(report: Path | None, claim: str | None) -> None:
    """What can be wrong with the outputs is said before the work, not after it."""
    if claim is not None:
        from divulge.claims import Claim

        Claim.parse(claim)
    if report is not None:
        from divulge.report import html

        html.require_charts()


def command_line() -> str:
    """What was typed; the query of an address is left out, for it may hold a key."""
    return "divulge " + shlex.join(addresses.shown(word) for word in sys.argv[1:])


def words(text: str) -> list[str]:
    """A list given with commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def deliver(
    result: Result,
    *,
    as_json: bool,
    out: Path | None,
    report: Path | None,
    claim: str | None = None,
) -> None:
    """Write the files first, then print; exit code 3 where nothing can be concluded."""
    if report is not None:
        from divulge.claims import Claim, described
        from divulge.report import html

        drawn = described(result, Claim.parse(claim)) if claim else None
        html.write(result, report, claim=drawn)
    if out is not None:
        result.save(out)
    if as_json:
        typer.echo(result.dumps())
    else:
        from divulge.report import terminal

        terminal.print_result(result)
    for path in (out, report):
        if path is not None:
            typer.echo(f"Wrote {path}", err=True)
    if result.verdict.status == "cannot conclude":
        raise typer.Exit(3)
