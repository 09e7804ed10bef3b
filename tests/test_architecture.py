"""Imports point one way, names are what is exported, and importing is cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import divulge
from divulge.games import registry

SOURCE = Path(divulge.__file__).parent
# A room may import from rooms of a smaller number only, or from itself.
LEVELS = (
    ("errors", "types"),
    ("text",),
    ("data",),
    ("result",),
    ("curves", "trials", "work"),
    ("bounds", "comparison", "exposure", "models"),
    ("attacks", "generators", "mechanisms", "posterior", "shift"),
    ("crosschecks", "drawn", "proof"),
    ("games",),
    ("audits", "claims", "demo", "integrations", "selftest"),
    ("report",),
    ("cli",),
    ("__main__",),
)
GAMES = {path.name for path in (SOURCE / "games").iterdir() if path.is_dir()}
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}


def modules() -> list[Path]:
    return [p for p in sorted(SOURCE.rglob("*.py")) if p != SOURCE / "__init__.py"]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """Rooms imported when the module is loaded (imports inside functions are lazy by design)."""
    found = set()
    for node in tree(path).body:
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "divulge" and len(parts) > 1 and not parts[1].startswith("__"):
                found.add(parts[1])
    return found & set(LEVEL)


def test_imports_point_one_way():
    assert modules()
    for path in modules():
        own = room(path)
        assert own in LEVEL, f"{own} is not a room: add it here and to ARCHITECTURE.md"
        for other in imported_rooms(path) - {own}:
            assert LEVEL[other] < LEVEL[own], f"{path.name} ({own}) imports {other}"


def test_no_game_imports_another():
    inside = [p for p in modules() if room(p) == "games" and p.parent != SOURCE / "games"]
    assert inside
    for path in inside:
        own = path.relative_to(SOURCE).parts[1]
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
                others = [n.split(".")[2] for n in names if n.startswith("divulge.games.")]
                assert set(others) & GAMES <= {own}, f"{path} imports {others}"


def test_no_junk_drawer():
    assert not [p for p in modules() if p.stem in ("utils", "misc", "helpers", "common")]


def test_modules_say_what_they_are_and_stay_short():
    assert [p for p in modules() if not ast.get_docstring(tree(p))] == []
    assert [p for p in modules() if len(p.read_text().splitlines()) > 400] == []


@pytest.mark.parametrize(
    "name", ["divulge", "divulge.bounds", "divulge.mechanisms", "divulge.selftest", "divulge.shift"]
)
def test_exported_names_exist_and_are_sorted(name):
    module = __import__(name, fromlist=["_"])
    exported = list(module.__all__)
    assert len(exported) == len(set(exported))
    for item in exported:
        assert getattr(module, item) is not None


def test_every_room_is_in_the_architecture_page():
    page = (SOURCE.parents[1] / "ARCHITECTURE.md").read_text()
    for path in modules():
        assert f"`{room(path)}" in page or room(path) == "__main__", room(path)


def test_import_loads_nothing_heavy():
    code = (
        "import sys, divulge; "
        "heavy = {'numba', 'scipy', 'sklearn', 'pandas', 'torch', 'pyarrow', 'altair', 'numpy'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_name_has_one_meaning():
    """Classes of one name, and files of one name that are not a room's usual part."""
    usual = {"__init__", "base", "read", "play", "findings", "registry", "same_records", "demo"}
    usual |= {game.name for game in registry.BUILT_IN} | {"counting", "shadows"}
    stems: dict[str, list[str]] = {}
    classes: dict[str, list[str]] = {}
    for path in modules():
        stems.setdefault(path.stem, []).append(str(path.relative_to(SOURCE)))
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes.setdefault(node.name, []).append(path.stem)
    assert {n: p for n, p in classes.items() if len(p) > 1} == {}
    assert {s: p for s, p in stems.items() if len(p) > 1 and s not in usual} == {}


def test_nobody_asks_which_game_it_is():
    """What differs from game to game comes from the registry, not from comparing names."""
    names = {game.name for game in registry.BUILT_IN}
    for path in modules():
        if room(path) not in ("report", "cli", "claims", "result"):
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Compare):
                values = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
                assert not names & {v for v in values if isinstance(v, str)}, path
