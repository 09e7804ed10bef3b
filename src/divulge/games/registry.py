"""Every game by its name: the built-in ones, and those of other packages.

A package adds a game by an entry point of the group ``divulge.games`` whose name is the game's and
whose value is a ``Game``. Nothing of a game is imported before it is asked for, and a package that
cannot be used is named in a warning and left out.
"""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass
from typing import Any

from divulge.errors import InputError
from divulge.work import plugins

GROUP = "divulge.games"
NEIGHBOURS = ("added", "replaced")


@dataclass(frozen=True)
class Game:
    """Where a game lives: each place is ``module:name``, imported on first use; empty for none."""

    name: str
    function: str
    """What plays it and returns a Result."""
    command: str = ""
    """Its command, a function or a group of commands for typer."""
    presentation: str = ""
    """How the report and the terminal show it."""
    neighbours: str = ""
    """Its epsilon is of a record "added" (or left out), or "replaced" by another; empty: unsaid."""

    def load(self, part: str) -> Any:
        """The function, the command or the presentation; None where there is none."""
        place = getattr(self, part)
        if not place:
            return None
        module, _, name = place.partition(":")
        try:
            return getattr(importlib.import_module(module), name)
        except Exception as error:  # another package's module may fail in any way
            raise InputError(
                f"Cannot load the {part} of the game {self.name!r} from {place!r}: "
                f"{type(error).__name__}: {error}"
            ) from error


def _built_in(name: str, neighbours: str, function: str = "", command: str = "command") -> Game:
    return Game(
        name,
        f"divulge.games.{name}:{function or name}",
        f"divulge.cli.{name}:{command}",
        f"divulge.report.{name}:PRESENTATION",
        neighbours,
    )


BUILT_IN = (
    _built_in("membership", "replaced"),
    _built_in("attribute", "replaced"),
    _built_in("synthetic", "replaced"),
    _built_in("retraining", "added"),
    _built_in("leakage", ""),
    _built_in("canaries", "added", "audit", "app"),
    _built_in("lineup", "replaced"),
)
BY_NAME = {game.name: game for game in BUILT_IN}


def games() -> tuple[Game, ...]:
    """All games, the built-in ones first; a warning for each that cannot be used."""
    found = dict(BY_NAME)
    for entry in plugins.entries(GROUP):
        try:
            if entry.name in found:
                raise InputError(
                    f"The game {entry.name!r} of {plugins.package(entry)} is left out: another "
                    "game has that name."
                )
            found[entry.name] = plugins.load(entry, Game, "game")
        except InputError as problem:
            warnings.warn(str(problem), stacklevel=2)
    return tuple(found.values())


def find(name: str) -> Game | None:
    """The game of that name, or None; other packages are asked last."""
    return BY_NAME.get(name) or next((game for game in games() if game.name == name), None)


def neighbours(name: str) -> str:
    """Whether a game is about a record added or replaced; empty if it does not say so."""
    game = find(name)
    return "" if game is None else game.neighbours


def presentation(name: str) -> Any:
    """How a game is shown, or None: a result may come from a game that is not installed here."""
    game = find(name)
    try:
        return None if game is None else game.load("presentation")
    except InputError as problem:
        if name in BY_NAME:
            raise
        warnings.warn(str(problem), stacklevel=2)
        return None
