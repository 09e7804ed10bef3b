"""``divulge lineup``: true values among alternatives drawn just as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import options, output

EXAMPLE = "divulge lineup scores.csv --out result.json --report report.html"


def command(
    data: Annotated[
        Path,
        typer.Argument(
            help="Parquet or CSV: a row per record and a column of scores per candidate (s_*, s_0 "
            "the true value's), one column of lists, or a row per candidate."
        ),
    ],
    truth: Annotated[
        str | None,
        options.data(
            help="The true value's score column, or the column that marks it in a table with a "
            "row per candidate. Default: the one that ends in _0, or 'true'."
        ),
    ] = None,
    score: Annotated[
        str | None,
        options.data(help="Score columns, comma-separated, or patterns. Default: s_* or 'score'."),
    ] = None,
    lower_is_member: options.LowerIsMember = None,
    value: Annotated[
        str | None,
        options.data(
            help="Column that names the true value: equal ones are one draw in several records, "
            "and one trial."
        ),
    ] = None,
    copies: Annotated[
        str | None,
        options.data(help="Column that says in how many training records the value stands."),
    ] = None,
    id_: Annotated[
        str | None,
        options.data("--id", help="Column that names a line-up; needed for a row per candidate."),
    ] = None,
    delta: options.Delta = None,
    error: options.Error = 0.05,
    seed: options.Seed = 0,
    table: Annotated[
        Path | None, options.result(help="Write the rank of every true value: .parquet or .csv.")
    ] = None,
    as_json: options.AsJson = False,
    out: options.Out = None,
    report: options.Report = None,
    claim: options.Claim = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Audit a model with values that were random by design, among fresh draws.

    Exit code 0: the audit ran; 2: bad input; 3: nothing can be concluded.
    """
    from divulge.games.lineup.play import lineup
    from divulge.proof.rule import DELTAS
    from divulge.report import progress

    output.check(
        (output.table(table), output.result_file(out), output.page(report)),
        (data,),
        claim=claim,
        overwrite=overwrite,
    )
    with progress.stages() as advance:
        result = lineup(
            data,
            truth=truth,
            score=None if score is None else output.words(score),
            lower_is_member=lower_is_member,
            value=value,
            copies=copies,
            id=id_,
            deltas=tuple(delta) if delta else DELTAS,
            error=error,
            seed=seed,
            table=table,
            command=output.command_line(),
            progress=advance,
        )
    if table is not None and result.verdict.status != "cannot conclude":
        output.say(f"Wrote {table}", err=True)
    output.deliver(result, as_json=as_json, out=out, report=report, claim=claim)
