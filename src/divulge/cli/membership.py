"""``divulge membership``: known members against known non-members."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import opening, options, output


def command(
    table: Annotated[
        Path | None,
        typer.Argument(help="Parquet, CSV or a folder of Parquet: a truth column and scores."),
    ] = None,
    members: Annotated[
        Path | None, typer.Option(help="Members alone, beside --nonmembers.")
    ] = None,
    nonmembers: Annotated[Path | None, typer.Option(help="Non-members alone.")] = None,
    truth: Annotated[str, typer.Option(help="Column that says who is a member.")] = "member",
    score: Annotated[
        str,
        typer.Option(
            help="Score column; several with commas; patterns such as s_*. With --model: attacks."
        ),
    ] = "loss",
    features: Annotated[
        str, typer.Option(help="Feature columns with commas, or patterns such as x_*.")
    ] = "",
    model: opening.MaybePlace = None,
    label: Annotated[str | None, typer.Option(help="Column that the model predicts.")] = None,
    text: Annotated[str | None, typer.Option(help="Column of text that the model reads.")] = None,
    trust: options.Trust = None,
    allow_pickle: options.AllowPickle = False,
    with_: opening.With = None,
    lower_is_member: options.LowerIsMember = None,
    propensity: Annotated[
        str | None, typer.Option(help="Column with known probabilities of membership.")
    ] = None,
    reference_score: Annotated[
        str | None, typer.Option(help="The score of a model that never saw the members.")
    ] = None,
    delta: options.Delta = None,
    error: options.Error = 0.05,
    correction: Annotated[
        list[str] | None,
        typer.Option(
            help="none, composition, conditional, signed, balanced or prior; repeatable. All."
        ),
    ] = None,
    estimator: Annotated[
        str, typer.Option(help="auto (robust stack), logistic or boosting.")
    ] = "auto",
    calibration: Annotated[
        str, typer.Option(help="platt or isotonic, for logistic and boosting.")
    ] = "platt",
    heldout: Annotated[
        Path | None, typer.Option(help="Further records (truth, features) for the propensity.")
    ] = None,
    attack: Annotated[
        str, typer.Option(help="scores, or learned: boosting on scores and features.")
    ] = "scores",
    bootstrap: Annotated[
        int, typer.Option(help="Resamples for the published method (600 in the paper); 0: none.")
    ] = 0,
    rows: Annotated[
        int | None,
        typer.Option(help="Use at most so many rows, chosen at random. Default: what fits."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Fixes the draw and the order of revelation.")] = 0,
    seeds: Annotated[
        int, typer.Option(help="Draw so often, by seed, seed + 1, ...: combined, with the spread.")
    ] = 1,
    n_jobs: options.NJobs = -1,
    backend: options.Backend = "loky",
    address: options.Address = None,
    cache: options.Cache = options.CACHE,
    no_cache: options.NoCache = False,
    as_json: options.AsJson = False,
    out: options.Out = None,
    report: options.Report = None,
    claim: options.Claim = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Audit what a model gives away about its members, from a table of scores or a model.

    Exit code 0: the audit ran; 2: bad input; 3: nothing can be concluded.
    """
    from divulge.games.membership.play import membership
    from divulge.proof.rule import CORRECTIONS, DELTAS
    from divulge.report import progress

    output.check(
        (output.result_file(out), output.page(report)),
        (table, members, nonmembers, heldout, model),
        claim=claim,
        overwrite=overwrite,
    )
    with progress.stages() as advance:
        result = membership(
            table,
            members=members,
            nonmembers=nonmembers,
            truth=truth,
            score=output.words(score),
            features=output.words(features),
            model=model and opening.source(model, trust, allow_pickle, with_),
            label=label,
            text=text,
            lower_is_member=lower_is_member,
            propensity=propensity,
            reference_score=reference_score,
            deltas=tuple(delta) if delta else DELTAS,
            error=error,
            corrections=tuple(correction) if correction else CORRECTIONS,
            estimator=estimator,
            calibration=calibration,
            heldout=heldout,
            attack=attack,
            bootstrap=bootstrap,
            rows=rows,
            rng=seed,
            seeds=seeds,
            n_jobs=n_jobs,
            backend=backend,
            address=address,
            cache=None if no_cache else cache,
            command=output.command_line(),
            progress=advance,
        )
    output.deliver(result, as_json=as_json, out=out, report=report, claim=claim)
