"""``divulge synthetic``: known members against generated records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import opening, options, output
from divulge.errors import InputError


def command(
    members: Annotated[Path, typer.Option(help="Parquet or CSV of records the model learned.")],
    model: opening.MaybePlace = None,
    label: Annotated[str | None, typer.Option(help="Column that the target predicts.")] = None,
    features: Annotated[
        str, typer.Option(help="Feature columns with commas, or patterns. Default: all others.")
    ] = "",
    generated: Annotated[
        Path | None, typer.Option(help="Records from your own generator, with the same columns.")
    ] = None,
    nonmembers: Annotated[
        Path | None, typer.Option(help="Real non-members: a veto, and a direct comparison.")
    ] = None,
    target_loss: Annotated[
        str, typer.Option(help="Columns with the target's losses, instead of --model.")
    ] = "",
    helper_loss: Annotated[
        str, typer.Option(help="Columns with losses of a model that never saw the members.")
    ] = "",
    generator: Annotated[
        str, typer.Option(help="Which generator learns from a part of the members.")
    ] = "trees",
    drop_poor: Annotated[
        float, typer.Option(help="Share of poor samples that a filter removes; 0: none.")
    ] = 0.0,
    rule: Annotated[
        str, typer.Option(help="Levels of recall: grid (20 fixed ones) or all, as published.")
    ] = "grid",
    gamma: Annotated[
        float, typer.Option(help="Mass of the data on which the generator need not be close.")
    ] = 0.0,
    trust: options.Trust = None,
    allow_pickle: options.AllowPickle = False,
    with_: opening.With = None,
    delta: options.Delta = None,
    error: options.Error = 0.05,
    repeats: Annotated[
        int, typer.Option(help="Splits and coin flips anew; 5 gives the paper's t-interval.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="Fixes splits, generator and coin flips.")] = 0,
    n_jobs: options.NJobs = -1,
    backend: options.Backend = "loky",
    address: options.Address = None,
    cache: options.Cache = options.CACHE,
    no_cache: options.NoCache = False,
    cache_key: options.CacheKey = None,
    as_json: options.AsJson = False,
    out: options.Out = None,
    report: options.Report = None,
    claim: options.Claim = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Audit a model with members alone: generated records stand in for non-members.

    Exit code 0: the audit ran; 2: bad input; 3: nothing can be concluded.
    """
    from divulge.games.synthetic.play import synthetic
    from divulge.models.identity import identity
    from divulge.proof.rule import DELTAS
    from divulge.report import progress

    output.check(
        (output.result_file(out), output.page(report)),
        (members, generated, nonmembers, model),
        claim=claim,
        overwrite=overwrite,
    )
    if model is not None and label is None:
        raise InputError("A model file needs --label: the column that the target predicts.")
    target, fingerprint = None, None
    if model is not None:
        target = opening.source(model, trust, allow_pickle, with_, cache_key)
        if opening.kept(None if no_cache else cache, [target]) is not None:
            fingerprint = identity(target)
    with progress.stages() as advance:
        result = synthetic(
            members,
            generated=generated,
            nonmembers=nonmembers,
            model=None if target is None else target.raw(),
            label=label,
            features=output.words(features),
            target_loss=output.words(target_loss),
            helper_loss=output.words(helper_loss),
            generator=generator,
            drop_poor=drop_poor,
            rule=rule,
            gamma=gamma,
            deltas=tuple(delta) if delta else DELTAS,
            error=error,
            repeats=repeats,
            rng=seed,
            n_jobs=n_jobs,
            backend=backend,
            address=address,
            cache=None if no_cache else cache,
            model_fingerprint=fingerprint,
            command=output.command_line(),
            progress=advance,
        )
    output.deliver(result, as_json=as_json, out=out, report=report, claim=claim)
