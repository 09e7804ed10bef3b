"""What names code: the content of a module's source, and of what it imports from beside it.

Covered are the file of the module, all files of its package, and, where it is not installed, every
module and package in the same folder that these import, and so on. What code reads from elsewhere
(weights in a file, a server, installed packages) is not part of its source.
"""

from __future__ import annotations

import ast
import hashlib
import site
import sys
import sysconfig
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

_KNOWN: WeakKeyDictionary[ModuleType, str | None] = WeakKeyDictionary()


def remembered(module: ModuleType) -> str | None:
    """The digest when this module object was first seen: an edit later does not change what runs.

    None for a module without source.
    """
    if module not in _KNOWN:
        _KNOWN[module] = digest(module)
    return _KNOWN[module]


def digest(module: ModuleType) -> str | None:
    """SHA-256 of the names and contents of all files that are covered; None without a source."""
    place = _place(module)
    if place is None:
        return None
    found = hashlib.sha256()
    for path in sorted(_covered(place)):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{path.relative_to(place.parent).as_posix()} {content}\n".encode())
    return found.hexdigest()


def owner(thing: Any) -> str | None:
    """The module that a function, a class or the class of an object was written in."""
    name = getattr(thing, "__module__", None) or type(thing).__module__
    return name if isinstance(name, str) else None


def of(*things: Any) -> list[str | None]:
    """The digests of the modules that functions, or their partial applications, were written in."""
    found = []
    for thing in things:
        while isinstance(thing, partial):
            thing = thing.func
        module = sys.modules.get(owner(thing) or "")
        found.append(None if module is None else remembered(module))
    return found


def _place(module: ModuleType) -> Path | None:
    """The file of a module that stands alone, or the folder of its outermost package."""
    origin = getattr(module, "__file__", None)
    if origin is None or not origin.endswith(".py"):
        return None
    path = Path(origin).resolve()
    steps = module.__name__.count(".") + (path.name == "__init__.py")
    place = path if steps == 0 else path.parents[steps - 1]
    return place if place.exists() else None


def _covered(place: Path) -> set[Path]:
    """All files, from the outermost name on."""
    folder = place.parent
    names, files = [place.name.removesuffix(".py")], set()
    seen = set(names)
    while names:
        name = names.pop()
        alone, package = folder / f"{name}.py", folder / name
        own = [alone] if alone.is_file() else []
        own += [p for p in package.rglob("*.py") if p.is_file()] if package.is_dir() else []
        files.update(own)
        if not _installed(folder):
            further = {n for path in own for n in _imported(path)} - seen
            seen |= further
            names += sorted(further)
    return files


def _imported(path: Path) -> set[str]:
    """The outermost names that a file imports, wherever in it."""
    try:
        nodes = ast.walk(ast.parse(path.read_bytes()))
    except (SyntaxError, ValueError, RecursionError):
        return set()
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return {name.partition(".")[0] for name in found}


def _installed(folder: Path) -> bool:
    paths = {*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages()}
    return folder in {Path(p).resolve() for p in paths}
