"""Audits of large tables: memory and time per stage, each in a process of its own.

    python benchmarks/scale.py [--rows 1000000 10000000] [--columns 0] [--limit 8] [--kind parquet]

A table of scores with a known leak (mu = 0.5) is written in chunks to a temporary folder, audited
from that file in a fresh process, and deleted. Peak memory is what the system saw resident in that
process; with ``--limit`` its address space is limited to so many GiB as well. Wall-clock times
depend on what else the machine does, processor times less so; the ratios are what to look at.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

CHUNK = 1_000_000
MU = 0.5


def chunks(rows: int, columns: int, double: bool) -> Iterator[pa.Table]:
    """Members whose loss is MU lower; with features, a shift along the first."""
    rng = np.random.default_rng(0)
    for start in range(0, rows, CHUNK):
        size = min(CHUNK, rows - start)
        x = rng.standard_normal((size, columns), dtype=np.float32)
        share = 1.0 / (1.0 + np.exp(-x[:, 0])) if columns else 0.5
        member = rng.random(size) < share
        loss = rng.standard_normal(size, dtype=np.float32) - np.float32(MU) * member
        loss = loss.astype(np.float64) if double else loss
        named = {f"x_{j}": x[:, j] for j in range(columns)}
        yield pa.table({"member": member.astype(np.int8), "loss": loss, **named})


def write(rows: int, columns: int, kind: str, folder: Path, double: bool) -> Path:
    """One Parquet file, a folder of seven, or CSV."""
    path = folder / {"parquet": "t.parquet", "csv": "t.csv", "folder": "parts"}[kind]
    if kind == "folder":
        path.mkdir()
    writers: list[Any] = []
    for k, part in enumerate(chunks(rows, columns, double)):
        if kind == "csv":
            writers = writers or [pyarrow.csv.CSVWriter(path, part.schema)]
        elif kind == "parquet":
            writers = writers or [pq.ParquetWriter(path, part.schema)]
        elif k < 7:
            writers.append(pq.ParquetWriter(path / f"part-{k}.parquet", part.schema))
        writers[k % len(writers)].write_table(part)
    for writer in writers:
        writer.close()
    return path


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def audit(path: str, features: bool, rows: int | None) -> None:
    """In the fresh process: the audit with a clock around each stage, as JSON on stdout."""
    from divulge.games.membership import play
    from divulge.proof import corrections, state

    proving = importlib.import_module("divulge.proof.prove")  # a function has its name
    stages: dict[str, tuple[float, float]] = {}

    def timed(module: Any, name: str, title: str) -> None:
        task: Callable[..., Any] = getattr(module, name)

        def run(*args: Any, **options: Any) -> Any:
            wall, cpu = time.perf_counter(), time.process_time()
            try:
                return task(*args, **options)
            finally:
                stages[title] = (time.perf_counter() - wall, time.process_time() - cpu)
                print(title, *stages[title], peak(), file=sys.stderr)

        setattr(module, name, run)

    timed(play, "read_pools", "reading and checks")
    timed(play, "draw", "draw")
    timed(proving, "adjust", "what the record gives away")
    timed(corrections, "bet", "betting")
    timed(proving, "correct", "counting and betting")
    timed(state, "state", "measures and diagnostics")
    timed(play, "audit_pools", "scores to bounds")
    wall, cpu = time.perf_counter(), time.process_time()
    result = play.membership(path, score="loss", features="x_*" if features else (), rows=rows)
    stages["whole audit"] = (time.perf_counter() - wall, time.process_time() - cpu)
    used = result.trials["pool_members"] + result.trials["pool_nonmembers"]
    said = {"stages": stages, "peak": peak(), "used": used, "sentence": result.verdict.sentence}
    print(json.dumps(said))


def run(path: Path, columns: int, rows: int | None, limit: float | None) -> dict[str, Any]:
    words = [sys.executable, __file__, "--audit", str(path), "--columns", str(columns)]
    words += ["--use", str(rows)] if rows else []
    size = None if limit is None else int(limit * 2**30)

    def limited() -> None:
        if size is not None:
            resource.setrlimit(resource.RLIMIT_AS, (size, size))

    done = subprocess.run(words, preexec_fn=limited, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"The audit of {path.name} failed: see above.")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    options.add_argument("--columns", type=int, default=0, help="feature columns")
    options.add_argument("--use", type=int, help="use at most so many rows")
    options.add_argument("--kind", choices=["parquet", "csv", "folder"], default="parquet")
    options.add_argument("--double", action="store_true", help="scores in double precision")
    options.add_argument("--limit", type=float, help="address space in GiB")
    options.add_argument("--audit", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.audit:
        audit(chosen.audit, chosen.columns > 0, chosen.use)
        return
    console = Console(width=200)
    found = {}
    for rows in chosen.rows:
        with tempfile.TemporaryDirectory() as folder:
            path = write(rows, chosen.columns, chosen.kind, Path(folder), chosen.double)
            found[rows] = run(path, chosen.columns, chosen.use, chosen.limit)
            console.print(f"{rows:,} rows: {found[rows]['sentence']}")
    bounded = "" if chosen.limit is None else f", address space limited to {chosen.limit:g} GiB"
    table = Table(
        "rows", "rows used", "stage", "seconds", "of a processor", "ns per row used",
        title=f"{chosen.kind}, {chosen.columns} features, leak mu = {MU:g}{bounded}",
    )  # fmt: skip
    for rows, one in found.items():
        for title, (wall, cpu) in one["stages"].items():
            each = f"{cpu / one['used'] * 1e9:,.0f}"
            table.add_row(f"{rows:,}", f"{one['used']:,}", title, f"{wall:.1f}", f"{cpu:.1f}", each)
        table.add_row(f"{rows:,}", "", "peak memory", f"{one['peak']:.2f} GiB", "", "")
        table.add_section()
    console.print(table)


if __name__ == "__main__":
    main()
