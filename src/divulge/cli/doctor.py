"""``divulge doctor``: what this machine has, for whoever reports a problem."""

from __future__ import annotations

from pathlib import Path

import typer

from divulge.cli import options, output

EXAMPLE = (
    "divulge doctor",
    "divulge doctor --json",
)


def command(as_json: options.AsJson = False) -> None:
    """Show versions, extras, cores, memory and disk: what a report of a problem should tell.

    Exit code 0: all that the core needs is here; 1: something of it is missing.
    """
    import json

    from divulge.work.machine import examine

    found = examine(Path.cwd())
    if as_json:
        typer.echo(json.dumps({one.what: one.found for one in found}, indent=2))
    else:
        for one in found:
            output.say(f"{one.what:<18} {one.found}" + ("" if one.fine else "  <- look at this"))
    raise typer.Exit(0 if all(one.fine for one in found) else 1)
