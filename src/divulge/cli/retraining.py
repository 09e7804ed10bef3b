"""``divulge retraining``: error counts of attacks on models trained with and without a record."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import options, output

EXAMPLE = (
    "divulge retraining counts.csv --delta 1e-3 --out result.json",
    "divulge retraining counts.csv --level 0.95 --json",
)


def command(
    data: Annotated[
        Path,
        typer.Argument(
            help=(
                "Parquet or CSV with false_positives, negatives, false_negatives, positives; "
                "one row per attack. Similar names are accepted."
            )
        ),
    ],
    group: Annotated[
        str | None, options.data(help="Column whose equal values mark dependent attacks.")
    ] = None,
    rename: options.Rename = None,
    correlated: Annotated[
        bool,
        options.statistics("--correlated", help="The counts come from cross-fed shadow models."),
    ] = False,
    margins: Annotated[
        str | None,
        options.statistics(
            help=(
                "With --correlated: beta-binomial where a count is 0 or full (default), or "
                "normal, as published."
            )
        ),
    ] = None,
    hierarchy: Annotated[
        bool,
        options.statistics(
            "--hierarchy",
            help="With --group: attacks have rates of their own about their group's; not pooled.",
        ),
    ] = False,
    strength: Annotated[
        str | None,
        options.statistics(
            help="Strength of the attacks: a number from 0 to 1, or a prior. Default: beta:1,1."
        ),
    ] = None,
    prior: Annotated[
        str | None,
        options.statistics(
            help=(
                "Prior of epsilon: half-normal:10 (variance, default), exponential:3, "
                "uniform:20 or log-normal:1,1.5."
            )
        ),
    ] = None,
    level: Annotated[
        float, options.statistics(help="Probability of the credible intervals.")
    ] = 0.9,
    sampler: Annotated[
        int,
        options.statistics(
            help="Number of draws of the published sampler, as a cross-check; 0: none."
        ),
    ] = 0,
    delta: options.Delta = None,
    error: options.Error = 0.05,
    seed: options.Seed = 0,
    all_bounds: options.AllBounds = False,
    as_json: options.AsJson = False,
    out: options.Out = None,
    report: options.Report = None,
    claim: options.Claim = None,
    mlflow: options.Mlflow = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Estimate epsilon from the error counts of attacks on retrained models.

    Prints what the counts prove, and the posterior of epsilon and of the strength of the attacks.
    Exit code 0: it ran; 2: bad input; 3: nothing can be concluded.
    """
    from divulge.games.retraining.play import audit
    from divulge.proof.rule import DELTAS
    from divulge.report import progress

    output.check(
        (output.result_file(out), output.page(report)),
        (data,),
        claim=claim,
        mlflow=mlflow,
        overwrite=overwrite,
    )
    with progress.stages() as advance:
        result = audit(
            data,
            group=group,
            rename=options.renamed(rename),
            correlated=correlated,
            margins=margins,
            hierarchy=hierarchy,
            strength=strength,
            prior=prior,
            level=level,
            sampler=sampler,
            deltas=tuple(delta) if delta else DELTAS,
            error=error,
            seed=seed,
            command=output.command_line(),
            progress=advance,
        )
    output.deliver(
        result,
        as_json=as_json,
        out=out,
        report=report,
        claim=claim,
        all_bounds=all_bounds,
        mlflow=mlflow,
    )
