"""``divulge report``: rebuild the report of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import options, output
from divulge.errors import require

EXAMPLE = (
    "divulge report result.json --report report.html --claim epsilon=8,delta=1e-5",
    "divulge report result.json --card card.md",
)


def command(
    result: Annotated[Path, typer.Argument(help="A result written with --out.")],
    report: Annotated[Path | None, options.result(help="The HTML file to write.")] = None,
    card: Annotated[
        Path | None, options.result(help="A section for a model card to write, in Markdown.")
    ] = None,
    claim: options.Claim = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write the HTML report of a result, or a section for a model card."""
    from divulge.claims import Claim, described
    from divulge.data.writing import Output, write_text
    from divulge.report import card as of_card
    from divulge.report import html
    from divulge.result import Result

    require(report is not None or card is not None, "What shall be written? --report or --card.")
    output.check(
        (output.page(report), Output("--card", card)), (result,), claim=claim, overwrite=overwrite
    )
    loaded = Result.load(result)
    if report is not None:
        drawn = None if claim is None else described(loaded, Claim.parse(claim))
        html.write(loaded, report, claim=drawn)
        output.say(f"Wrote {report}", err=True)
    if card is not None:
        write_text(card, of_card.section(loaded))
        output.say(f"Wrote {card}", err=True)
