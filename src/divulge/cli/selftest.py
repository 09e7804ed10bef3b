"""``divulge selftest``: does the auditor keep its word on this machine?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from divulge.cli import options
from divulge.errors import require
from divulge.result import SCHEMA

if TYPE_CHECKING:
    from divulge.selftest import Case, Check

EXAMPLE = (
    "divulge selftest --quick --only binomial --repeats 20",
    "divulge selftest --quick --only binomial --repeats 20 --into evidence",
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
    minutes: Annotated[
        float | None, options.work(help="With --into: begin nothing new after so long.")
    ] = None,
    seed: options.Seed = 0,
    n_jobs: options.NJobs = options.N_JOBS,
    backend: options.Backend = "loky",
    address: options.Address = None,
    cache: options.Cache = None,
    into: Annotated[
        Path | None,
        options.result(help="Add games to the ledger in this folder; the next run goes on."),
    ] = None,
    show: Annotated[
        Path | None,
        options.result(help="Show the ledger in this folder; play nothing."),
    ] = None,
    page: Annotated[
        Path | None, options.result(help="With --into or --show: the ledger as Markdown.")
    ] = None,
    complete: Annotated[
        bool,
        options.result(
            "--complete", help="With --into or --show: exit 1 if a row is stale or short of games."
        ),
    ] = False,
    listed: Annotated[bool, options.result("--list", help="List the cases and exit.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Run every bound many times on mechanisms with a known answer.

    Where the probability of a false claim can be computed, it is, and is compared with the stated
    error. Exit code 0 only if nothing computed exceeds it, and no bound makes false claims
    significantly more often than it says.

    With a ledger (--into) games add up over many runs of the same code; stop and go on as you like.
    """
    from divulge import selftest
    from divulge.report import progress, selftest_text
    from divulge.selftest.run import QUICK_REPETITIONS, REPETITIONS
    from divulge.work import Engine

    chosen = selftest.cases(quick=quick, only=only, skip=skip)
    if listed:
        _list([case.label for case in chosen], as_json)
        return
    count = repeats
    if count is None:
        count = QUICK_REPETITIONS if quick else REPETITIONS
    folder = into or show
    require(into is None or show is None, "Give --into or --show, not both.")
    for name, given in (("--minutes", minutes), ("--page", page), ("--complete", complete or None)):
        wanted = into if name == "--minutes" else folder
        require(given is None or wanted is not None, f"{name} is for a ledger: give --into too.")
    if into is not None:
        from divulge.selftest.accumulate import accumulate

        with progress.bar("self-test") as advance:
            accumulate(
                into,
                chosen,
                repetitions=count,
                error=error,
                seed=seed,
                minutes=minutes,
                engine=Engine(backend, n_jobs, address),
                progress=advance,
            )
    if folder is not None:
        _tell(folder, chosen, count, error, page, complete, as_json)
        return
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
        _dump({"rows": [row.to_json() for row in rows]})
    else:
        selftest_text.print_selftest(rows)
    if not all(row.holds for row in rows):
        raise typer.Exit(1)


def _dump(told: dict[str, Any]) -> None:
    typer.echo(json.dumps({"schema": SCHEMA, **told}, indent=2, allow_nan=False))


def _list(labels: Sequence[str], as_json: bool) -> None:
    if as_json:
        _dump({"cases": list(labels)})
        return
    for label in labels:
        typer.echo(label)


def _tell(
    folder: Path,
    chosen: Sequence[Case | Check],
    repetitions: int,
    error: float,
    page: Path | None,
    complete: bool,
    as_json: bool,
) -> None:
    """Print a ledger, and exit 1 if it convicts anything, or is not what was asked for."""
    from divulge import selftest
    from divulge.data.writing import write_bytes
    from divulge.report import ledger_text
    from divulge.selftest import ledger, standing, uses

    require(len(chosen) > 0, "No case matches. `divulge selftest --list` shows their names.")
    codes = {case.label: uses.digest(case) for case in chosen}
    known = standing.standings(ledger.read(folder), chosen, error, codes)
    account = ledger_text.Account(
        known,
        standing.families(known),
        len(selftest.cases()),
        repetitions,
        folder.as_posix(),
    )
    if page is not None:
        write_bytes(page, ledger_text.page(account).encode())
    if as_json:
        _dump(account.to_json())
    else:
        ledger_text.print_account(account)
    if account.convicted or (complete and not account.complete):
        raise typer.Exit(1)
