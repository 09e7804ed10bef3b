"""How long until the first answer? Six newcomers (tests/test_journeys.py) beside a busy process.

    python benchmarks/first_answer.py [--busy 1] [--only scores forest ...]

Every command runs as it is typed, in a process of its own: the time is that of the start, of a
refusal that says which types to trust, where there is one, and of the audit. Training the model is
not part of it. ``--busy`` loops keep as many cores busy meanwhile. The seconds of the processor are
those of the commands alone, and do not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import inspect
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GOAL = 60.0
"""Seconds that a first answer may take."""


class Clock:
    """Runs commands, and adds up what they take."""

    def __init__(self) -> None:
        self.commands, self.seconds, self.processor, self.answer = 0, 0.0, 0.0, ""

    def run(self, *words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        typed = [sys.executable, "-m", "divulge", *map(str, words)]
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(typed, cwd=cwd, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.commands += 1
        self.seconds += time.perf_counter() - start
        self.processor += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.answer = (done.stdout.splitlines() or [""])[0].split(":")[0]
        return done


def turn() -> None:
    while True:
        pass


def journeys() -> dict[str, Callable[[Path], None]]:
    sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests")]
    import test_journeys

    tests = dict(inspect.getmembers(test_journeys, inspect.isfunction))
    names = {n: n.removeprefix("test_").replace("_", " ") for n in tests if n.startswith("test_")}
    order = sorted(names, key=lambda n: tests[n].__code__.co_firstlineno)
    return {names[n]: tests[n] for n in order}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--busy", type=int, default=1, help="loops that keep a core busy each")
    asked.add_argument("--only", nargs="*", default=[], help="journeys whose name has this word")
    given = asked.parse_args()
    found = journeys()
    import test_journeys

    busy = [multiprocessing.Process(target=turn, daemon=True) for _ in range(given.busy)]
    for one in busy:
        one.start()
    print("| a newcomer has | commands | seconds | of the processor | answer |")
    print("|---|---|---|---|---|", flush=True)
    slow = []
    for name, play in found.items():
        if given.only and not any(word in name for word in given.only):
            continue
        clock = Clock()
        test_journeys.run = clock.run
        with tempfile.TemporaryDirectory() as folder:
            try:
                play(Path(folder))
            except pytest.skip.Exception as missing:
                print(f"| {name} | | | | not run: {missing} |", flush=True)
                continue
        slow += [name] if clock.seconds > GOAL else []
        times = f"{clock.seconds:.1f} | {clock.processor:.1f}"
        print(f"| {name} | {clock.commands} | {times} | {clock.answer} |", flush=True)
    for one in busy:
        one.terminate()
    load = ", ".join(f"{v:.1f}" for v in os.getloadavg())
    print(f"{os.cpu_count()} cores, {given.busy} kept busy; load at the end: {load}")
    print(f"over {GOAL:.0f} s: {', '.join(slow) or 'none'}")


if __name__ == "__main__":
    main()
