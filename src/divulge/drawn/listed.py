"""Lists that stand in a file of text, one entry per line."""

from __future__ import annotations

from pathlib import Path

from divulge.data import budgets
from divulge.errors import InputError, require

_LARGEST = 1 << 26


def lines(path: Path) -> list[str]:
    """All lines of a file, without their ends; InputError where it cannot be read."""
    budgets.require_file(path)
    most = budgets.raised(_LARGEST)
    require(path.stat().st_size <= most, f"{path} has more than {most} bytes. {budgets.HINT}")
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text.") from None
