"""``divulge report``: rebuild the report of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import options, output


def command(
    result: Annotated[Path, typer.Argument(help="A result written with --out.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")],
    claim: Annotated[
        str | None, typer.Option(help="A claim to draw: mu=1 or epsilon=8,...")
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write the HTML report of a result."""
    from divulge.claims import Claim, described
    from divulge.report import html
    from divulge.result import Result

    output.check((output.page(out, "--out"),), (result,), claim=claim, overwrite=overwrite)
    loaded = Result.load(result)
    drawn = None if claim is None else described(loaded, Claim.parse(claim))
    html.write(loaded, out, claim=drawn)
    output.say(f"Wrote {out}", err=True)
