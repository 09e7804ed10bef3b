"""``divulge attribute``: what a model gives away about labels, or a protected column."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from divulge.cli import opening, options, output
from divulge.errors import require

EXAMPLE = (
    "divulge attribute train.csv --label y --features 'x_*' --proxy-exact --out result.json",
    "divulge attribute train.csv --label y --features 'x_*' --proxy-exact --delta 1e-3 --json",
)


def command(
    data: Annotated[Path | None, typer.Argument(help="Parquet or CSV of training records.")] = None,
    also_data: options.AlsoData = None,
    heldout: Annotated[
        Path | None,
        options.data(help="Held-out records, not in the training set, with the same columns."),
    ] = None,
    features: options.Features = "",
    label: Annotated[str | None, options.data(help="Column with the true label.")] = None,
    protected: Annotated[
        str | None,
        options.data(
            help="Audit this column, not the label; several, comma-separated, share the error."
        ),
    ] = None,
    jointly: Annotated[
        bool,
        options.data("--jointly", help="Audit several protected columns together, as one value."),
    ] = False,
    bins: Annotated[
        int | None,
        options.data(
            help="Number of bins for protected numbers and dates. Default: 4 above 20 values."
        ),
    ] = None,
    target: Annotated[str, options.data(help="Prefix of the target's probability columns.")] = "p_",
    proxy: Annotated[str, options.data(help="Prefix of the proxy's probability columns.")] = "q_",
    rename: options.Rename = None,
    model: opening.MaybePlace = None,
    proxy_model: Annotated[
        str | None, options.model(help="The proxy model, such as an earlier checkpoint.")
    ] = None,
    trust: options.Trust = None,
    allow_pickle: options.AllowPickle = False,
    with_: opening.With = None,
    form: Annotated[
        str | None,
        options.statistics(
            help=(
                "values (bets on the values, pairs of them) or published (coins between the true "
                "value and one drawn). Default: values; published with --tau."
            )
        ),
    ] = None,
    attack: Annotated[
        str, options.statistics(help="llr (log-likelihood ratio) or published (the paper's).")
    ] = "llr",
    power: Annotated[float, options.statistics(help="Power t of the published attack.")] = 2.0,
    proxy_exact: Annotated[
        bool, options.statistics("--proxy-exact", help="Treat the proxy as exact: no correction.")
    ] = False,
    tau: Annotated[
        float | None,
        options.statistics(
            help="The proxy is within tau of the truth in total variation, per record."
        ),
    ] = None,
    delta: options.Delta = None,
    error: options.Error = 0.05,
    repeats: Annotated[
        int, options.statistics(help="Number of draws of pairs, or of coins, that are combined.")
    ] = 1,
    seed: options.Seed = 0,
    all_bounds: options.AllBounds = False,
    as_json: options.AsJson = False,
    out: options.Out = None,
    report: options.Report = None,
    claim: options.Claim = None,
    mlflow: options.Mlflow = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Audit what a model gives away about the labels of its training records.

    Each record's label is bet on, given what the record shows and the model says; a proxy, or what
    divulge fits, says what the record alone gives away. Exit code 0: the audit ran; 2: bad input;
    3: nothing can be concluded.
    """
    from divulge.games.attribute.play import attribute
    from divulge.proof.rule import DELTAS
    from divulge.report import progress

    output.check(
        (output.result_file(out), output.page(report)),
        (data, also_data, heldout, model, proxy_model),
        claim=claim,
        mlflow=mlflow,
        overwrite=overwrite,
    )
    require(
        (data is None) != (also_data is None),
        "Give one table, either as the argument or as --data.",
    )
    with progress.stages() as advance:
        result = attribute(
            data or also_data,
            heldout=heldout,
            features=output.words(features),
            rename=options.renamed(rename),
            label=label,
            protected=None if protected is None else output.words(protected),
            jointly=jointly,
            bins=bins,
            target=target,
            proxy=proxy,
            model=model and opening.source(model, trust, allow_pickle, with_),
            proxy_model=proxy_model and opening.source(proxy_model, trust, allow_pickle, with_),
            form=form,
            attack=attack,
            power=power,
            proxy_exact=proxy_exact,
            tau=tau,
            deltas=tuple(delta) if delta else DELTAS,
            error=error,
            repeats=repeats,
            seed=seed,
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
