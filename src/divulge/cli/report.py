"""``divulge report``: rebuild the report of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import options, output
from divulge.errors import require

EXAMPLE = (
    "divulge report result.json --report report.html --claim epsilon=8,delta=1e-5",
    "divulge report result.json --summary summary.html --card card.md",
)


def command(
    result: Annotated[Path, typer.Argument(help="A result written with --out.")],
    report: Annotated[Path | None, options.result(help="The HTML file to write.")] = None,
    pdf: Annotated[
        Path | None, options.result(help="The report as PDF, printed by Chromium.")
    ] = None,
    summary: Annotated[
        Path | None,
        options.result(help="One page for whoever has to sign: HTML, or PDF by its ending."),
    ] = None,
    card: Annotated[
        Path | None, options.result(help="A section for a model card to write, in Markdown.")
    ] = None,
    claim: options.Claim = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Write the report of a result, a summary of one page, or a section for a model card."""
    from divulge.claims import Claim, described
    from divulge.data.writing import Output, write_text
    from divulge.report import card as of_card
    from divulge.report import html, printed
    from divulge.report import summary as one_page
    from divulge.result import Result

    wanted = (report, pdf, summary, card)
    require(
        any(path is not None for path in wanted),
        "What shall be written? --report, --pdf, --summary or --card.",
    )
    signed = summary is not None and summary.suffix.lower() == ".pdf"
    if pdf is not None or signed:
        printed.browser()
    if pdf is not None:
        html.require_charts()
    output.check(
        (
            output.page(report),
            Output("--pdf", pdf),
            Output("--summary", summary),
            Output("--card", card),
        ),
        (result,),
        claim=claim,
        overwrite=overwrite,
    )
    loaded = Result.load(result)
    if report is not None or pdf is not None:
        drawn = None if claim is None else described(loaded, Claim.parse(claim))
        whole = html.page(loaded, claim=drawn)
        if report is not None:
            write_text(report, whole)
        if pdf is not None:
            printed.write(whole, pdf)
    if summary is not None:
        if signed:
            printed.write(one_page.page(loaded), summary)
        else:
            write_text(summary, one_page.page(loaded))
    if card is not None:
        write_text(card, of_card.section(loaded))
    for path in wanted:
        if path is not None:
            output.say(f"Wrote {path}", err=True)
