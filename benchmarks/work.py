"""What does it cost to hand work to other processes? Wall time of tasks of known length.

    python benchmarks/work.py [--tasks 200] [--seconds 0.05] [--jobs 2]
                              [--backends serial loky dask ray] [--rows 5000]

A task sleeps and returns a number, so the cores are not what is measured. ``start-up`` is what one
task takes beyond its own length: new processes, connection, check of versions. ``all tasks`` is the
wall time of all of them over that of the loop in one process; ``ideal`` is one over the number of
processes; ``per task`` is what is left of the difference, per task and without the start-up, over
the length of a task. Backends whose extra is not installed are left out.

The second table is real work: the generator ``trees`` learns from ``--rows`` records of 24 columns,
a forest per column, and draws as many. All is relative to one process: the wall time, the CPU time
of the tasks in all processes and in the busiest one (what the wall time comes to where every
process has a core to itself), and the wall time once more from the pieces (``kept``). With 0 rows
it is left out.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from divulge.data import tables
from divulge.data.tables import Frame
from divulge.errors import MissingExtra
from divulge.generators.base import Training
from divulge.generators.trees import SequentialTrees
from divulge.work import BACKENDS, Engine
from divulge.work.pieces import Pieces

CONSOLE = Console(width=200)


def task_of(seconds: float):
    def work(task: int) -> int:
        import time

        time.sleep(seconds)
        return task

    return work


def wall(engine: Engine, seconds: float, tasks: int) -> float:
    start = time.perf_counter()
    assert list(engine.run(task_of(seconds), range(tasks))) == list(range(tasks))
    return time.perf_counter() - start


def mixed(rows: int) -> Frame:
    """Numbers with two decimals, whole numbers and words, eight of each, all dependent."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(rows, 4))
    columns: dict[str, Any] = {}
    for j in range(8):
        drawn = hidden @ rng.normal(size=(4, 3)) + rng.normal(size=(rows, 3))
        columns[f"number_{j}"] = np.round(np.exp(drawn[:, 0] / 2), 2)
        columns[f"count_{j}"] = np.rint(3 * drawn[:, 1]).astype(int)
        levels = np.array(["low", "below", "middle", "above", "high"])
        columns[f"word_{j}"] = levels[np.digitize(drawn[:, 2], [-2.0, -0.5, 0.5, 2.0])]
    return tables.read(columns)


@dataclass(frozen=True)
class Clocked(Engine):
    """An engine whose tasks also say which process did them and how long it computed."""

    seconds: Counter[int] = field(default_factory=Counter)

    def run(self, function: Any, tasks: Any, **options: Any) -> Iterator[Any]:
        def clocked(task: Any) -> dict[str, Any]:
            import os
            import time

            start = time.process_time()
            result = function(task)
            return {**result, "clock": [os.getpid(), time.process_time() - start]}

        for result in super().run(clocked, tasks, **options):
            process, spent = result["clock"]
            self.seconds[int(process)] += float(spent)
            yield result


def generated(source: Frame, engine: Engine, pieces: Pieces) -> tuple[Any, float]:
    """Records from the default generator, and the wall time."""
    training = Training(engine=engine, pieces=pieces)
    start, rng = time.perf_counter(), np.random.default_rng(1)
    made = SequentialTrees().generate_in_pieces(source, len(source), rng, training).to_arrow()
    return made, time.perf_counter() - start


def training(rows: int, jobs: int, backends: Sequence[str]) -> Table:
    source = mixed(rows)
    first = Clocked("serial")
    expected, serial = generated(source, first, Pieces())
    table = Table("backend", "wall", "CPU", "busiest", "ideal", "kept", "MB on disk")
    for backend in backends:
        processes = 1 if backend == "serial" else jobs
        engine = Clocked(backend, processes)
        with tempfile.TemporaryDirectory() as folder:
            try:
                made, spent = generated(source, engine, Pieces.at(folder))
            except MissingExtra as error:
                CONSOLE.print(error, style="dim")
                continue
            again, found = generated(source, Engine(backend, processes), Pieces.at(folder))
            size = sum(piece.stat().st_size for piece in Path(folder).iterdir())
        assert made.equals(expected)
        assert again.equals(expected)
        computed = first.seconds.total()
        table.add_row(
            f"{backend}, {processes}",
            f"{spent / serial:.2f}",
            f"{engine.seconds.total() / computed:.2f}",
            f"{max(engine.seconds.values()) / computed:.2f}",
            f"{1.0 / processes:.2f}",
            f"{found / serial:.2f}",
            f"{size / 1e6:.1f}",
        )
    return table


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--tasks", type=int, default=200)
    options.add_argument("--seconds", type=float, default=0.05)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--backends", nargs="+", default=["serial", *BACKENDS[:3]])
    options.add_argument("--rows", type=int, default=5_000)
    args = options.parse_args()
    serial = wall(Engine("serial"), args.seconds, args.tasks)
    table = Table("backend", "start-up in s", "all tasks", "ideal", "per task")
    for backend in args.backends:
        processes = 1 if backend == "serial" else args.jobs
        engine = Engine(backend, processes)
        try:
            start = max(0.0, wall(engine, args.seconds, 1) - args.seconds)
        except MissingExtra as error:
            CONSOLE.print(error, style="dim")
            continue
        spent = wall(engine, args.seconds, args.tasks)
        again = 0.0 if backend in ("serial", "loky") else start  # loky's processes are still there
        ideal = args.tasks * args.seconds / processes
        extra = max(0.0, spent - again - ideal) / args.tasks / args.seconds
        table.add_row(
            f"{backend}, {processes}",
            f"{start:.1f}",
            f"{spent / serial:.2f}",
            f"{1.0 / processes:.2f}",
            f"{extra:.2f}",
        )
    CONSOLE.print(f"{args.tasks} tasks of {args.seconds:g} s")
    CONSOLE.print(table)
    if args.rows:
        CONSOLE.print(f"generator trees, {args.rows:,} records of 24 columns")
        CONSOLE.print(training(args.rows, args.jobs, args.backends))


if __name__ == "__main__":
    main()
