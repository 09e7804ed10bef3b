"""Print the tables of docs/evidence again and keep what was printed: ``make reprint``.

    python docs/scripts/reprint.py [PAGE ...] [--stale] [--jobs N] [--minutes N] [--list] [--paste]

A page says above a table where it comes from: ``<!-- printed: python experiments/zero_run.py -->``.
This runs each such command in the folder of the project, one thread, and keeps its output in
docs/evidence/printed with the date, the versions, the CPU time and a digest of the code: of what
was run (``ran.py``; kept beside the output), or, of benchmarks of speed, of what they can reach,
since noting what is run takes a tenth of the time. ``--stale`` runs only what has no output yet or
whose code has changed since, and first what took least; ``--list`` runs nothing, says how things
stand, and ends with 1 if anything is stale.

A mark that ends in ``| table 2`` is followed by the second table that the command printed, to the
letter: it is pasted whenever the command was run, or by ``--paste``. Below other marks stands what
somebody made of the output. A test holds the first kind against the output, and every number of the
second (``tests/test_printed.py``).
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
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import ran
from drawn_tables import Drawn, drawn_tables

from divulge.selftest.uses import Symbol, digest_of

ROOT = Path(__file__).resolve().parents[2]
EVIDENCE = ROOT / "docs" / "evidence"
KEPT = EVIDENCE / "printed"
MARK = re.compile(
    r"^<!-- printed: (?P<command>python \S+\.py[^|\n]*?)(?: \| table (?P<table>\d+))? -->$",
    re.MULTILINE,
)
NOT_TIMED = ("attacks", "attribute", "lineup", "membership", "synthetic")
"""Benchmarks that compare what is found, not how long it takes."""
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

    @property
    def beside(self) -> Path:
        """What of divulge it ran, where that was noted."""
        return self.path.with_suffix(".ran")

    @property
    def is_timed(self) -> bool:
        """Whether it compares times, which noting what is run would change."""
        return self.script.parent.name == "benchmarks" and self.script.stem not in NOT_TIMED

    def digest(self) -> str:
        """Of the script, scripts beside it that it imports, their files, and the code behind them.

        That is what was run, where that is known, else what they can reach.
        """
        found, starts = hashlib.sha256(), set()
        for path in sorted(scripts(self.script)):
            tree = ast.parse(path.read_text())
            found.update(ast.dump(tree).encode())
            found.update(b"".join(file.read_bytes() for file in files(tree)))
            starts |= set(named(path))
        if self.beside.is_file():
            found.update(ran.digest_of(ran.read(self.beside.read_text())).encode())
        else:
            found.update(digest_of(frozenset(starts)).encode())
        return found.hexdigest()[:16]

    def source(self) -> str:
        """A digest of every file of divulge, of the script and of those beside it."""
        found = hashlib.sha256()
        for path in sorted({*(ROOT / "src").rglob("*.py"), *scripts(self.script)}):
            found.update(path.read_bytes())
        return found.hexdigest()

    def standing(self) -> str:
        """``never printed``, ``stale`` or ``holds``."""
        if not self.path.is_file():
            return "never printed"
        return "holds" if f"\n# code: {self.digest()}\n" in self.kept() else "stale"

    def seconds(self) -> float:
        """The CPU time of the last run; none if there was none."""
        told = re.search(r"^# (\d+) CPU s", self.kept(), re.MULTILINE)
        return float(told[1]) if told else 0.0

    def kept(self) -> str:
        """What was printed last; nothing if it never was."""
        return self.path.read_text() if self.path.is_file() else ""

    def tables(self) -> list[Drawn]:
        """The tables in it."""
        return drawn_tables(self.kept())

    def print_again(self) -> None:
        """Run it; nothing is kept of a command that fails."""
        words = [sys.executable, *shlex.split(self.command)[1:]]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "300", "TERM": "dumb"}
        before = self.source()
        with tempfile.TemporaryDirectory() as folder:
            into = Path(folder)
            if not self.is_timed:
                environment = ran.watched(environment, into)
            with subprocess.Popen(
                words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
            ) as run:
                assert run.stdout is not None
                output = run.stdout.read()
                _, status, used = os.wait4(run.pid, 0)
                run.returncode = os.waitstatus_to_exitcode(status)
            if run.returncode:
                raise subprocess.CalledProcessError(run.returncode, words)
            symbols = ran.noted(into)
        if self.source() != before:
            print(f"{self.command}: the code changed while it ran; not kept", flush=True)
            raise subprocess.CalledProcessError(1, words)
        KEPT.mkdir(exist_ok=True)
        self.beside.unlink(missing_ok=True)
        if symbols:
            self.beside.write_text(ran.written(symbols))
        self.keep(output, self.digest(), f"{used.ru_utime + used.ru_stime:.0f} CPU s")

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


def files(tree: ast.Module) -> list[Path]:
    """Files of the project that a script names from its root, as ``docs/evidence/ledger.jsonl``.

    What lies in ``out`` is what it writes.
    """
    texts = {str(n.value) for n in ast.walk(tree) if isinstance(n, ast.Constant)}
    texts = {text for text in texts if not text.startswith("out/")}
    places = [ROOT / text for text in sorted(texts) if re.fullmatch(r"\w+(/[\w.-]+)+", text)]
    return [place for place in places if place.is_file()]


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


def paths(pages: list[str]) -> list[Path]:
    """The pages named, or all."""
    named = {Path(page).stem for page in pages}
    return [p for p in sorted(EVIDENCE.glob("*.md")) if not named or p.stem in named]


def commands(pages: list[str]) -> list[Printed]:
    """Those of the pages named, or of all; each once."""
    marks = (mark for path in paths(pages) for mark in MARK.finditer(path.read_text()))
    return [Printed(command) for command in dict.fromkeys(mark["command"] for mark in marks)]


def pasted(text: str) -> str:
    """A page with what was printed last below the marks that name a table."""
    return "".join(_pasted(text))


def _pasted(text: str) -> Iterator[str]:
    done = 0
    for mark in MARK.finditer(text):
        tables = Printed(mark["command"]).tables() if mark["table"] else []
        if not tables:
            continue
        below = re.compile(r"\n+(?:\|.*\n)*").match(text, mark.end())
        assert below is not None
        lines = tables[int(mark["table"]) - 1].markdown()
        yield text[done : mark.end()] + "\n" + "".join(f"{line}\n" for line in lines)
        done = below.end()
        yield "" if done == len(text) or text.startswith("\n", done) else "\n"
    yield text[done:]


def paste(pages: list[str]) -> None:
    """Write what was printed last into the pages."""
    for path in paths(pages):
        before = path.read_text()
        after = pasted(before)
        if after != before:
            path.write_text(after)
            print(f"{path.relative_to(ROOT)}: tables pasted", flush=True)


def run(chosen: list[Printed], jobs: int, minutes: float | None) -> bool:
    """One after the other, so many at a time; after so long nothing is begun. Whether all ended."""
    until = None if minutes is None else time.monotonic() + 60.0 * minutes

    def one(each: Printed) -> bool:
        if until is not None and time.monotonic() >= until:
            return True
        try:
            each.print_again()
        except subprocess.CalledProcessError as error:
            print(f"{each.command}: ended with {error.returncode}", flush=True)
            return False
        return True

    with ThreadPoolExecutor(jobs) as pool:
        return all(list(pool.map(one, chosen)))


def main() -> None:
    """Print those of the pages named again, or of all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    parser.add_argument("--stale", action="store_true", help="Only what is stale or missing.")
    parser.add_argument("--jobs", type=int, default=1, help="So many commands at a time.")
    parser.add_argument("--minutes", type=float, help="Begin nothing after so long.")
    parser.add_argument("--list", action="store_true", help="Run nothing; 1 if anything is stale.")
    parser.add_argument("--paste", action="store_true", help="Run nothing; paste what was printed.")
    given = parser.parse_args()
    chosen = commands(given.pages)
    if given.list:
        standings = {each: each.standing() for each in chosen}
        for each, standing in standings.items():
            print(f"{standing:14} {each.command}")
        raise SystemExit(any(standing != "holds" for standing in standings.values()))
    wanted = [e for e in chosen if not given.stale or e.standing() != "holds"]
    ended = given.paste or run(sorted(wanted, key=Printed.seconds), given.jobs, given.minutes)
    paste(given.pages)
    raise SystemExit(not ended)


if __name__ == "__main__":
    main()
