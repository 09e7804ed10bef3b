"""``divulge bound``: counts to bounds."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from divulge.bounds import METHODS
from divulge.bounds.statement import DELTAS, state_bounds
from divulge.cli import options
from divulge.result import SCHEMA

EXAMPLE = (
    "divulge bound --trials 10000 --guesses 200 --correct 191",
    "divulge bound --trials 1000 --guesses 1000 --correct 700 --delta 1e-5 --json",
)


def command(
    trials: Annotated[int, options.data(help="Number of trials in the game.")],
    guesses: Annotated[int, options.data(help="Number of trials that were guessed.")],
    correct: Annotated[int, options.data(help="Number of guesses that were right.")],
    method: Annotated[str, options.statistics(help=f"One of {', '.join(METHODS)}.")] = "auto",
    tau: Annotated[float, options.statistics(help="Total-variation budget of a proxy.")] = 0.0,
    delta: Annotated[
        list[float] | None,
        options.statistics(help="Delta of an epsilon; repeatable. Default: 0, 1e-6, 1e-5."),
    ] = None,
    error: Annotated[float, options.statistics(help="Error probability of each bound.")] = 0.05,
    as_json: options.AsJson = False,
) -> None:
    """Turn counted guesses into lower bounds on mu and epsilon.

    The trials must be independent fair coins, and the number of guesses must have been chosen
    before the truths were seen.
    """
    bounds = state_bounds(
        trials,
        guesses,
        correct,
        deltas=tuple(delta) if delta else DELTAS,
        error=error,
        method=method,
        tau=tau,
    )
    if as_json:
        payload = {"schema": SCHEMA, "bounds": [b.to_json() for b in bounds]}
        typer.echo(json.dumps(payload, indent=2, allow_nan=False))
        return
    from divulge.report import terminal

    heading = f"{correct} of {guesses} guesses right, in {trials} trials"
    terminal.print_bounds(bounds, heading=heading)
