"""``divulge canaries``: plan or rehearse before training, audit the scores after it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import canary_rehearsal, failures, opening, options, output, parsing, planned

PLAN_EXAMPLE = (
    (
        "divulge canaries plan data.csv --records train.csv --canaries canaries.csv --count "
        "200 --plan plan.json"
    ),
    (
        "divulge canaries plan --lineup 20 --template 'the code of {name} is "
        "{secret:digits:6}' --plan plan.json --records train.csv --canaries versions.csv"
    ),
)
AUDIT_EXAMPLE = (
    "divulge canaries audit plan.json scores.csv --score loss --out result.json",
    "divulge canaries audit plan.json scores.csv --headline mu --json",
)
app = typer.Typer(
    help="Canaries: plan coin flips or secrets before training, audit the model afterwards.",
    no_args_is_help=True,
)


@failures.guarded
def plan_command(
    records: Annotated[
        Path, options.result(help="Where to write the records to train on (Parquet or CSV).")
    ],
    data: Annotated[
        Path | None,
        typer.Argument(help="Parquet or CSV of the available records; a template needs none."),
    ] = None,
    reference: Annotated[
        Path | None, options.data(help="Reference records for the distances. Default: the data.")
    ] = None,
    gradients: Annotated[
        list[Path] | None,
        options.data(help="Clipped gradients, a row per record; repeatable, one table per step."),
    ] = None,
    features: Annotated[
        str,
        options.data(
            help="Feature columns, comma-separated; patterns such as x_* too. Default: all."
        ),
    ] = "",
    label: Annotated[
        str | None, options.data(help="mislabelled canaries: the column of labels.")
    ] = None,
    text: Annotated[
        str | None,
        options.data(help="Planted and crafted texts: their column. Default: text."),
    ] = None,
    template: Annotated[
        str | None,
        options.data(
            help="How a planted text reads: 'the code of {name} is {secret:digits:6}'; after "
            "secret: comes a draw as in divulge lineup."
        ),
    ] = None,
    names: Annotated[
        str | None,
        options.data(help="Names of a template: a file, one per line, or a column of the data."),
    ] = None,
    column: Annotated[
        str | None,
        options.data(help="With --lineup: the column of the data whose cells are drawn anew."),
    ] = None,
    copies: Annotated[
        int | None,
        options.data(help="With --lineup: training records per canary. Default: 1."),
    ] = None,
    id_: Annotated[
        str | None, options.data("--id", help="Column with an id per record. Default: row number.")
    ] = None,
    rename: options.Rename = None,
    model: Annotated[
        str | None,
        options.model(help="Crafted texts: the folder of a language model, for its tokens."),
    ] = None,
    draw: Annotated[
        str | None,
        options.model(
            help="How --column is drawn, as in divulge lineup (choice:file.txt, digits:6). "
            "Default: one of its own values."
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        options.model(help="With --lineup: values that a canary may hold. Default: 32."),
    ] = None,
    count: Annotated[
        int | None, options.statistics(help="Number of canaries. Default: 1000.")
    ] = None,
    lineup: Annotated[
        int | None,
        options.statistics(
            help="Plant so many canaries, each with a value that the plan draws: no coins."
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        options.statistics(
            help="mahalanobis, random or norm: which records are canaries. Crafted: mislabelled, "
            "out-of-distribution, random-tokens, new-tokens, sampled; one-hot, orthogonal "
            "(gradients). Default: mahalanobis."
        ),
    ] = None,
    parameters: Annotated[
        int | None,
        options.statistics(help="Gradient canaries: how many parameters the model trains."),
    ] = None,
    tokens: Annotated[
        int | None, options.statistics(help="Crafted texts: tokens of each. Default: 32.")
    ] = None,
    temperature: Annotated[
        float | None,
        options.statistics(help="sampled canaries: 0.8 or more. Default: 1."),
    ] = None,
    noise: Annotated[
        str,
        options.statistics(
            help="Standard deviation of the noise on every column of the mean, or one for each, "
            "comma-separated."
        ),
    ] = "0",
    averaged: Annotated[
        float | None,
        options.statistics(help="Number of records in that mean (a batch). Default: all."),
    ] = None,
    probability: Annotated[
        float, options.statistics(help="Probability that a canary is included.")
    ] = 0.5,
    seed: Annotated[
        int | None,
        options.statistics(
            help=(
                "Seed of the coin flips: as secret as the plan. Default: drawn by the operating "
                "system and stored in the plan."
            )
        ),
    ] = None,
    canaries: Annotated[
        Path | None, options.result(help="Where to write all canaries, to be scored afterwards.")
    ] = None,
    plan: Annotated[
        Path, options.result(help="Where to write the plan, with the coin flips.")
    ] = Path("plan.json"),
    overwrite: Annotated[
        bool, options.result("--overwrite", help="Overwrite existing files.")
    ] = False,
) -> None:
    """Choose canaries, flip a coin for each, and write the records to train on.

    With --lineup every canary is trained on, and holds a value that the plan draws among
    candidates:

    divulge canaries plan --lineup 128 --template 'the code of {name} is {secret:digits:6}'
    --records train.csv --canaries versions.csv

    divulge canaries plan data.csv --lineup 128 --column label --records train.csv
    --canaries versions.csv

    Gradient canaries need no data; a recorder inserts those of the plan into DP-SGD:

    divulge canaries plan --strategy one-hot --count 500 --parameters 105546
    --records inserted.csv --canaries canaries.csv

    The plan holds the truths: keep it secret from whoever scores or attacks the model.
    """
    from divulge.games.canaries import play as game
    from divulge.report import progress

    game.reserve_plan(
        data,
        reference,
        *(gradients or ()),
        plan=plan,
        records=records,
        canaries=canaries,
        overwrite=overwrite,
    )
    with progress.stages() as advance:
        made = game.plan(
            data,
            reference=reference,
            gradients=tuple(gradients or ()),
            features=output.words(features),
            label=label,
            text=text,
            template=template,
            names=names,
            column=column,
            copies=copies,
            id=id_,
            rename=options.renamed(rename),
            model=model,
            draw=draw,
            candidates=candidates,
            count=count,
            lineup=lineup,
            strategy=strategy,
            parameters=parameters,
            tokens=tokens,
            temperature=temperature,
            noise=options.numbers("--noise", noise),
            averaged=averaged,
            probability=probability,
            seed=seed,
            progress=advance,
        )
        advance("writing", 1, 2)
        game.write_plan(
            made,
            options.as_named(data, rename),
            plan=plan,
            records=records,
            canaries=canaries,
            overwrite=overwrite,
        )
    planned.say(made, plan, records, canaries)


@failures.guarded
def audit_command(
    plan: Annotated[Path, typer.Argument(help="The plan, written before training.")],
    scores: Annotated[
        Path,
        typer.Argument(
            help="Parquet or CSV: an id and scores per canary, or per version of planted line-ups. "
            "With --model: the versions."
        ),
    ],
    score: Annotated[
        str | None,
        options.data(
            help="Score columns, comma-separated; patterns such as s_* too. Default: loss."
        ),
    ] = None,
    lower_is_member: options.LowerIsMember = None,
    features: Annotated[
        str,
        options.data(help="With --model: columns that it reads, comma-separated, or patterns."),
    ] = "",
    label: Annotated[
        str | None, options.data(help="With --model: the column that the model predicts.")
    ] = None,
    text: Annotated[
        str | None,
        options.data(help="With --model: the column of texts. Default: that of the plan."),
    ] = None,
    id_: Annotated[
        str | None, options.data("--id", help="Id column of the scores. Default: the plan's.")
    ] = None,
    ignore_others: Annotated[
        bool, options.data("--ignore-others", help="Allow rows that are not canaries.")
    ] = False,
    rename: options.Rename = None,
    model: opening.MaybePlace = None,
    attack: Annotated[
        str,
        options.model(help="total (log-probability of a version), or an attack on one record."),
    ] = "total",
    trust: options.Trust = None,
    allow_pickle: options.AllowPickle = False,
    with_: opening.With = None,
    delta: options.Delta = None,
    headline: options.Headline = None,
    error: options.Error = 0.05,
    seed: options.Seed = 0,
    n_jobs: options.NJobs = 1,
    backend: options.Backend = "loky",
    address: options.Address = None,
    cache: options.Cache = options.CACHE,
    no_cache: options.NoCache = False,
    cache_key: options.CacheKey = None,
    table: Annotated[
        Path | None,
        options.result(help="Planted line-ups: write the rank of every secret, .parquet or .csv."),
    ] = None,
    all_bounds: options.AllBounds = False,
    as_json: options.AsJson = False,
    out: options.Out = None,
    report: options.Report = None,
    claim: options.Claim = None,
    mlflow: options.Mlflow = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Audit a model from the scores of its canaries.

    With a plan of planted line-ups the audit is a line-up.

    Exit code 0: the audit ran; 2: bad input; 3: nothing can be concluded.
    """
    from divulge.games.canaries import play as game
    from divulge.proof.rule import DELTAS
    from divulge.report import progress

    output.check(
        (output.table(table), output.result_file(out), output.page(report)),
        (plan, scores, model),
        claim=claim,
        mlflow=mlflow,
        overwrite=overwrite,
    )
    source = model and opening.source(model, trust, allow_pickle, with_, cache_key)
    folder = opening.kept(None if no_cache else cache, [source]) if source else None
    with progress.stages() as advance:
        result = game.audit(
            plan,
            scores,
            score=None if score is None else output.words(score),
            lower_is_member=lower_is_member,
            features=output.words(features),
            label=label,
            text=text,
            id=id_,
            rename=options.renamed(rename),
            ignore_others=ignore_others,
            model=source or None,
            attack=attack,
            deltas=tuple(delta) if delta else DELTAS,
            headline=headline,
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


parsing.add(app, "plan", plan_command, PLAN_EXAMPLE)
parsing.add(app, "rehearse", canary_rehearsal.command, canary_rehearsal.EXAMPLE)
parsing.add(app, "audit", audit_command, AUDIT_EXAMPLE)
