"""Which code a command has run, and a digest of it: a change elsewhere does not make it stale.

``divulge.selftest.uses`` follows every name, which is more than a command executes. Here it is
noted which functions of divulge were entered, by every process of the command; those that only show
what was found do not count. The digest is that of these functions as they are today, and of what
they name that is no function of its own: constants, classes, and compiled loops with all that those
can reach. A function that another one begins to call is seen, for its caller has changed.
"""

from __future__ import annotations

import ast
import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from divulge.selftest import uses
from divulge.selftest.uses import ALL, PACKAGE, ROOT, Symbol

TRACED = Path(__file__).resolve().parent / "traced"


def watched(environment: dict[str, str], into: Path) -> dict[str, str]:
    """An environment in which every Python process notes into a folder what it runs."""
    before = environment.get("PYTHONPATH")
    folders = os.pathsep.join([str(TRACED), *([before] if before else [])])
    told = {"PYTHONPATH": folders, "DIVULGE_SOURCE": str(ROOT), "DIVULGE_RAN": str(into)}
    return environment | told


def noted(folder: Path) -> frozenset[Symbol]:
    """What processes have noted in a folder."""
    lines = {line for path in folder.iterdir() for line in path.read_text().splitlines()}
    symbols = (_symbol(*line.split(" ", 1)) for line in lines)
    return frozenset(symbol for symbol in symbols if uses._file(symbol[0]))


def _symbol(place: str, name: str) -> Symbol:
    parts = [PACKAGE, *Path(place).with_suffix("").parts]
    return ".".join(p for p in parts if p != "__init__"), name


def written(ran: Iterable[Symbol]) -> str:
    """A line for each module."""
    modules: dict[str, set[str]] = defaultdict(set)
    for module, name in ran:
        modules[module].add(name)
    lines = [f"{module}: {' '.join(sorted(names))}" for module, names in sorted(modules.items())]
    return "\n".join(lines) + "\n"


def read(text: str) -> frozenset[Symbol]:
    """The same, from such lines."""
    lines = (line.split(": ", 1) for line in text.splitlines() if line)
    return frozenset((module, name) for module, names in lines for name in names.split())


def digest_of(ran: Iterable[Symbol]) -> str:
    """The SHA-256 of what was run, as it is today."""
    found = hashlib.sha256()
    for symbol in sorted(_with_what_they_name(ran)):
        told = uses._hashed(*symbol) if _is_there(symbol) else "is gone"
        found.update(f"{symbol} {told}\n".encode())
    return found.hexdigest()


def _with_what_they_name(ran: Iterable[Symbol]) -> set[Symbol]:
    """And constants, classes and compiled loops that they name, however far."""
    seen = {symbol for symbol in ran if not symbol[1].startswith("<")}  # part of a constant
    waiting = list(seen)
    while waiting:
        here = waiting.pop()
        for each in uses._named(*here) if _is_there(here) else ():
            symbol = uses._home(*each)
            if symbol is not None and symbol not in seen and not _plain_function(symbol):
                seen.add(symbol)
                waiting.append(symbol)
    return seen


def _is_there(symbol: Symbol) -> bool:
    """Whether there still is such a definition."""
    module, name = symbol
    return uses._file(module) is not None and (name == ALL or name in uses._module(module).defined)


def _plain_function(symbol: Symbol) -> bool:
    """Whether Python would have noted it, had it been run; a module as such counts as one."""
    module, name = symbol
    if name == ALL:
        return True
    statements = uses._module(module).defined[name]
    return all(isinstance(s, ast.FunctionDef) and not _compiled(s) for s in statements)


def _compiled(function: ast.FunctionDef) -> bool:
    return any("njit" in ast.dump(decorator) for decorator in function.decorator_list)
