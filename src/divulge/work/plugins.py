"""What other packages add through entry points: found by group and name, and checked once."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from divulge.errors import InputError

T = TypeVar("T")


def entries(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, in a fixed order; nothing is imported."""
    return tuple(sorted(entry_points(group=group), key=lambda e: (e.name, package(e))))


def package(entry: EntryPoint) -> str:
    """Who brings it."""
    return f"the package {entry.dist.name!r}" if entry.dist is not None else "an unknown package"


def load(entry: EntryPoint, kind: type[T], noun: str) -> T:
    """What the entry point names: a ``kind`` whose own name is that of the entry point."""
    where = f"the {noun} {entry.name!r} of {package(entry)}"
    try:
        found = entry.load()
    except Exception as error:  # another package's module may fail in any way
        raise InputError(f"Cannot load {where}: {type(error).__name__}: {error}") from error
    if not isinstance(found, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise InputError(
            f"Cannot use {where}: it is not {article} {kind.__name__} but {type(found).__name__}."
        )
    own = getattr(found, "name", None)
    if own != entry.name:
        raise InputError(
            f"Cannot use {where}: it calls itself {own!r}. Both names must be the same."
        )
    return found
