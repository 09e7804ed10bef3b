"""What every game does with its result: print, write, and the exit code."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from divulge.data.writing import Output, reserve
from divulge.result import Result
from divulge.text import masking
from divulge.text.visible import one_line

_GENERATOR = b'<meta name="generator" content="divulge">'


def check(
    outputs: Iterable[Output],
    inputs: Iterable[Any],
    *,
    claim: str | None = None,
    mlflow: bool = False,
    overwrite: bool = False,
) -> None:
    """What can be wrong with the outputs is said before the work, not after it."""
    outputs = list(outputs)
    if claim is not None:
        from divulge.claims import Claim

        Claim.parse(claim)
    if any(o.path is not None and o.replaces is _is_page for o in outputs):
        from divulge.report import html

        html.require_charts()
    if mlflow:
        from divulge.integrations import mlflow_run

        mlflow_run.load()
    reserve(outputs, inputs, overwrite=overwrite)


def result_file(path: Path | None, option: str = "--out") -> Output:
    """A result as JSON; it may take the place of an earlier one."""
    return Output(option, path, _is_result)


def page(path: Path | None, option: str = "--report") -> Output:
    """A report as HTML; it may take the place of an earlier one."""
    return Output(option, path, _is_page)


def table(path: Path | None, option: str = "--table") -> Output:
    """A table of ours; it may take the place of an earlier one that says so (Parquet)."""
    return Output(option, path, _is_table)


def _is_result(path: Path) -> bool:
    from divulge.errors import InputError
    from divulge.text import strict_json

    try:
        data = strict_json.load(path)
    except InputError:
        return False
    return isinstance(data, dict) and {"schema", "game", "verdict", "bounds"} <= data.keys()


def _is_page(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return _GENERATOR in stream.read(4096)
    except OSError:
        return False


def _is_table(path: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        return b"divulge" in (pyarrow.parquet.read_schema(path).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def command_line() -> str:
    """What was typed; the query of an address is left out, for it may hold a key."""
    return "divulge " + shlex.join(masking.shown(word) for word in sys.argv[1:])


def words(text: str) -> list[str]:
    """A list given with commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def today() -> str:
    """The date that a result made by a command carries."""
    return datetime.now(UTC).date().isoformat()


def say(text: str, *, err: bool = False) -> None:
    """One line, with nothing in it that a terminal would obey."""
    typer.echo(one_line(text), err=err)


def deliver(
    result: Result,
    *,
    as_json: bool,
    out: Path | None,
    report: Path | None,
    claim: str | None = None,
    all_bounds: bool = False,
    mlflow: bool = False,
) -> None:
    """Write the files, the JSON first, then print; exit code 3 where nothing can be concluded."""
    result = replace(result, provenance={**result.provenance, "date": today()})
    drawn = _drawn(result, claim)
    if out is not None:
        result.save(out)
        say(f"Wrote {out}", err=True)
    if report is not None:
        from divulge.report import html

        html.write(result, report, claim=drawn)
        say(f"Wrote {report}", err=True)
    if as_json:
        typer.echo(result.dumps())
    else:
        from divulge.report import terminal

        terminal.print_result(result, all_bounds=all_bounds)
    if mlflow:
        from divulge.integrations import mlflow_run

        say(f"Logged to run {mlflow_run.log(result, claim=drawn)} of MLflow", err=True)
    if result.verdict.status == "cannot conclude":
        raise typer.Exit(3)


def _drawn(result: Result, claim: str | None) -> dict[str, Any] | None:
    """What a report says about a claim."""
    if claim is None:
        return None
    from divulge.claims import Claim, described

    return dict(described(result, Claim.parse(claim)))
