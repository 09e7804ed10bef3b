"""What does it cost to hand work to other processes? Wall time of tasks of known length.

    python benchmarks/work.py [--tasks 200] [--seconds 0.05] [--jobs 2]
                              [--backends serial loky dask ray]

A task sleeps and returns a number, so the cores are not what is measured. ``start-up`` is what one
task takes beyond its own length: new processes, connection, check of versions. ``all tasks`` is the
wall time of all of them over that of the loop in one process; ``ideal`` is one over the number of
processes; ``per task`` is what is left of the difference, per task and without the start-up, over
the length of a task. Backends whose extra is not installed are left out.
"""

from __future__ import annotations

import argparse
import time

from rich.console import Console
from rich.table import Table

from divulge.errors import MissingExtra
from divulge.work import BACKENDS, Engine

CONSOLE = Console(width=110)


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


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--tasks", type=int, default=200)
    options.add_argument("--seconds", type=float, default=0.05)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--backends", nargs="+", default=["serial", *BACKENDS[:3]])
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


if __name__ == "__main__":
    main()
