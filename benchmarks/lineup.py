"""Speed and memory of line-ups, from a table in memory or a Parquet file to a result.

    python benchmarks/lineup.py [--rows 100000] [--candidates 2 8 32]

Each run is a process of its own, after one small run that compiles; the peak is that process's.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from rich.console import Console
from rich.table import Table

import divulge

LEAK = 0.5
"""What is added to the true value's score, among standard normal ones."""


def table(rows: int, candidates: int) -> pa.Table:
    """Scores of every candidate, the true value's first."""
    score = np.random.default_rng(0).normal(size=(rows, candidates))
    score[:, 0] += LEAK
    return pa.table({f"s_{j}": score[:, j] for j in range(candidates)})


def measured(path: Path) -> dict[str, float]:
    """Seconds, seconds of computing, peak memory in MiB and the pure epsilon of one audit."""
    divulge.lineup(table(200, 4))
    wall, busy = time.perf_counter(), time.process_time()
    result = divulge.lineup(path)
    return {
        "seconds": time.perf_counter() - wall,
        "computing": time.process_time() - busy,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "epsilon": result.bounds[0].value,
    }


def main() -> None:
    """A row per number of candidates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--candidates", type=int, nargs="+", default=[2, 8, 32])
    parser.add_argument("--only", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only is not None:
        print(json.dumps(measured(given.only)))
        return
    shown = Table("line-ups", "K", "seconds", "of computing", "peak MiB", "epsilon at delta 0")
    with tempfile.TemporaryDirectory() as folder:
        for count in given.candidates:
            path = Path(folder) / f"{count}.parquet"
            pa.parquet.write_table(table(given.rows, count), path)
            words = [sys.executable, __file__, "--only", str(path)]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout)
            shown.add_row(
                f"{given.rows:,}", str(count), f"{found['seconds']:.1f}",
                f"{found['computing']:.1f}", f"{found['peak']:.0f}", f"{found['epsilon']:.2f}",
            )  # fmt: skip
    Console().print(shown)


if __name__ == "__main__":
    main()
