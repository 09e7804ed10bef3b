"""A stranger's file is first opened in a process of its own.

Libraries in C++ check less than they read: a truncated UBJSON file makes XGBoost crash or loop, a
few altered bytes do the same to CatBoost. A crash, a loop or a huge allocation in the rehearsal is
an error with words here, and the audit goes on living. Memory, processor time, wall time and what
is written are bounded; the bounds grow with the file (``divulge.data.budgets`` raises them).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.data import budgets
from divulge.errors import InputError, MissingExtra

SECONDS = 60.0
"""Processor time that a file of no size may take."""
WAIT = 4
"""How many times as long may pass on a machine that does other things too."""
PER_SECOND = 5_000_000
"""Bytes of a file that may take one second more."""
ADDRESSES, MEMORY = 8 << 30, 3 << 30
"""Address space, of which libraries take much without using it; memory that is written to."""
PER_BYTE = 20
"""What a byte of the file may ask for beyond them."""
WRITTEN = 1 << 20
"""Bytes that may be written to any file, the words to the caller among them."""
SIGXCPU = int(getattr(signal, "SIGXCPU", 24))
"""What a process is ended by that has used up its processor time."""
IDLE = ("sklearn", "matplotlib", "plotly")
"""Packages that the libraries import for other uses, and that would take most of the time."""


def rehearse(module: str, place: Path) -> None:
    """Open a file in another process by ``module.open_file`` and ask it; InputError if it fails.

    The model that ``open_file`` returns tries itself on made-up records in ``try_out``.
    """
    seconds = budgets.raised(SECONDS + _size(place) / PER_SECOND)
    path = os.pathsep.join(p for p in sys.path if p)
    command = [sys.executable, "-P", "-m", __name__, module]
    command += [os.fspath(place.absolute()), str(seconds)]
    with tempfile.TemporaryFile() as said:
        try:
            done = subprocess.run(  # noqa: S603 - our own interpreter and module
                command,
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.DEVNULL,
                timeout=WAIT * seconds,
                check=False,
            )
            code = done.returncode
        except subprocess.TimeoutExpired:
            code = -SIGXCPU
        said.seek(0)
        words = said.read(WRITTEN).decode("utf-8", "replace").strip().splitlines()
    if code == 0:
        return
    if code == -SIGXCPU:
        raise InputError(
            f"Cannot load {place}: its library did not finish within {seconds} seconds of work. "
            f"The file is damaged or malicious. {budgets.HINT}"
        )
    if code == InputError.exit_code and words:
        raise InputError(f"Cannot load {place}: {words[-1][:500]}")
    raise InputError(
        f"Cannot load {place}: its library crashed (exit code {code}). The file is damaged or "
        "malicious."
    )


def made_up(width: int) -> npt.NDArray[np.float64]:
    """Records of every size of number, and missing ones."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(64, width)) * 10.0 ** rng.integers(-3, 7, (64, 1))
    rows[0], rows[1], rows[2], rows[3] = 0.0, np.nan, 1e30, -1e30
    return rows


def library(name: str, extra: str) -> Any:
    """A module of an extra; MissingExtra without it."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise MissingExtra(name, extra) from None


def main(module: str, path: str, seconds: str) -> int:
    """The other process: limits its memory, opens, asks, says what went wrong."""
    place = Path(path)
    _limit(_size(place), int(seconds))
    for name in IDLE:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        import_module(module).open_file(place).try_out()
    except MemoryError:
        print(f"it needs more memory than a file of its size should. {budgets.HINT}")
    except Exception as error:
        # One line: the first of a library's message, without what it prints about itself.
        text = str(error).strip().splitlines() or [type(error).__name__]
        print(text[0] if isinstance(error, InputError) else f"{type(error).__name__}: {text[0]}")
    else:
        return 0
    return InputError.exit_code


def _limit(size: int, seconds: int) -> None:
    """Let the system hold this process to its budgets."""
    try:
        import resource
    except ModuleNotFoundError:  # not on Windows
        return
    further = PER_BYTE * size
    for kind, limit in (
        (resource.RLIMIT_AS, budgets.raised(ADDRESSES + further)),
        (resource.RLIMIT_DATA, budgets.raised(min(MEMORY, budgets.half_of_memory()) + further)),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, WRITTEN),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        most = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (most, hard))


def _size(place: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if place.is_file():
        return place.stat().st_size
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
