"""A command run in this process: as on the command line, without starting Python anew."""

from __future__ import annotations

import io
import os
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

import typer.main

from divulge import cli

BUILT = typer.main.get_command(cli.app)
"""The parser, made once: typer makes it anew at every call, which takes longer than most errors."""


def run(
    *words: str | Path, cwd: Path | None = None, columns: int | None = None
) -> CompletedProcess[str]:
    """The exit code and what was printed."""
    typed = ["divulge", *map(str, words)]
    out, err, code = io.StringIO(), io.StringIO(), 0
    width = {} if columns is None else {"COLUMNS": str(columns)}
    with (
        mock.patch.object(sys, "argv", typed),
        mock.patch.object(cli, "app", BUILT),
        mock.patch.dict(os.environ, width),
        chdir(cwd or Path.cwd()),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    return CompletedProcess(typed, code, out.getvalue(), err.getvalue())
