"""``divulge attribute``: what a model gives away about labels, or a protected column."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import opening, options, output
from divulge.errors import require


def command(
    table: Annotated[
        Path | None, typer.Argument(help="Parquet or CSV of training records.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The same, beside --model.")] = None,
    label: Annotated[str | None, typer.Option(help="Column with the true label.")] = None,
    protected: Annotated[
        str | None, typer.Option(help="Audit this column instead of the label.")
    ] = None,
    bins: Annotated[
        int | None, typer.Option(help="Put a numeric protected column into so many bins.")
    ] = None,
    target: Annotated[str, typer.Option(help="Prefix of the target's probability columns.")] = "p_",
    proxy: Annotated[str, typer.Option(help="Prefix of the proxy's probability columns.")] = "q_",
    features: Annotated[
        str, typer.Option(help="Feature columns with commas, or patterns such as x_*.")
    ] = "",
    model: opening.MaybePlace = None,
    proxy_model: Annotated[
        str | None, typer.Option(help="The proxy likewise, such as an earlier checkpoint.")
    ] = None,
    trust: options.Trust = None,
    allow_pickle: options.AllowPickle = False,
    with_: opening.With = None,
    heldout: Annotated[
        Path | None, typer.Option(help="Records outside the training set, with the same columns.")
    ] = None,
    proxy_exact: Annotated[
        bool, typer.Option("--proxy-exact", help="Vouch for the proxy: no correction.")
    ] = False,
    tau: Annotated[
        float | None,
        typer.Option(help="The proxy is within tau of the truth in total variation, per record."),
    ] = None,
    score: Annotated[
        str, typer.Option(help="llr (log-likelihood ratio) or published (the paper's).")
    ] = "llr",
    power: Annotated[float, typer.Option(help="The t of the published score.")] = 2.0,
    repetitions: Annotated[int, typer.Option(help="Replays of the coin flips.")] = 20,
    delta: options.Delta = None,
    error: options.Error = 0.05,
    seed: Annotated[int, typer.Option(help="Fixes the split and the coin flips.")] = 0,
    as_json: options.AsJson = False,
    out: options.Out = None,
    report: options.Report = None,
    claim: options.Claim = None,
    overwrite: options.Overwrite = False,
) -> None:
    """Audit what a model gives away about the labels of its training records.

    Each trial shows a record with its own label or with one drawn from a proxy. Exit code 0: the
    audit ran; 2: bad input; 3: nothing can be concluded.
    """
    from divulge.games.attribute.play import attribute
    from divulge.proof.rule import DELTAS
    from divulge.report import progress

    output.check(
        (output.result_file(out), output.page(report)),
        (table, data, heldout, model, proxy_model),
        claim=claim,
        overwrite=overwrite,
    )
    require((table is None) != (data is None), "Give one table: as the argument, or as --data.")
    loaded = [
        where and opening.source(where, trust, allow_pickle, with_).raw()
        for where in (model, proxy_model)
    ]
    with progress.stages() as advance:
        result = attribute(
            table if table is not None else data,
            label=label,
            protected=protected,
            bins=bins,
            target=target,
            proxy=proxy,
            features=output.words(features),
            model=loaded[0],
            proxy_model=loaded[1],
            heldout=heldout,
            proxy_exact=proxy_exact,
            tau=tau,
            score=score,
            power=power,
            repetitions=repetitions,
            deltas=tuple(delta) if delta else DELTAS,
            error=error,
            rng=seed,
            command=output.command_line(),
            progress=advance,
        )
    output.deliver(result, as_json=as_json, out=out, report=report, claim=claim)
