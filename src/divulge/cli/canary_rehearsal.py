"""``divulge canaries rehearse``: a torch run is rehearsed, and canaries planned by it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import failures, opening, options, output, planned

EXAMPLE = (
    (
        "divulge canaries rehearse data.csv --features 'x_*' --label y --model "
        "networks:small --clip 1 --noise-multiplier 0.7 --rate 0.1 --learning-rate 0.5 "
        "--count 40 --records train.csv --canaries canaries.csv --plan plan.json"
    ),
    (
        "divulge canaries rehearse data.csv --features 'x_*' --label y --model "
        "networks:small --clip 1 --noise-multiplier 0.7 --rate 0.1 --learning-rate 0.5 "
        "--strategy norm --steps 20 --count 40 --records train.csv --canaries canaries.csv "
        "--plan plan.json"
    ),
)


@failures.guarded
def command(
    data: Annotated[Path, typer.Argument(help="Parquet or CSV of the available records.")],
    features: Annotated[
        str,
        options.data(help="Columns that the network reads, comma-separated; patterns such as x_*."),
    ],
    label: Annotated[str, options.data(help="The column that the network predicts.")],
    model: Annotated[
        str,
        options.model(
            "--model",
            help="The network before training: module:name that makes it from a seed, or weights "
            "in safetensors with --with class_name=module:Class.",
        ),
    ],
    clip: Annotated[float, options.statistics(help="The norm that gradients are clipped to.")],
    noise_multiplier: Annotated[
        float, options.statistics(help="Noise of the sum, in units of the clipping norm.")
    ],
    rate: Annotated[
        float, options.statistics(help="Probability that a record is part of a batch.")
    ],
    learning_rate: Annotated[float, options.statistics(help="Step length of the run.")],
    records: Annotated[
        Path, options.result(help="Where to write the records to train on (Parquet or CSV).")
    ],
    id_: Annotated[
        str | None, options.data("--id", help="Column with an id per record. Default: row number.")
    ] = None,
    rename: options.Rename = None,
    with_: opening.With = None,
    count: Annotated[int, options.statistics(help="Number of canaries.")] = 1000,
    strategy: Annotated[
        str, options.statistics(help="mahalanobis or norm, of the gradients.")
    ] = "mahalanobis",
    parameters: Annotated[
        str,
        options.statistics(
            help="Parameters to measure by, comma-separated, such as 2.weight. Default: all."
        ),
    ] = "",
    columns: Annotated[
        int, options.statistics(help="Entries of them that are measured, drawn at random.")
    ] = 500,
    probability: Annotated[
        float, options.statistics(help="Probability that a canary is included.")
    ] = 0.5,
    steps: Annotated[int, options.statistics(help="Steps of the rehearsal.")] = 100,
    times: Annotated[
        int, options.statistics(help="At how many of them gradients are looked at.")
    ] = 5,
    seed: Annotated[
        int | None,
        options.statistics(
            help="Seed of the coin flips: as secret as the plan. Default: drawn by the operating "
            "system and stored in the plan."
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
    """Rehearse DP-SGD on all records, and plan canaries among those whose gradients stand out.

    A network is trained as the run will be, and the clipped gradients of all records ranked at some
    steps. Nothing of the rehearsal may be released. The plan holds the truths: keep it secret from
    whoever scores or attacks the model.
    """
    from divulge.games.canaries import play, rehearsing
    from divulge.report import progress

    play.reserve_plan(
        data, model, plan=plan, records=records, canaries=canaries, overwrite=overwrite
    )
    source = opening.source(model, None, False, with_)
    with progress.stages() as advance:
        made = rehearsing.rehearse_table(
            data,
            features=output.words(features),
            rename=options.renamed(rename),
            label=label,
            id=id_,
            model=source,
            count=count,
            strategy=strategy,
            parameters=output.words(parameters),
            columns=columns,
            probability=probability,
            clip=clip,
            noise_multiplier=noise_multiplier,
            rate=rate,
            learning_rate=learning_rate,
            steps=steps,
            times=times,
            seed=seed,
            progress=advance,
        )
        advance("writing", 1, 2)
        play.write_plan(
            made,
            options.as_named(data, rename),
            plan=plan,
            records=records,
            canaries=canaries,
            overwrite=overwrite,
        )
    planned.say(made, plan, records, canaries)
