"""``divulge leakage``: how much each record leaks through a released mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import options, output


def command(
    data: Annotated[Path, typer.Argument(help="Parquet or CSV of the records behind the mean.")],
    reference: Annotated[
        Path, typer.Option(help="Records drawn like them, best ones that are not among them.")
    ],
    features: Annotated[
        str,
        typer.Option(
            help="Columns of numbers or of lists, with commas, or patterns. Default: all others."
        ),
    ] = "",
    id: Annotated[
        str | None, typer.Option("--id", help="Column that names a record. Default: row numbers.")
    ] = None,
    mechanism: Annotated[str, typer.Option(help="mean, noisy-mean or subsampled-mean.")] = "mean",
    noise: Annotated[
        float | None,
        typer.Option(help="Standard deviation of the noise on every column of the mean."),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="Share of the records that is sampled, in (0, 1].")
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Records in the whole table, if the file holds a part.")
    ] = None,
    covariance: Annotated[
        str, typer.Option(help="ledoit-wolf, diagonal or empirical.")
    ] = "ledoit-wolf",
    drop_constant: Annotated[
        bool,
        typer.Option("--drop-constant", help="Leave out columns constant over the reference."),
    ] = False,
    delta: options.Delta = None,
    fpr: Annotated[
        list[float] | None,
        typer.Option(help="False-positive rate for the power; repeatable. Default: 0.01, 0.1."),
    ] = None,
    advantage: Annotated[
        float, typer.Option(help="What noise or rate is solved for: the advantage to come down to.")
    ] = 0.1,
    percentile: Annotated[
        float, typer.Option(help="Which percentile of the records must come down to it.")
    ] = 99.0,
    out: Annotated[
        Path | None, typer.Option(help="Write the table of all records: .parquet or .csv.")
    ] = None,
    result: options.Out = None,
    as_json: options.AsJson = False,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Rank records by what the best attack would learn of them from a released mean.

    Computed from distances under a stated model: no attack is run and nothing is proved.
    Exit code 0: computed; 2: bad input.
    """
    from divulge.games.leakage import play as game
    from divulge.report import progress

    output.check(
        (output.table(out), output.result_file(result, "--result"), output.page(report)),
        (data, reference),
        overwrite=overwrite,
    )
    with progress.stages() as advance:
        found = game.leakage(
            data,
            reference=reference,
            features=output.words(features),
            id=id,
            mechanism=mechanism,
            noise=noise,
            rate=rate,
            size=size,
            covariance=covariance,
            drop_constant=drop_constant,
            deltas=tuple(delta) if delta else game.DELTAS,
            fprs=tuple(fpr) if fpr else game.FPRS,
            advantage=advantage,
            percentile=percentile,
            out=out,
            command=output.command_line(),
            progress=advance,
        )
    if out is not None:
        output.say(f"Wrote {out}", err=True)
    output.deliver(found, as_json=as_json, out=result, report=report)
