"""``divulge report``: rebuild the report of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import options, output

EXAMPLE = "divulge report result.json --report report.html --claim epsilon=8,delta=1e-5"


def command(
    result: Annotated[Path, typer.Argument(help="A result written with --out.")],
    report: Annotated[Path, options.result(help="The HTML file to write.")],
    claim: options.Claim = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write the HTML report of a result."""
    from divulge.claims import Claim, described
    from divulge.report import html
    from divulge.result import Result

    output.check((output.page(report),), (result,), claim=claim, overwrite=overwrite)
    loaded = Result.load(result)
    drawn = None if claim is None else described(loaded, Claim.parse(claim))
    html.write(loaded, report, claim=drawn)
    output.say(f"Wrote {report}", err=True)
