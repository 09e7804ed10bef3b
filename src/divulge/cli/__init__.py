"""The command line: thin over the library. Results on stdout, progress and errors on stderr."""

from __future__ import annotations

import sys
from typing import Any

import typer

from divulge import __version__
from divulge.cli import (
    attacks,
    attribute,
    bound,
    canaries,
    check,
    demo,
    leakage,
    membership,
    quoting,
    report,
    retraining,
    score,
    selftest,
    synthetic,
)
from divulge.errors import DivulgeError, one_line

app = typer.Typer(
    name="divulge",
    cls=quoting.Commands,
    help="How much does a trained model give away about its training records?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"divulge {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    pass


app.command("score")(score.command)
app.command("membership")(membership.command)
app.command("attribute")(attribute.command)
app.command("synthetic")(synthetic.command)
app.command("retraining")(retraining.command)
app.command("leakage")(leakage.command)
app.add_typer(canaries.app, name="canaries")
app.command("demo")(demo.command)
app.command("attacks")(attacks.command)
app.command("check")(check.command)
app.command("report")(report.command)
app.command("bound")(bound.command)
app.command("selftest")(selftest.command)


_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises for a command line that it cannot read."""


def main() -> None:
    """Run the command line; a known error is one message on stderr and its exit code."""
    try:
        sys.exit(app(standalone_mode=False))
    except DivulgeError as error:
        print(f"divulge: {one_line(quoting.safe(str(error)))}", file=sys.stderr)
        sys.exit(error.exit_code)
    except _UsageError as error:
        sys.exit(_misused(error))
    except KeyboardInterrupt:
        print("divulge: interrupted", file=sys.stderr)
        sys.exit(130)


def _misused(error: Any) -> int:
    """One line on a command line that cannot be read; the help where no command was given."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return 2
    path = error.ctx.command_path if error.ctx is not None else "divulge"
    said = one_line(error.format_message()).rstrip(".")
    print(f"divulge: {said}. See {path} --help.", file=sys.stderr)
    return 2
