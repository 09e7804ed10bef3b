"""``divulge audit``: looks at what there is, chooses the game, and plays it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import opening, options, output
from divulge.text import masking

EXAMPLE = (
    "divulge audit --members train.csv --nonmembers test.csv --model model.skops",
    "divulge audit scores.csv --explain",
)


def command(
    data: Annotated[
        Path | None,
        typer.Argument(
            help=(
                "One table: scores with a column 'member', error counts, or with --plan the "
                "scores of canaries."
            )
        ),
    ] = None,
    members: Annotated[
        Path | None, options.data(help="Records that the model was trained on.")
    ] = None,
    nonmembers: Annotated[
        Path | None, options.data(help="Records that it was not trained on, if there are any.")
    ] = None,
    plan: Annotated[
        Path | None, options.data(help="The plan of canaries that the model was trained by.")
    ] = None,
    truth: Annotated[
        str | None, options.data(help="Column that says who is a member. Default: by name.")
    ] = None,
    score: Annotated[
        str | None, options.data(help="Score columns, comma-separated. Default: by name.")
    ] = None,
    features: Annotated[
        str,
        options.data(help="Feature columns, comma-separated. Default: the model's, or all others."),
    ] = "",
    label: Annotated[
        str | None, options.data(help="Column that the model predicts. Default: by name.")
    ] = None,
    text: Annotated[
        str | None, options.data(help="Text column that the model reads. Default: by its look.")
    ] = None,
    rename: options.Rename = None,
    model: opening.MaybePlace = None,
    trust: options.Trust = None,
    allow_pickle: options.AllowPickle = False,
    with_: opening.With = None,
    delta: options.Delta = None,
    error: options.Error = 0.05,
    seed: options.Seed = 0,
    n_jobs: options.NJobs = options.N_JOBS,
    backend: options.Backend = "loky",
    address: options.Address = None,
    cache: options.Cache = options.CACHE,
    no_cache: options.NoCache = False,
    explain: Annotated[
        bool, options.result("--explain", help="Only say which game fits, and why; run nothing.")
    ] = False,
    all_bounds: options.AllBounds = False,
    as_json: options.AsJson = False,
    out: options.Out = None,
    report: options.Report = None,
    claim: options.Claim = None,
    mlflow: options.Mlflow = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Audit with whatever you have: divulge says which game fits and why, and plays it.

    Exit code 0: the audit ran; 2: bad input; 3: nothing can be concluded.
    """
    from divulge.audits.play import play, told
    from divulge.audits.which_game import Overruled, as_options, choose
    from divulge.data.renaming import viewed
    from divulge.proof.rule import DELTAS
    from divulge.report import progress

    output.check(
        (output.result_file(out), output.page(report)),
        (data, members, nonmembers, plan, model),
        claim=claim,
        mlflow=mlflow,
        overwrite=overwrite,
    )
    sources = {"data": data, "members": members, "nonmembers": nonmembers}
    named = [*output.words(features), label, text, *output.words(score or ""), truth]
    choice = choose(
        **viewed(sources, options.renamed(rename), named),
        plan=plan,
        model=model and opening.source(model, trust, allow_pickle, with_),
        wanted=Overruled(
            tuple(output.words(features)),
            label,
            text,
            tuple(output.words(score or "")),
            truth,
        ),
    )
    for sentence in told(choice):
        output.say(sentence, err=True)
    if not choice.score_first:
        opened = [w for one in trust or () for w in ("--trust", one)]
        opened += [w for one in with_ or () for w in ("--with", masking.shown(one))]
        opened += ["--allow-pickle"] if allow_pickle else []
        opened += [w for one in rename or () for w in ("--map", one)]
        output.say(f"The same as: {shlex.join([*as_options(choice), *opened])}", err=True)
    if explain:
        return
    with progress.stages() as advance:
        result = play(
            choice,
            deltas=tuple(delta) if delta else DELTAS,
            error=error,
            seed=seed,
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
