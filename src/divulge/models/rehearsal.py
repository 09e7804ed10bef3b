"""A stranger's file is first opened in a process of its own.

Libraries in C++ check less than they read: a truncated UBJSON file makes XGBoost crash or loop, a
few altered bytes do the same to CatBoost. A crash, a loop or a huge allocation in the rehearsal is
an error with words here, and the audit goes on living.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.errors import InputError, MissingExtra

SECONDS = 60.0
MEMORY = 8 << 30
PER_BYTE = 20
"""Address space that a byte of the file may ask for beyond ``MEMORY``."""
IDLE = ("sklearn", "matplotlib", "plotly")
"""Packages that the libraries import for other uses, and that would take most of the time."""


def rehearse(module: str, place: Path) -> None:
    """Open a file in another process through ``module.opened`` and ask it; InputError if it fails.

    The model that ``opened`` returns tries itself on made-up records in ``try_out``.
    """
    size = place.stat().st_size
    path = os.pathsep.join(p for p in sys.path if p)
    command = [sys.executable, "-P", "-m", __name__, module, os.fspath(place.absolute())]
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module
            command,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS + size / 5e6,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"Cannot load {place}: its library did not come to an end. The file is damaged."
        ) from None
    if done.returncode == 0:
        return
    words = done.stdout.decode("utf-8", "replace").strip().splitlines()
    if done.returncode == InputError.exit_code and words:
        raise InputError(f"Cannot load {place}: {words[-1][:500]}")
    raise InputError(
        f"Cannot load {place}: its library crashed (exit code {done.returncode}). The file is "
        "damaged, or made to do harm."
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


def main(module: str, path: str) -> int:
    """The other process: limits its memory, opens, asks, says what went wrong."""
    place = Path(path)
    try:
        import resource
    except ModuleNotFoundError:  # not on Windows
        pass
    else:
        limit = MEMORY + PER_BYTE * place.stat().st_size
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name in IDLE:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        import_module(module).opened(place).try_out()
    except MemoryError:
        print("it asks for more memory than a file of its size can need.")
    except Exception as error:
        # One line: the first of a library's message, without what it prints about itself.
        text = str(error).strip().splitlines() or [type(error).__name__]
        print(text[0] if isinstance(error, InputError) else f"{type(error).__name__}: {text[0]}")
    else:
        return 0
    return InputError.exit_code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2]))
