"""``divulge selftest``: does the auditor keep its word on this machine?"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from divulge.cli import options
from divulge.result import SCHEMA

EXAMPLE = (
    "divulge selftest --quick --only binomial --repeats 20",
    "divulge selftest --list",
)


def command(
    only: Annotated[
        str | None, options.data(help="Only cases whose name contains this text.")
    ] = None,
    skip: Annotated[
        str | None, options.data(help="No cases whose name contains this text.")
    ] = None,
    quick: Annotated[
        bool, options.statistics("--quick", help="Fewer cases and repeats: minutes, not hours.")
    ] = False,
    error: Annotated[
        float, options.statistics(help="Error probability that the bounds claim.")
    ] = 0.05,
    repeats: Annotated[
        int | None, options.statistics(help="Games per case. Default: 2000, quick: 200.")
    ] = None,
    seed: options.Seed = 0,
    n_jobs: options.NJobs = options.N_JOBS,
    backend: options.Backend = "loky",
    address: options.Address = None,
    cache: options.Cache = None,
    show: Annotated[bool, options.result("--list", help="List the cases and exit.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Run every bound many times on mechanisms with a known answer.

    Where the probability of a false claim can be computed, it is, and is compared with the stated
    error. Exit code 0 only if nothing computed exceeds it, and no bound makes false claims
    significantly more often than it says.
    """
    from divulge import selftest
    from divulge.report import progress, selftest_text
    from divulge.selftest.run import QUICK_REPETITIONS, REPETITIONS

    chosen = selftest.cases(quick=quick, only=only, skip=skip)
    if show:
        for case in chosen:
            typer.echo(case.label)
        return
    count = repeats
    if count is None:
        count = QUICK_REPETITIONS if quick else REPETITIONS
    with progress.bar("self-test") as advance:
        rows = selftest.run(
            chosen,
            repetitions=count,
            error=error,
            seed=seed,
            n_jobs=n_jobs,
            backend=backend,
            address=address,
            cache=cache,
            progress=advance,
        )
    if as_json:
        payload = {"schema": SCHEMA, "rows": [row.to_json() for row in rows]}
        typer.echo(json.dumps(payload, indent=2, allow_nan=False))
    else:
        selftest_text.print_selftest(rows)
    if not all(row.holds for row in rows):
        raise typer.Exit(1)
