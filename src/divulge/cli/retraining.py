"""``divulge retraining``: error counts of attacks on models trained with and without a record."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import options, output


def command(
    table: Annotated[
        Path,
        typer.Argument(
            help="Parquet or CSV with false_positives, negatives, false_negatives, positives; one "
            "row per attack. Near names are understood."
        ),
    ],
    delta: options.Delta = None,
    correlated: Annotated[
        bool, typer.Option("--correlated", help="The counts come from cross-fed shadow models.")
    ] = False,
    margins: Annotated[
        str | None,
        typer.Option(
            help="Of --correlated: beta-binomial where a count is 0 or full (default), or normal, "
            "as published."
        ),
    ] = None,
    strength: Annotated[
        str | None, typer.Option(help="A number from 0 to 1, or a prior. Default: beta:1,1.")
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(
            help="Of epsilon: half-normal:10 (variance, default), exponential:3, uniform:20 or "
            "log-normal:1,1.5."
        ),
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Column whose equal values mark dependent attacks.")
    ] = None,
    error: Annotated[float, typer.Option(help="Error of the bounds, all together.")] = 0.05,
    level: Annotated[float, typer.Option(help="Probability of the credible intervals.")] = 0.9,
    sampler: Annotated[
        int, typer.Option(help="Draws of the published sampler as a cross-check; 0: none.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Fixes the predictive check and the sampler.")] = 0,
    as_json: options.AsJson = False,
    out: options.Out = None,
    report: options.Report = None,
    claim: Annotated[
        str | None,
        typer.Option(
            help="A claim to hold against the bounds in the report: epsilon=8,delta=1e-5."
        ),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Estimate epsilon from the error counts of attacks on retrained models.

    Prints what the counts prove, and the posterior of epsilon and of the attacks' strength. Exit
    code 0: it ran; 2: bad input; 3: nothing can be concluded.
    """
    from divulge.games.retraining.play import audit
    from divulge.proof.rule import DELTAS
    from divulge.report import progress

    output.check(
        (output.result_file(out), output.page(report)),
        (table,),
        claim=claim,
        overwrite=overwrite,
    )
    with progress.stages() as advance:
        result = audit(
            table,
            deltas=tuple(delta) if delta else DELTAS,
            prior=prior,
            strength=strength,
            correlated=correlated,
            margins=margins,
            group=group,
            error=error,
            level=level,
            sampler=sampler,
            rng=seed,
            command=output.command_line(),
            progress=advance,
        )
    output.deliver(result, as_json=as_json, out=out, report=report, claim=claim)
