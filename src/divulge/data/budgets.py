"""How much may a stranger's file ask for? Regular files only, and sizes and times within budgets.

A few bytes can ask for all memory or never come to an end. Every budget grows with the file, starts
at a floor that is generous for honest ones, and is raised by one environment variable.
"""

from __future__ import annotations

import math
import os
import stat
from pathlib import Path

from divulge.errors import InputError, require

VARIABLE = "DIVULGE_BUDGET"
HINT = f"If you trust it, {VARIABLE}=10 in the environment allows ten times as much."
RATIO = 200
"""Most bytes that one byte of a file may become: arrays compress well, bombs better."""


def raised(amount: float) -> int:
    """A budget as the environment variable raises it."""
    text = os.environ.get(VARIABLE, "1")
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    require(0.0 < factor < 1e6, f"{VARIABLE} must be a number above 0, such as 10. Found {text!r}.")
    return int(amount * factor)


def unpacked(size: int, floor: int) -> int:
    """Most bytes that a file of this size may unpack to."""
    return raised(max(floor, RATIO * size))


def half_of_memory() -> int:
    """Half of what this machine has, in bytes; of 16 GiB where it does not say."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        whole = 16 << 30
    return whole // 2


def require_file(path: Path) -> None:
    """InputError unless a path leads to a regular file: no folder, device, pipe or socket."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise InputError(f"There is no file {path}.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"Cannot read {path}: {getattr(error, 'strerror', error)}.") from error
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
    }
    require(
        stat.S_ISREG(mode),
        f"Cannot read {path}: it is {kinds.get(stat.S_IFMT(mode), 'something else')}, not a file.",
    )


def require_folder(path: Path) -> None:
    """InputError unless everything in a folder is a file or a folder, and no link leads out of it.

    Hidden ones are looked at too.
    """
    root = path.resolve()
    for found in sorted(path.rglob("*")):
        try:
            target = found.resolve()
        except (OSError, RuntimeError):
            raise InputError(
                f"Cannot read {found}: it is a link that cannot be followed."
            ) from None
        require(
            target.is_relative_to(root),
            f"Cannot read {found}: it is a link that leads out of its folder. Copy what it leads "
            "to into the folder (cp -rL).",
        )
        if not found.is_dir():
            require_file(found)
