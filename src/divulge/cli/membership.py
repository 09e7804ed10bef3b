"""``divulge membership``: known members against known non-members."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import opening, options, output

EXAMPLE = (
    "divulge membership scores.csv --score loss --features 'x_*' --out result.json",
    (
        "divulge membership --members train.csv --nonmembers test.csv --model model.skops "
        "--label y --features 'x_*' --quick"
    ),
)


def command(
    data: Annotated[
        Path | None,
        typer.Argument(help="Parquet, CSV or a folder of Parquet: a truth column and scores."),
    ] = None,
    members: options.Members = None,
    nonmembers: options.Nonmembers = None,
    heldout: Annotated[
        Path | None,
        options.data(help="Held-out records (truth, features) to fit the propensity on."),
    ] = None,
    rows: Annotated[
        int | None,
        options.data(help="Largest number of rows to use, chosen at random. Default: what fits."),
    ] = None,
    truth: Annotated[
        str, options.data(help="Column that says which records are members.")
    ] = "member",
    score: Annotated[
        str | None,
        options.data(
            help="Score columns, comma-separated; patterns such as s_* too. Default: loss."
        ),
    ] = None,
    lower_is_member: options.LowerIsMember = None,
    features: options.Features = "",
    label: Annotated[str | None, options.data(help="Column that the model predicts.")] = None,
    text: Annotated[str | None, options.data(help="Text column that the model reads.")] = None,
    helper_loss: Annotated[
        str,
        options.data(
            help=(
                "Columns with losses of helpers that never saw an audited record, comma-separated; "
                "patterns such as helper_loss* too."
            )
        ),
    ] = "",
    propensity: Annotated[
        str | None,
        options.data(help="Column: by what probability a coin of its own made a record a member."),
    ] = None,
    reference_score: Annotated[
        str | None,
        options.data(help="Negative control: score of a model that never saw the members."),
    ] = None,
    document: Annotated[
        str | None,
        options.data(help="Column that names each record's document: documents are the trials."),
    ] = None,
    rename: options.Rename = None,
    model: opening.MaybePlace = None,
    public_model: Annotated[
        Path | None,
        options.model(
            help="Folder of a public language model: features of texts, and their helpers."
        ),
    ] = None,
    attack: Annotated[
        str | None,
        options.model(
            help="Attacks on the model, comma-separated (see divulge attacks). Default: loss."
        ),
    ] = None,
    helpers: Annotated[
        str,
        options.model(
            help=(
                "Train helpers on one part of the members and audit the other: auto, a number of "
                "at least 3, or none."
            )
        ),
    ] = "none",
    learner: Annotated[
        str,
        options.model(
            help="What helpers are: auto, clone (of the model), boosting, forest or network."
        ),
    ] = "auto",
    training_size: Annotated[
        int | None,
        options.model(
            help=(
                "Number of records of the members' kind that the target learned from, for the "
                "ladder of helpers, or to compare it with a control."
            )
        ),
    ] = None,
    reference_size: Annotated[
        int | None,
        options.model(
            help=(
                "The same of the control (--reference-score): a silent one that learned from "
                "about as many is comparable."
            )
        ),
    ] = None,
    trust: options.Trust = None,
    allow_pickle: options.AllowPickle = False,
    with_: opening.With = None,
    quick: Annotated[
        bool,
        options.statistics(
            "--quick", help="With features: few rows and one simple learner; never robust."
        ),
    ] = False,
    combine: Annotated[
        str,
        options.statistics(
            help="scores, or learned: one score by boosting on scores and features."
        ),
    ] = "scores",
    estimator: Annotated[
        str, options.statistics(help="auto (robust stack), logistic or boosting.")
    ] = "auto",
    calibration: Annotated[
        str, options.statistics(help="platt or isotonic, for logistic and boosting.")
    ] = "platt",
    correction: Annotated[
        list[str] | None,
        options.statistics(
            help=(
                "none, composition, conditional, signed, balanced or prior; repeatable. "
                "Default: all."
            )
        ),
    ] = None,
    bootstrap: Annotated[
        int,
        options.statistics(
            help="Number of resamples for the published method (600 in the paper); 0: none."
        ),
    ] = 0,
    delta: options.Delta = None,
    headline: options.Headline = None,
    error: options.Error = 0.05,
    seed: options.Seed = 0,
    seeds: Annotated[
        int,
        options.statistics(
            help="Number of seeds (seed, seed + 1, ...) to combine, with their spread."
        ),
    ] = 1,
    n_jobs: options.NJobs = options.N_JOBS,
    backend: options.Backend = "loky",
    address: options.Address = None,
    cache: options.Cache = options.CACHE,
    no_cache: options.NoCache = False,
    all_bounds: options.AllBounds = False,
    as_json: options.AsJson = False,
    out: options.Out = None,
    report: options.Report = None,
    claim: options.Claim = None,
    mlflow: options.Mlflow = False,
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
        (data, members, nonmembers, heldout, model, public_model),
        claim=claim,
        mlflow=mlflow,
        overwrite=overwrite,
    )
    with progress.stages() as advance:
        result = membership(
            data,
            members=members,
            nonmembers=nonmembers,
            heldout=heldout,
            rows=rows,
            truth=truth,
            score=None if score is None else output.words(score),
            lower_is_member=lower_is_member,
            features=output.words(features),
            rename=options.renamed(rename),
            label=label,
            text=text,
            helper_loss=output.words(helper_loss),
            propensity=propensity,
            reference_score=reference_score,
            document=document,
            model=model and opening.source(model, trust, allow_pickle, with_),
            public_model=public_model,
            attack=None if attack is None else output.words(attack),
            helpers=helpers,
            learner=learner,
            training_size=training_size,
            reference_size=reference_size,
            quick=quick,
            combine=combine,
            estimator=estimator,
            calibration=calibration,
            corrections=tuple(correction) if correction else CORRECTIONS,
            bootstrap=bootstrap,
            deltas=tuple(delta) if delta else DELTAS,
            headline=headline,
            error=error,
            seed=seed,
            seeds=seeds,
            n_jobs=n_jobs,
            backend=backend,
            address=address,
            cache=None if no_cache else cache,
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
