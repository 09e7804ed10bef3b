"""Print the tables of docs/evidence again and keep what was printed: ``make reprint``.

    python docs/scripts/reprint.py [PAGE ...] [--stale] [--list]

A page says above a table where it comes from: ``<!-- printed: python experiments/zero_run.py -->``.
This runs each such command in the folder of the project, one thread, and keeps its output in
docs/evidence/printed with the date, the versions, the CPU time and a digest of the code that the
script can reach. ``--stale`` runs only what has no output yet or whose code has changed since;
``--list`` runs nothing, says how things stand, and ends with 1 if anything is stale. A test holds
every number of such a table against the output (``tests/test_printed.py``).
"""

from __future__ import annotations

import argparse
import ast
import datetime
import hashlib
import importlib.metadata
import os
import platform
import re
import resource
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from divulge.selftest.uses import Symbol, digest_of

ROOT = Path(__file__).resolve().parents[2]
EVIDENCE = ROOT / "docs" / "evidence"
KEPT = EVIDENCE / "printed"
MARK = re.compile(r"^<!-- printed: (python \S+\.py.*) -->$", re.MULTILINE)
VERSIONS = ("numpy", "scipy", "scikit-learn", "numba", "torch")


@dataclass(frozen=True)
class Printed:
    """A command, what it printed, and by which code."""

    command: str

    @property
    def path(self) -> Path:
        words = self.command.removeprefix("python ").replace(".py", "")
        return KEPT / (re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") + ".txt")

    @property
    def script(self) -> Path:
        return ROOT / shlex.split(self.command)[1]

    def digest(self) -> str:
        """Of the script, of the scripts beside it that it imports, and of what they reach."""
        found, starts = hashlib.sha256(), set()
        for path in sorted(scripts(self.script)):
            found.update(ast.dump(ast.parse(path.read_text())).encode())
            starts |= set(named(path))
        found.update(digest_of(frozenset(starts)).encode())
        return found.hexdigest()[:16]

    def standing(self) -> str:
        """``never printed``, ``stale`` or ``holds``."""
        if not self.path.is_file():
            return "never printed"
        return "holds" if f"\n# code: {self.digest()}\n" in self.path.read_text() else "stale"

    def print_again(self) -> None:
        """Run it; nothing is kept of a command that fails."""
        words = [sys.executable, *shlex.split(self.command)[1:]]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200", "TERM": "dumb"}
        code, began = self.digest(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.keep(done.stdout, code, f"{sum(ended[:2]) - sum(began[:2]):.0f} CPU s")

    def keep(self, output: str, code: str, cost: str) -> None:
        """Write down what was printed just now, by which code, and what it took."""
        held = {d.name: d.version for d in importlib.metadata.distributions()}
        versions = [f"{name} {held[name]}" for name in VERSIONS if name in held]
        head = (
            f"# {self.command}",
            f"# code: {code}",
            f"# {datetime.date.today()}, Python {platform.python_version()}, {', '.join(versions)}",
            f"# {cost}",
        )
        lines = [line.rstrip() for line in output.splitlines()]
        KEPT.mkdir(exist_ok=True)
        self.path.write_text("\n".join((*head, "", *lines)) + "\n")
        print(f"{self.path.relative_to(ROOT)}: {cost}", flush=True)


def scripts(path: Path) -> set[Path]:
    """A script, and the scripts of the same folder that it imports, however far."""
    found, waiting = set(), [path]
    while waiting:
        here = waiting.pop()
        if here not in found and here.is_file():
            found.add(here)
            tree = ast.parse(here.read_text())
            for node in ast.walk(tree):
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.module:
                    names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
                waiting += [here.with_name(f"{name.split('.')[-1]}.py") for name in names]
    return found


def named(path: Path) -> list[Symbol]:
    """What a script names of divulge; ``divulge.membership`` and its like by where they live.

    One that starts the command ``divulge`` can reach everything that the package offers.
    """
    import divulge

    tree, found = ast.parse(path.read_text()), []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("divulge"):
            found += [(str(node.module), alias.name) for alias in node.names]
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "divulge"
            and node.attr in divulge._NAMES
        ):
            found.append((divulge._NAMES[node.attr], node.attr))
        elif isinstance(node, ast.Constant) and node.value == "divulge":
            found += [(place, name) for name, place in divulge._NAMES.items()]
    places = divulge._NAMES
    return [(places[n], n) if m == "divulge" and n in places else (m, n) for m, n in found]


def commands(pages: list[str]) -> list[Printed]:
    """Those of the pages named, or of all; each once."""
    texts = [
        path.read_text()
        for path in sorted(EVIDENCE.glob("*.md"))
        if not pages or path.stem in {Path(page).stem for page in pages}
    ]
    found = dict.fromkeys(command for text in texts for command in MARK.findall(text))
    return [Printed(command) for command in found]


def main() -> None:
    """Print those of the pages named again, or of all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    parser.add_argument("--stale", action="store_true", help="Only what is stale or missing.")
    parser.add_argument("--list", action="store_true", help="Run nothing; 1 if anything is stale.")
    given = parser.parse_args()
    chosen = commands(given.pages)
    if given.list:
        standings = {each: each.standing() for each in chosen}
        for each, standing in standings.items():
            print(f"{standing:14} {each.command}")
        raise SystemExit(any(standing != "holds" for standing in standings.values()))
    for each in chosen:
        if not given.stale or each.standing() != "holds":
            each.print_again()


if __name__ == "__main__":
    main()
