"""Which code can affect a row, and a digest of it.

Starting from the class of the row's game, everything is followed that a definition names: in its
own module, through imports (also those inside a function), and by a text that names a module. What
a class holds counts whole. That is more than a game executes: a row may be called stale though
nothing changed for it. Comments and docstrings are no code, and ``report``, ``cli`` and
``integrations`` only show what was found.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from divulge.selftest.case import Case, Check
from divulge.selftest.readings import Reading

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT.name
SHOWING = ("report", "cli", "integrations")
START = (f"{PACKAGE}.selftest.games", "Games")
SHARED = (f"{PACKAGE}.selftest.readings", "Together")
ALL = "*"
"""The name for everything in a module."""
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_PLACE = re.compile(rf"{PACKAGE}(\.\w+)+\.?(:\w+)?")

Symbol = tuple[str, str]
"""A module, and a name in it."""


@dataclass(frozen=True)
class Module:
    """One file: what it defines, what it imports by which name, and what it does besides."""

    name: str
    defined: dict[str, tuple[ast.stmt, ...]]
    imported: dict[str, Symbol]
    loose: tuple[ast.stmt, ...]


def digest(case: Case | Check) -> str:
    """The SHA-256 of the code that a row can reach and of what it is, shortened.

    That is the game with its numbers, and the truth that its claims are held against.
    """
    what = case.play if isinstance(case, Case) else case.compute
    held = case.truth if isinstance(case, Case) else case.limit
    dealer = SHARED if isinstance(what, Reading) else START
    code = digest_of(frozenset(_homes(what)) | {dealer})
    told = f"{code} {_ADDRESS.sub('', repr(what))} {held if held is None else f'{held:.9g}'}"
    return hashlib.sha256(told.encode()).hexdigest()[:16]


@cache
def digest_of(starts: frozenset[Symbol]) -> str:
    """The same of the code that some definitions can reach."""
    found = hashlib.sha256()
    for module, name in sorted(reached(starts)):
        found.update(f"{module} {name} {_hashed(module, name)}\n".encode())
    return found.hexdigest()[:16]


def reached(starts: frozenset[Symbol]) -> frozenset[Symbol]:
    """The definitions that some definitions can reach, themselves included."""
    seen: set[Symbol] = set()
    waiting = list(starts)
    while waiting:
        symbol = _home(*waiting.pop())
        if symbol is not None and symbol not in seen:
            seen.add(symbol)
            waiting += _named(*symbol)
    return frozenset(seen)


def _homes(value: Any) -> set[Symbol]:
    """Where the game of a row and everything that it holds are defined."""
    if isinstance(value, functools.partial):
        parts = [value.func, *value.args, *value.keywords.values()]
    elif isinstance(value, tuple | list | frozenset):
        parts = list(value)
    elif isinstance(value, dict):
        parts = list(value.values())
    elif is_dataclass(value) and not isinstance(value, type):
        parts = [type(value), *(getattr(value, f.name) for f in fields(value))]
    else:
        named = value if hasattr(value, "__qualname__") else type(value)
        module = getattr(named, "__module__", None) or ""
        cells = [cell.cell_contents for cell in getattr(value, "__closure__", None) or ()]
        held = {home for cell in cells for home in _homes(cell)}
        own = {(module, named.__qualname__.split(".")[0])} if _file(module) else set()
        return held | own
    return {home for part in parts for home in _homes(part)}


def _home(module: str, name: str) -> Symbol | None:
    """Where a name that a module offers is defined; None outside this package."""
    for _ in range(10):
        if _file(f"{module}.{name}"):
            return f"{module}.{name}", ALL
        if not _file(module):
            return None
        own = _module(module)
        if name not in own.imported:
            return module, name if name in own.defined else ALL
        module, name = own.imported[name]
    return module, ALL


@cache
def _named(module: str, name: str) -> frozenset[Symbol]:
    """What a definition names, and what its module does besides defining."""
    own = _module(module)
    kept = [s for each in own.defined.values() for s in each] if name == ALL else own.defined[name]
    return frozenset(
        symbol for statement in (*own.loose, *kept) for symbol in _mentioned(statement, own)
    )


def _mentioned(statement: ast.stmt, own: Module) -> set[Symbol]:
    nodes = list(ast.walk(statement))
    imported = {**own.imported, **dict(_imports(nodes))}
    spoken: set[int] = set()
    found: set[Symbol] = set()
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = _as_module(imported.get(node.value.id))
            if module is not None:
                spoken.add(id(node.value))
                found.add((module, node.attr))
        elif isinstance(node, ast.Name) and id(node) not in spoken:
            if node.id in own.defined:
                found.add((own.name, node.id))
            elif node.id in imported:
                found.add(imported[node.id])
        elif isinstance(node, ast.Constant) and _PLACE.fullmatch(str(node.value)):
            found.update(_places(str(node.value)))
    return found


def _places(text: str) -> Iterator[Symbol]:
    """The modules that a text names: ``a.b``, ``a.b:c``, or all in a package: ``a.b.``."""
    module, _, name = text.partition(":")
    if text.endswith("."):
        folder = ROOT.joinpath(*module.rstrip(".").split(".")[1:])
        for path in sorted(folder.glob("*.py")):
            yield f"{module}{path.stem}", ALL
    elif name:
        yield module, name
    else:
        yield module, ALL


def _as_module(symbol: Symbol | None) -> str | None:
    """The module that an imported name is, if it is one."""
    if symbol is None:
        return None
    module, name = symbol
    if name == ALL:
        return module if _file(module) else None
    return f"{module}.{name}" if _file(f"{module}.{name}") else None


def _imports(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, Symbol]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname is not None or "." not in alias.name:
                    yield alias.asname or alias.name, (alias.name, ALL)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
            for alias in node.names:
                yield alias.asname or alias.name, (node.module or "", alias.name)


@cache
def _module(name: str) -> Module:
    tree = _tree(name)
    defined: dict[str, tuple[ast.stmt, ...]] = {}
    imported: dict[str, Symbol] = {}
    loose: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.dump(statement.test):
            continue
        if isinstance(statement, ast.Import | ast.ImportFrom):
            imported.update(_imports([statement]))
            continue
        names = list(_targets(statement))
        if not names and not _is_text(statement):
            loose.append(statement)
            imported.update(_imports(ast.walk(statement)))
        for each in names:
            defined[each] = (*defined.get(each, ()), statement)
    return Module(name, defined, imported, tuple(loose))


def _targets(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a module gives a meaning."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))


def _is_text(node: ast.AST) -> bool:
    """Whether a statement is a docstring."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


@cache
def _hashed(module: str, name: str) -> str:
    own = _module(module)
    kept = [s for each in own.defined.values() for s in each] if name == ALL else own.defined[name]
    lines = _code(module)
    text = "\n".join(
        line for s in (*own.loose, *kept) for line in lines[_first(s) : s.end_lineno] if line
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _first(statement: ast.stmt) -> int:
    """The line on which a statement begins, its decorators included, from 0."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)]) - 1


@cache
def _code(module: str) -> tuple[str, ...]:
    """The lines of a module without comments and docstrings."""
    text = _text(module)
    lines = text.splitlines()
    if "#" in text:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
    for node in _docstrings(_tree(module)):
        last = node.end_lineno or node.lineno
        lines[node.lineno - 1 : last] = [""] * (last - node.lineno + 1)
    return tuple(line.rstrip() for line in lines)


def _docstrings(tree: ast.Module) -> Iterator[ast.stmt]:
    """Texts that stand alone, wherever statements do."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        for name in ("body", "orelse", "finalbody", "handlers"):
            for child in getattr(node, name, ()) or ():
                if isinstance(child, ast.stmt | ast.ExceptHandler):
                    waiting.append(child)
                    if isinstance(child, ast.Expr) and _is_text(child):
                        yield child


def _text(module: str) -> str:
    path = _file(module)
    assert path is not None
    return path.read_text("utf-8")


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(_text(module))


@cache
def _file(name: str) -> Path | None:
    """The file of a module whose code can affect what is claimed."""
    words = name.split(".")
    if words[0] != PACKAGE or len(words) < 2 or words[1] in SHOWING:
        return None
    place = ROOT.joinpath(*words[1:])
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            return path
    return None
