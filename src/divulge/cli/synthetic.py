"""``divulge synthetic``: known members against generated records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from divulge.cli import opening, options, output

EXAMPLE = (
    (
        "divulge synthetic --members members.csv --generated generated.csv --target-loss "
        "loss --out result.json"
    ),
    (
        "divulge synthetic --members members.csv --generated generated.csv --target-loss "
        "loss --error 0.01 --json"
    ),
)


def command(
    members: Annotated[Path, options.data(help="Parquet or CSV of training records (members).")],
    nonmembers: Annotated[
        Path | None, options.data(help="Real non-members: negative control and direct comparison.")
    ] = None,
    generated: Annotated[
        Path | None, options.data(help="Records from your own generator, with the same columns.")
    ] = None,
    features: Annotated[
        str,
        options.data(help="Feature columns, comma-separated, or patterns. Default: all others."),
    ] = "",
    label: Annotated[str | None, options.data(help="Column that the target predicts.")] = None,
    text: Annotated[str | None, options.data(help="Text column that the target reads.")] = None,
    target_loss: Annotated[
        str, options.data(help="Columns with the target's losses, instead of --model.")
    ] = "",
    helper_loss: Annotated[
        str, options.data(help="Columns with losses of helper models, which never saw the members.")
    ] = "",
    rename: options.Rename = None,
    model: opening.MaybePlace = None,
    trust: options.Trust = None,
    allow_pickle: options.AllowPickle = False,
    with_: opening.With = None,
    public_model: Annotated[
        Path | None,
        options.model(
            help="Folder of a public language model: generates, describes and helps texts."
        ),
    ] = None,
    attack: Annotated[
        str,
        options.model(
            help="Who tells real from generated: columns, text or image; several compete."
        ),
    ] = "columns",
    generator: Annotated[
        str,
        options.model(
            help=(
                "Generator to train on a part of the members: trees, mst, mixture, pixels or text. "
                "Default: trees, or text with --text."
            )
        ),
    ] = "auto",
    drop_poor: Annotated[
        float, options.model(help="Share of low-quality samples that a filter removes; 0: none.")
    ] = 0.0,
    rule: Annotated[
        str, options.statistics(help="Levels of recall: grid (20 fixed ones) or all, as published.")
    ] = "grid",
    gamma: Annotated[
        float,
        options.statistics(help="Mass of the data on which the generator need not be close."),
    ] = 0.0,
    delta: options.Delta = None,
    error: options.Error = 0.05,
    repeats: Annotated[
        int,
        options.statistics(
            help="Number of new splits and coin flips; 5 gives the paper's t-interval."
        ),
    ] = 1,
    seed: options.Seed = 0,
    n_jobs: options.NJobs = options.N_JOBS,
    backend: options.Backend = "loky",
    address: options.Address = None,
    cache: options.Cache = options.CACHE,
    no_cache: options.NoCache = False,
    cache_key: options.CacheKey = None,
    all_bounds: options.AllBounds = False,
    as_json: options.AsJson = False,
    out: options.Out = None,
    report: options.Report = None,
    claim: options.Claim = None,
    mlflow: options.Mlflow = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Audit a model with members alone: generated records stand in for non-members.

    Exit code 0: the audit ran; 2: bad input; 3: nothing can be concluded.
    """
    from divulge.games.synthetic.play import synthetic
    from divulge.proof.rule import DELTAS
    from divulge.report import progress

    output.check(
        (output.result_file(out), output.page(report)),
        (members, generated, nonmembers, model, public_model),
        claim=claim,
        mlflow=mlflow,
        overwrite=overwrite,
    )
    folder = None if no_cache else cache
    target = model and opening.source(model, trust, allow_pickle, with_, cache_key)
    if target:
        opening.kept(folder, [target])
    with progress.stages() as advance:
        result = synthetic(
            members,
            nonmembers=nonmembers,
            generated=generated,
            features=output.words(features),
            rename=options.renamed(rename),
            label=label,
            text=text,
            target_loss=output.words(target_loss),
            helper_loss=output.words(helper_loss),
            model=target,
            public_model=public_model,
            attack=output.words(attack),
            generator=generator,
            drop_poor=drop_poor,
            rule=rule,
            gamma=gamma,
            deltas=tuple(delta) if delta else DELTAS,
            error=error,
            repeats=repeats,
            seed=seed,
            n_jobs=n_jobs,
            backend=backend,
            address=address,
            cache=folder,
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
