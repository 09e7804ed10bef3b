"""``divulge shadows``: train shadow models of a target, for the attacks that compare with them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from divulge.cli import opening, options, output
from divulge.errors import InputError, require

EXAMPLE = (
    (
        "divulge shadows records.csv --model target.skops --features 'x_*' --label y "
        "--count 4 --table shadows.parquet"
    ),
    (
        "divulge shadows records.csv --model target.skops --features 'x_*' --label y "
        "--count 4 --save models --table shadows.parquet"
    ),
)


def command(
    model: Annotated[
        str,
        options.model(
            "--model",
            help="What is trained again: a file, a folder, or module:name that makes it.",
        ),
    ],
    table: Annotated[
        Path, options.result(help="Where to write what the shadow models say: .parquet.")
    ],
    data: Annotated[
        Path | None, typer.Argument(help="Records: Parquet, CSV, or a folder of Parquet files.")
    ] = None,
    also_data: options.AlsoData = None,
    members: options.Members = None,
    nonmembers: options.Nonmembers = None,
    population: Annotated[
        Path | None,
        options.data(help="Population records: shadow models are asked about them, not trained."),
    ] = None,
    features: Annotated[
        str,
        options.data(help="Columns that the model reads, comma-separated; patterns such as x_*."),
    ] = "",
    label: Annotated[str | None, options.data(help="The column that the model predicts.")] = None,
    text: Annotated[str | None, options.data(help="The text column that the model reads.")] = None,
    rename: options.Rename = None,
    training: Annotated[
        list[str] | None,
        options.model(
            metavar="NAME=VALUE",
            help="A setting of the training, such as epochs=5 or start=FOLDER; repeatable.",
        ),
    ] = None,
    trust: options.Trust = None,
    allow_pickle: options.AllowPickle = False,
    with_: opening.With = None,
    count: Annotated[int, options.statistics(help="Number of shadow models.")] = 16,
    seed: options.Seed = 0,
    n_jobs: options.NJobs = options.N_JOBS,
    backend: options.Backend = "loky",
    address: options.Address = None,
    cache: options.Cache = options.CACHE,
    no_cache: options.NoCache = False,
    cache_key: options.CacheKey = None,
    save: Annotated[
        Path | None,
        options.result(help="Folder for the shadow models, in formats that cannot run code."),
    ] = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Train shadow models on random halves of the records, and write down what they say.

    Who is a member is not looked at. Give the table to divulge score as --shadows. Exit code 2: bad
    input.
    """
    from divulge.attacks.shadow_table import shadows
    from divulge.report import progress

    output.check(
        (output.table(table),),
        (data, also_data, members, nonmembers, population, model),
        overwrite=overwrite,
    )
    require(
        data is None or also_data is None, "Give one table, either as the argument or as --data."
    )
    if save is not None:
        taken = save.exists() and (not save.is_dir() or any(save.iterdir()))
        require(overwrite or not taken, f"{save} is not empty. Give --save another name.")
    with progress.bar("shadow models") as advance:
        shadows(
            data or also_data,
            members=members,
            nonmembers=nonmembers,
            population=population,
            features=output.words(features),
            rename=options.renamed(rename),
            label=label,
            text=text,
            model=opening.source(model, trust, allow_pickle, with_, cache_key),
            training=dict(_setting(given) for given in training or ()),
            count=count,
            seed=seed,
            n_jobs=n_jobs,
            backend=backend,
            address=address,
            cache=None if no_cache else cache,
            cache_key=cache_key,
            table=table,
            save=save,
            progress=advance,
        )
    output.say(f"Wrote {table}", err=True)


def _setting(given: str) -> tuple[str, Any]:
    """A name and a number, a truth value or a word."""
    name, equals, value = given.partition("=")
    if not equals or not name:
        raise InputError(f"--training is NAME=VALUE. Found {given!r}.")
    if value.lower() in ("true", "yes", "false", "no"):
        return name, value.lower() in ("true", "yes")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            pass
    return name, value
