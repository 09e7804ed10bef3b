"""``divulge lineup``: true values among alternatives drawn just as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import opening, options, output

EXAMPLE = (
    "divulge lineup scores.csv --out result.json --report report.html",
    "divulge lineup scores.csv --table ranks.csv --json",
)


def command(
    data: Annotated[
        Path,
        typer.Argument(
            help="Parquet or CSV: a row per record and a column of scores per candidate (s_*, s_0 "
            "the true value's), one column of lists, or a row per candidate. With --model: "
            "training records."
        ),
    ],
    truth: Annotated[
        str | None,
        options.data(
            help="The true value's score column, or the column that names it in each row, or that "
            "marks it in a table with a row per candidate. Default: the one that ends in _0, or "
            "'true'. With --versions: the column that names the released one."
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
            help="Column that names the true value. Equal ones are one draw in several records, "
            "and one trial, where they are too random to be equal by chance."
        ),
    ] = None,
    unit: Annotated[
        str | None,
        options.data(
            help="Column that says what a draw was made for: records that share it share a draw, "
            "and are one trial."
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
    features: Annotated[
        str, options.data(help="Columns that the model reads, comma-separated, or patterns.")
    ] = "",
    label: Annotated[
        str | None, options.data(help="With --model: the column that the model predicts.")
    ] = None,
    text: Annotated[
        str | None,
        options.data(help="With --model: the column of text that holds the value."),
    ] = None,
    versions: Annotated[
        str,
        options.data(
            help="With --model: columns with the versions of a text, one of which was released by "
            "a fair draw, comma-separated, or patterns."
        ),
    ] = "",
    rename: options.Rename = None,
    model: opening.MaybePlace = None,
    attack: Annotated[
        str,
        options.model(help="total (log-probability of a version), or an attack on one record."),
    ] = "total",
    draw: Annotated[
        str | None,
        options.model(
            help="How the value was drawn: hex:32, digits:6, uuid4, date:2020-01-01..2024-12-31, "
            "choice:file.txt, permutation:, or module:function."
        ),
    ] = None,
    candidates: Annotated[
        int, options.model(help="Values in a line-up, the true one among them.")
    ] = 32,
    trust: options.Trust = None,
    allow_pickle: options.AllowPickle = False,
    with_: opening.With = None,
    delta: options.Delta = None,
    error: options.Error = 0.05,
    seed: options.Seed = 0,
    n_jobs: options.NJobs = 1,
    backend: options.Backend = "loky",
    address: options.Address = None,
    cache: options.Cache = options.CACHE,
    no_cache: options.NoCache = False,
    cache_key: options.CacheKey = None,
    table: Annotated[
        Path | None, options.result(help="Write the rank of every true value: .parquet or .csv.")
    ] = None,
    all_bounds: options.AllBounds = False,
    as_json: options.AsJson = False,
    out: options.Out = None,
    report: options.Report = None,
    claim: options.Claim = None,
    mlflow: options.Mlflow = False,
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
        (data, model),
        claim=claim,
        mlflow=mlflow,
        overwrite=overwrite,
    )
    source = model and opening.source(model, trust, allow_pickle, with_, cache_key)
    folder = opening.kept(None if no_cache else cache, [source] if source else [])
    with progress.stages() as advance:
        result = lineup(
            data,
            truth=truth,
            score=None if score is None else output.words(score),
            lower_is_member=lower_is_member,
            value=value,
            unit=unit,
            copies=copies,
            id=id_,
            features=output.words(features),
            rename=options.renamed(rename),
            label=label,
            text=text,
            versions=output.words(versions),
            model=source or None,
            attack=attack,
            draw=draw,
            candidates=candidates,
            deltas=tuple(delta) if delta else DELTAS,
            error=error,
            seed=seed,
            n_jobs=n_jobs,
            backend=backend,
            address=address,
            cache=folder,
            cache_key=cache_key,
            table=table,
            command=output.command_line(),
            progress=advance,
        )
    if table is not None and result.verdict.status != "cannot conclude":
        output.say(f"Wrote {table}", err=True)
    output.deliver(
        result,
        as_json=as_json,
        out=out,
        report=report,
        claim=claim,
        all_bounds=all_bounds,
        mlflow=mlflow,
    )
