"""Benchmarks, experiments and examples name only what divulge has: else they break unseen."""

from __future__ import annotations

import ast
import importlib
import inspect
from typing import Any

import pages
import pytest

FOLDERS = ("benchmarks", "experiments", "examples", "docs/scripts")
SCRIPTS = [path for folder in FOLDERS for path in sorted((pages.ROOT / folder).glob("*.py"))]


def imported(tree: ast.AST) -> dict[str, tuple[str, str]]:
    """What is imported from divulge, wherever it is: the module and the name there."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "divulge":
            for alias in node.names:
                found[alias.asname or alias.name] = (str(node.module), alias.name)
    return found


def resolved(module: str, name: str) -> Any:
    found = importlib.import_module(module)
    if hasattr(found, name):
        return getattr(found, name)
    return importlib.import_module(f"{module}.{name}")


def unknown_words(tree: ast.AST, names: dict[str, Any]) -> list[str]:
    """Keywords of calls that the function called does not have."""
    wrong = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
            continue
        if isinstance(node.func, ast.Name):
            called = names.get(node.func.id)
        else:
            owner = node.func.value
            held = names.get(owner.id) if isinstance(owner, ast.Name) else None
            called = getattr(held, node.func.attr, None) if inspect.ismodule(held) else None
        if not inspect.isfunction(called):
            continue
        parameters = inspect.signature(called).parameters.values()
        if any(p.kind is p.VAR_KEYWORD for p in parameters):
            continue
        known = {p.name for p in parameters}
        wrong += [
            f"{called.__name__}({k.arg}=)" for k in node.keywords if k.arg not in {None, *known}
        ]
    return wrong


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_what_a_script_names_of_divulge_is_there(path):
    tree = ast.parse(path.read_text())
    names = {name: resolved(*place) for name, place in imported(tree).items()}
    import divulge

    assert unknown_words(tree, {**names, "divulge": divulge}) == []


def test_a_name_and_a_keyword_that_are_gone_are_seen():
    tree = ast.parse("from divulge.proof import findings")
    with pytest.raises(ImportError):
        [resolved(*place) for place in imported(tree).values()]
    tree = ast.parse("from divulge import leakage\nleakage(1, reference=2, out=3)")
    names = {name: resolved(*place) for name, place in imported(tree).items()}
    assert unknown_words(tree, names) == ["leakage(out=)"]
