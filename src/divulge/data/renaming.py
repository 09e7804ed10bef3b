"""The word ``rename`` of public functions, and elements of lists where columns are named.

Every table of the call is then read through a ``TableView``. A function that is decorated has the
word in its signature and needs to do nothing else about it.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from divulge.data import stored, tables, views
from divulge.data.views import OPTION, TableView
from divulge.errors import require

P = ParamSpec("P")
R = TypeVar("R")

TABLES = ("data", "scores", "members", "nonmembers", "generated", "reference", "gradients",
          "heldout", "population")  # fmt: skip
"""Words for tables of records."""
SEVERAL = ("gradients",)
"""Those that take a list of tables."""
COLUMNS = ("columns", "truth", "score", "features", "label", "text", "protected", "jointly",
           "target", "proxy", "target_loss", "helper_loss", "propensity", "reference_score",
           "column", "document", "value", "unit", "id", "group", "versions",
           "copies", "shadow_columns")  # fmt: skip
"""Words for columns."""


def renaming(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function read its tables under the names that ``rename`` gives their columns."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # which names the function in its own error
        named = [name for word in COLUMNS for name in _words(given.get(word))]
        sources = {word: given[word] for word in TABLES if given.get(word) is not None}
        seen = viewed(sources, given.get("rename"), named)
        if all(seen[word] is given[word] for word in sources):
            return function(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        bound.arguments.update(seen)
        return function(*bound.args, **bound.kwargs)

    return called


def viewed(
    given: Mapping[str, Any], rename: Mapping[str, str] | None, named: Iterable[str | None]
) -> dict[str, Any]:
    """The tables as views, where a column is renamed or an element is named; None is left out."""
    sources = {word: source for word, source in given.items() if source is not None}
    elements = tuple(dict.fromkeys(name for name in named if name and views.is_element(name)))
    asked = dict(rename or {})
    if not asked and not elements:
        return dict(sources)
    if asked:
        _check(asked, [one for word, s in sources.items() for one in _each(word, s)])
    made = {}
    for word, source in sources.items():
        every = [TableView(one, asked, elements) for one in _each(word, source)]
        made[word] = every if word in SEVERAL else every[0]
    return made


def pairs(given: Iterable[str], option: str = "--map") -> dict[str, str]:
    """OLD=NEW, as typed; a name may hold further equals signs on the left."""
    found: dict[str, str] = {}
    for text in given:
        old, equals, new = text.rpartition("=")
        require(
            bool(equals and old and new),
            f"{option} is OLD=NEW, a column and what it is to be called. Found {text!r}.",
        )
        require(old not in found, f"{option} names the column {old!r} twice.")
        found[old] = new
    return found


def _check(rename: Mapping[str, str], sources: Iterable[Any]) -> None:
    """InputError for a column that no table has, with the nearest one."""
    known = list(dict.fromkeys(c for source in sources for c in _columns(source)))
    for old, new in rename.items():
        require(
            isinstance(old, str) and isinstance(new, str) and bool(new),
            f"{OPTION} takes names of columns. Found {old!r} and {new!r}.",
        )
        if old not in known and views.base(old) not in known:
            tables.require_columns(_Known(known), [old], f"{OPTION}: the input")


class _Known:
    def __init__(self, columns: list[str]) -> None:
        self.columns = columns


def _columns(source: Any) -> list[str]:
    if isinstance(source, str | os.PathLike):
        return stored.open_table(Path(source)).columns
    return list(tables.read(source).columns)


def _each(word: str, given: Any) -> list[Any]:
    return list(given) if word in SEVERAL else [given]


def _words(given: Any) -> Iterator[str]:
    """The names in an argument: one, or several."""
    if isinstance(given, str):
        yield given
    elif isinstance(given, list | tuple):
        yield from (word for word in given if isinstance(word, str))
