"""The command line: thin over the library. Results on stdout, progress and errors on stderr."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType

import typer

from divulge import __version__
from divulge.cli import (
    attacks,
    audit,
    bound,
    check,
    compare,
    demo,
    doctor,
    failures,
    output,
    parsing,
    report,
    run_file,
    schema,
    score,
    selftest,
    shadows,
)
from divulge.errors import InputError
from divulge.games import registry

app = typer.Typer(
    name="divulge",
    help="How much does a trained model give away about its training records?",
    no_args_is_help=True,
    add_completion=True,
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
    debug: bool = typer.Option(
        False,
        failures.DEBUG,
        help="Print the traceback of an error. Allowed anywhere on the command line.",
    ),
) -> None:
    """Exit code 0: done; 1: a claim is refuted, or the self-test fails; 2: bad input; 3: nothing
    can be concluded; 4: unexpected error.
    """


_START = {"audit": audit, "demo": demo, "run": run_file}
_PREPARE = {"score": score, "shadows": shadows, "attacks": attacks}
_CHECK = {
    "check": check,
    "compare": compare,
    "report": report,
    "bound": bound,
    "selftest": selftest,
    "schema": schema,
    "doctor": doctor,
}
START, GAMES, PREPARE, CHECK = "Start here", "Audit", "Prepare", "Check"


def _add(commands: Mapping[str, ModuleType], panel: str) -> None:
    for name, module in commands.items():
        parsing.add(app, name, failures.guarded(module.command), module.EXAMPLE, panel)


def _add_games() -> None:
    """A command for every game of the registry; one that cannot be loaded is named and left out."""
    for game in registry.games():
        try:
            found = game.load("command")
        except InputError as problem:
            output.say(f"divulge: {problem}", err=True)
            continue
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=game.name, rich_help_panel=GAMES)
        elif found is not None:
            example = getattr(sys.modules[found.__module__], "EXAMPLE", "")
            parsing.add(app, game.name, failures.guarded(found), example, GAMES)


_add(_START, START)
_add_games()
_add(_PREPARE, PREPARE)
_add(_CHECK, CHECK)


def main() -> None:
    """Run the command line; whatever goes wrong is one message on stderr and its exit code."""
    words, debug = failures.wanted(sys.argv[1:])
    try:
        code = app(args=words, prog_name="divulge", standalone_mode=False)
    except SystemExit as done:  # completion of a shell ends so
        code = done.code
    except BaseException as error:
        code = failures.stop(error, debug=debug)
    sys.exit(code)
