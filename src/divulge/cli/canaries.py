"""``divulge canaries``: plan the coin flips before training, audit the scores after it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import failures, options, output, parsing

PLAN_EXAMPLE = (
    "divulge canaries plan data.csv --records train.csv --canaries canaries.csv --count 200 "
    "--plan plan.json"
)
AUDIT_EXAMPLE = "divulge canaries audit plan.json scores.csv --score loss --out result.json"
app = typer.Typer(
    help="Canaries: include records by coin flips before training, audit the model afterwards.",
    no_args_is_help=True,
)


@failures.guarded
def plan_command(
    data: Annotated[Path, typer.Argument(help="Parquet or CSV of the available records.")],
    records: Annotated[
        Path, options.result(help="Where to write the records to train on (Parquet or CSV).")
    ],
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
    id_: Annotated[
        str | None, options.data("--id", help="Column with an id per record. Default: row number.")
    ] = None,
    count: Annotated[int, options.statistics(help="Number of canaries.")] = 1000,
    strategy: Annotated[
        str, options.statistics(help="mahalanobis, random or norm: which records are canaries.")
    ] = "mahalanobis",
    noise: Annotated[
        float,
        options.statistics(help="Standard deviation of the noise on every column of the mean."),
    ] = 0.0,
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

    The plan holds the truths: keep it secret from whoever scores or attacks the model.
    """
    from divulge.data.tables import file_sha256
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
            id=id_,
            count=count,
            strategy=strategy,
            noise=noise,
            averaged=averaged,
            probability=probability,
            seed=seed,
            progress=advance,
        )
        advance("writing", 1, 2)
        game.write_plan(
            made, data, plan=plan, records=records, canaries=canaries, overwrite=overwrite
        )
    output.say(f"{len(made)} canaries ({strategy}), {sum(made.included)} of them included.")
    output.say(f"Train on {records}. Afterwards score every canary, by {made.key!r}.")
    output.say(
        f"{plan} holds the truths: keep it, and the seed, secret from whoever computes the scores."
    )
    output.say(f"sha256 of {plan.name}: {file_sha256(plan)}")


@failures.guarded
def audit_command(
    plan: Annotated[Path, typer.Argument(help="The plan, written before training.")],
    scores: Annotated[Path, typer.Argument(help="Parquet or CSV: an id and scores per canary.")],
    score: Annotated[
        str | None,
        options.data(
            help="Score columns, comma-separated; patterns such as s_* too. Default: loss."
        ),
    ] = None,
    lower_is_member: options.LowerIsMember = None,
    id_: Annotated[
        str | None, options.data("--id", help="Id column of the scores. Default: the plan's.")
    ] = None,
    ignore_others: Annotated[
        bool, options.data("--ignore-others", help="Allow rows that are not canaries.")
    ] = False,
    delta: options.Delta = None,
    error: options.Error = 0.05,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    out: options.Out = None,
    report: options.Report = None,
    claim: options.Claim = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Audit a model from the scores of its canaries.

    Exit code 0: the audit ran; 2: bad input; 3: nothing can be concluded.
    """
    from divulge.games.canaries import play as game
    from divulge.proof.rule import DELTAS
    from divulge.report import progress

    output.check(
        (output.result_file(out), output.page(report)),
        (plan, scores),
        claim=claim,
        overwrite=overwrite,
    )
    with progress.stages() as advance:
        result = game.audit(
            plan,
            scores,
            score=None if score is None else output.words(score),
            lower_is_member=lower_is_member,
            id=id_,
            ignore_others=ignore_others,
            deltas=tuple(delta) if delta else DELTAS,
            error=error,
            seed=seed,
            command=output.command_line(),
            progress=advance,
        )
    output.deliver(result, as_json=as_json, out=out, report=report, claim=claim)


parsing.add(app, "plan", plan_command, PLAN_EXAMPLE)
parsing.add(app, "audit", audit_command, AUDIT_EXAMPLE)
