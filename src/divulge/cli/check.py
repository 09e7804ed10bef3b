"""``divulge check``: a claim against a result, for CI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import options, output

EXAMPLE = (
    "divulge check result.json --claim epsilon=8,delta=1e-5",
    "divulge check result.json --claim epsilon=0.5,neighbours=added",
)

HELP = "epsilon=8,delta=1e-5 or mu=1; neighbours=added or replaced, if the claim says so."


def command(
    result: Annotated[Path, typer.Argument(help="A result written with --out.")],
    claim: Annotated[str, options.statistics(help=HELP)],
) -> None:
    """Test a privacy claim against a result.

    Exit code 0: not refuted; 1: refuted; 2: bad input; 3: not comparable.
    """
    from divulge.claims import check
    from divulge.result import Result

    judgement = check(Result.load(result), claim)
    output.say(judgement.sentence)
    raise typer.Exit(judgement.exit_code)
