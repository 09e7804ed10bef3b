"""Deliberate errors, each applied in memory: what the self-test must see.

A mutation rewrites a piece of one function's source, compiles it in the function's own module and
puts the new code into the function object, so that everybody who imported it by name has it, too.
Compiled loops are run as plain Python meanwhile.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mutation:
    """In ``where`` (module:function or module:Class.function) ``old`` becomes ``new``."""

    name: str
    where: str
    old: str
    new: str
    sees: tuple[str, ...]
    """Parts of the labels of the rows that it affects."""
    quick: bool = True
    """Whether rows of the quick form see it."""
    cheap: bool = False
    """Whether exact checks see it within a second: then it is tried in ``make test``."""


def _target(where: str) -> tuple[Any, Any, Any]:
    """The module, the function as it stands there, and the plain function behind it."""
    module_name, _, path = where.partition(":")
    module = importlib.import_module(module_name)
    found: Any = module
    for part in path.split("."):
        found = inspect.getattr_static(found, part)
    plain = found
    if isinstance(plain, property):
        plain = plain.fget
    plain = getattr(plain, "py_func", plain)
    return module, found, inspect.unwrap(plain)


def _rewritten(function: Any, old: str, new: str) -> Any:
    """The code of the function with ``old`` replaced, compiled under the same names."""
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times in {function}"
    tree = ast.parse(source.replace(old, new))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    flags = function.__code__.co_flags & 0x1000000  # annotations stay unevaluated
    names: dict[str, Any] = {}
    code = compile(tree, function.__code__.co_filename, "exec", flags=flags, dont_inherit=True)
    exec(code, function.__globals__, names)
    return names[function.__name__].__code__


@contextmanager
def applied(mutation: Mutation) -> Iterator[None]:
    """The error is there inside the block, and nowhere afterwards."""
    module, found, function = _target(mutation.where)
    before = function.__code__
    compiled: dict[str, Any] = {}
    if hasattr(found, "py_func"):
        compiled = {k: v for k, v in vars(module).items() if hasattr(v, "py_func")}
        for name, dispatcher in compiled.items():
            setattr(module, name, dispatcher.py_func)
    function.__code__ = _rewritten(function, mutation.old, mutation.new)
    _forget()
    try:
        yield
    finally:
        function.__code__ = before
        for name, dispatcher in compiled.items():
            setattr(module, name, dispatcher)
        _forget()


def _forget() -> None:
    """Nothing that was computed with other code may be remembered."""
    for name, module in list(sys.modules.items()):
        if name.startswith("divulge."):
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()
