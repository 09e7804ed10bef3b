"""``divulge score``: from a model and records to the table of scores that the games read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from divulge.cli import opening, options, output
from divulge.errors import InputError
from divulge.text import masking

if TYPE_CHECKING:
    from divulge.models.source import Source


def command(
    model: opening.Place,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Where the table goes: .parquet or .csv.")
    ],
    data: Annotated[
        Path | None, typer.Option(help="Records: Parquet, CSV, or a folder of Parquet files.")
    ] = None,
    members: Annotated[
        Path | None, typer.Option(help="Members alone, beside --nonmembers.")
    ] = None,
    nonmembers: Annotated[Path | None, typer.Option(help="Non-members alone.")] = None,
    attacks: Annotated[
        str, typer.Option(help="Attacks with commas (see divulge attacks), or all that can run.")
    ] = "all",
    features: Annotated[
        str, typer.Option(help="Columns that the model reads, with commas; patterns such as x_*.")
    ] = "",
    label: Annotated[str | None, typer.Option(help="The column that the model predicts.")] = None,
    text: Annotated[str | None, typer.Option(help="The column of text that it reads.")] = None,
    reference: Annotated[
        list[str] | None, typer.Option(help="A model that never saw the records; repeatable.")
    ] = None,
    shadow: Annotated[
        list[str] | None,
        typer.Option(
            help="MODEL=COLUMN: a shadow model, and the column that says which records it "
            "trained on; repeatable."
        ),
    ] = None,
    population: Annotated[
        Path | None, typer.Option(help="Further records that no model trained on.")
    ] = None,
    columns: Annotated[
        str, typer.Option(help="Columns of the records to keep, with commas. Default: all.")
    ] = "",
    rows: Annotated[int, typer.Option(help="Records in one piece of work.")] = 65_536,
    trust: options.Trust = None,
    allow_pickle: options.AllowPickle = False,
    with_: opening.With = None,
    cache: options.Cache = options.CACHE,
    no_cache: options.NoCache = False,
    cache_key: options.CacheKey = None,
    n_jobs: options.NJobs = 1,
    backend: options.Backend = "loky",
    address: options.Address = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Ask a model about records and write one score per attack and record.

    The model is a file, a folder, an address or module:name. Exit code 2: bad input.
    """
    from divulge.attacks.table import score
    from divulge.report import progress
    from divulge.work import Engine

    def source(where: str) -> Source:
        return opening.source(where, trust, allow_pickle, with_, cache_key)

    shadows = [_shadow(given) for given in shadow or ()]
    models = (model, *(reference or ()), *(where for where, _ in shadows))
    output.check(
        (output.table(out),), (data, members, nonmembers, population, *models), overwrite=overwrite
    )
    target, references = source(model), [source(r) for r in reference or ()]
    beside = [source(where) for where, _ in shadows]
    folder = opening.kept(None if no_cache else cache, [target, *references, *beside])
    with progress.bar("scoring") as advance:
        score(
            data,
            model=target,
            out=out,
            members=members,
            nonmembers=nonmembers,
            attacks="all" if attacks == "all" else output.words(attacks),
            features=output.words(features),
            label=label,
            text=text,
            references=references,
            shadows=beside,
            shadow_columns=[column for _, column in shadows],
            population=population,
            columns=output.words(columns) or None,
            rows=rows,
            cache=folder,
            engine=Engine(backend, n_jobs, address),
            progress=advance,
        )
    output.say(f"Wrote {out}", err=True)


def _shadow(given: str) -> tuple[str, str]:
    where, _, column = given.rpartition("=")
    # Without a column the last "=" of an address is that of its query.
    last = re.split("[&;#]", masking.query(where))[-1]
    if not where or not column or (last and "=" not in last):
        raise InputError(f"--shadow is MODEL=COLUMN. Found {masking.shown(given)!r}.")
    return where, column
