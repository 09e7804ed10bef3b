"""``divulge score``: from a model and records to the table of scores that the games read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from divulge.cli import opening, options, output
from divulge.errors import InputError, require
from divulge.text import masking

if TYPE_CHECKING:
    from divulge.models.source import Source


EXAMPLE = (
    (
        "divulge score records.csv --model target.skops --features 'x_*' --label y --attack "
        "loss,entropy --table scores.csv"
    ),
    (
        "divulge score records.csv --model target.skops --features 'x_*' --label y --keep "
        "'*' --table scores.parquet"
    ),
)


def command(
    model: opening.Place,
    table: Annotated[
        Path, options.result(help="Where to write the table of scores: .parquet or .csv.")
    ],
    data: Annotated[
        Path | None, typer.Argument(help="Records: Parquet, CSV, or a folder of Parquet files.")
    ] = None,
    also_data: options.AlsoData = None,
    members: options.Members = None,
    nonmembers: options.Nonmembers = None,
    population: Annotated[
        Path | None, options.data(help="Population records, which no model was trained on.")
    ] = None,
    columns: Annotated[
        str,
        options.data(
            help=(
                "Columns of the records to keep, comma-separated. Default: who is a member, the "
                "label and what the model reads."
            )
        ),
    ] = "",
    keep: Annotated[
        str, options.data(help="Further columns to keep, comma-separated; '*': all of them.")
    ] = "",
    features: Annotated[
        str,
        options.data(help="Columns that the model reads, comma-separated; patterns such as x_*."),
    ] = "",
    label: Annotated[str | None, options.data(help="The column that the model predicts.")] = None,
    text: Annotated[str | None, options.data(help="The text column that the model reads.")] = None,
    rename: options.Rename = None,
    reference: Annotated[
        list[str] | None,
        options.model(help="Reference model, which never saw the records; repeatable."),
    ] = None,
    shadow: Annotated[
        list[str] | None,
        options.model(
            help=(
                "MODEL=COLUMN: a shadow model, and the column that says which records it was "
                "trained on; repeatable."
            )
        ),
    ] = None,
    shadows: Annotated[
        Path | None,
        options.model(help="Table of shadow models that divulge shadows wrote."),
    ] = None,
    attack: Annotated[
        str,
        options.model(help="Attacks, comma-separated (see divulge attacks), or all that can run."),
    ] = "all",
    trust: options.Trust = None,
    allow_pickle: options.AllowPickle = False,
    with_: opening.With = None,
    chunk: Annotated[int, options.work(help="Number of records per chunk.")] = 65_536,
    n_jobs: options.NJobs = options.N_JOBS,
    backend: options.Backend = "loky",
    address: options.Address = None,
    cache: options.Cache = options.CACHE,
    no_cache: options.NoCache = False,
    cache_key: options.CacheKey = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Query a model with records and write one score per attack and record.

    The model is a file, a folder, an address or module:name. Exit code 2: bad input.
    """
    from divulge.attacks.table import score
    from divulge.report import progress

    def source(where: str) -> Source:
        return opening.source(where, trust, allow_pickle, with_, cache_key)

    require(shadow is None or shadows is None, "Give --shadow or --shadows, not both.")
    apart = [_shadow(given) for given in shadow or ()]
    models = (model, *(reference or ()), *(where for where, _ in apart), shadows)
    output.check(
        (output.table(table),),
        (data, also_data, members, nonmembers, population, *models),
        overwrite=overwrite,
    )
    require(
        data is None or also_data is None, "Give one table, either as the argument or as --data."
    )
    target, references = source(model), [source(r) for r in reference or ()]
    beside = [source(where) for where, _ in apart]
    folder = opening.kept(None if no_cache else cache, [target, *references, *beside])
    with progress.bar("scoring") as advance:
        score(
            data or also_data,
            members=members,
            nonmembers=nonmembers,
            population=population,
            columns=output.words(columns) or None,
            keep=output.words(keep),
            features=output.words(features),
            rename=options.renamed(rename),
            label=label,
            text=text,
            model=target,
            references=references,
            shadows=beside if shadows is None else shadows,
            shadow_columns=[column for _, column in apart],
            attack="all" if attack == "all" else output.words(attack),
            chunk=chunk,
            n_jobs=n_jobs,
            backend=backend,
            address=address,
            cache=folder,
            table=table,
            progress=advance,
        )
    output.say(f"Wrote {table}", err=True)


def _shadow(given: str) -> tuple[str, str]:
    where, _, column = given.rpartition("=")
    # Without a column the last "=" of an address is that of its query.
    last = re.split("[&;#]", masking.query(where))[-1]
    if not where or not column or (last and "=" not in last):
        raise InputError(f"--shadow is MODEL=COLUMN. Found {masking.shown(given)!r}.")
    return where, column
