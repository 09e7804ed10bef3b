"""``divulge leakage``: how much each record leaks through a released mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import options, output

EXAMPLE = (
    "divulge leakage data.csv --reference ref.csv --id key --table leakage.csv",
    (
        "divulge leakage data.csv --reference ref.csv --id key --mechanism noisy-mean "
        "--noise 0.05 --ids"
    ),
)


def command(
    data: Annotated[Path, typer.Argument(help="Parquet or CSV of the records behind the mean.")],
    reference: Annotated[
        Path,
        options.data(
            help="Reference records of the same distribution, preferably not in the data."
        ),
    ],
    features: Annotated[
        str,
        options.data(
            help="Columns of numbers or of lists, comma-separated, or patterns. Default: all "
            "others."
        ),
    ] = "",
    id_: Annotated[
        str | None, options.data("--id", help="Column with an id per record. Default: row numbers.")
    ] = None,
    drop_constant: Annotated[
        bool,
        options.data("--drop-constant", help="Leave out columns constant over the reference."),
    ] = False,
    rename: options.Rename = None,
    mechanism: Annotated[
        str, options.statistics(help="mean, noisy-mean or subsampled-mean.")
    ] = "mean",
    noise: Annotated[
        str | None,
        options.statistics(
            help="Standard deviation of the noise on every column of the mean, or one for each, "
            "comma-separated."
        ),
    ] = None,
    rate: Annotated[
        float | None,
        options.statistics(help="Sampling rate: the share of the records sampled, in (0, 1]."),
    ] = None,
    size: Annotated[
        int | None,
        options.statistics(help="Number of records in the whole table, if the file holds a part."),
    ] = None,
    covariance: Annotated[
        str, options.statistics(help="ledoit-wolf, diagonal or empirical.")
    ] = "ledoit-wolf",
    advantage: Annotated[
        float,
        options.statistics(help="Target advantage, for which noise and rate are solved."),
    ] = 0.1,
    percentile: Annotated[
        float,
        options.statistics(help="Percentile of the records that must reach the target advantage."),
    ] = 99.0,
    fpr: Annotated[
        list[float] | None,
        options.statistics(
            help="False-positive rate for the power; repeatable. Default: 0.01, 0.1."
        ),
    ] = None,
    delta: options.Delta = None,
    ids: Annotated[
        bool, options.result("--ids", help="Name the most exposed records in the result, by id.")
    ] = False,
    table: Annotated[
        Path | None, options.result(help="Write the table of all records: .parquet or .csv.")
    ] = None,
    as_json: options.AsJson = False,
    out: options.Out = None,
    report: options.Report = None,
    mlflow: options.Mlflow = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Rank records by what the best attack would learn about them from a released mean.

    Computed from distances under a stated model: no attack is run and nothing is proved.
    Exit code 0: computed; 2: bad input; 3: nothing can be computed.
    """
    from divulge.games.leakage import play as game
    from divulge.report import progress

    output.check(
        (output.table(table), output.result_file(out), output.page(report)),
        (data, reference),
        mlflow=mlflow,
        overwrite=overwrite,
    )
    with progress.stages() as advance:
        found = game.leakage(
            data,
            reference=reference,
            features=output.words(features),
            rename=options.renamed(rename),
            id=id_,
            drop_constant=drop_constant,
            mechanism=mechanism,
            noise=None if noise is None else options.numbers("--noise", noise),
            rate=rate,
            size=size,
            covariance=covariance,
            advantage=advantage,
            percentile=percentile,
            fprs=tuple(fpr) if fpr else game.FPRS,
            deltas=tuple(delta) if delta else game.DELTAS,
            ids=ids,
            table=table,
            command=output.command_line(),
            progress=advance,
        )
    if table is not None and found.verdict.status == "computed":
        output.say(f"Wrote {table}", err=True)
    output.deliver(
        found,
        as_json=as_json,
        out=out,
        report=report,
        mlflow=mlflow,
    )
