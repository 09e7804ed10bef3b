"""Is a membership audit slower than it was at an earlier commit?

    python benchmarks/earlier.py COMMIT [--rows 10000] [--features 50] [--pairs 6] [--audits 3]

Both versions audit the same table, shift estimated, without helpers, each in a process of its own
with one thread; they take turns, so that whatever else the machine does meets both. The table has a
line per pair: CPU seconds per audit (user and system) after one audit that compiles, and present
over earlier. The bounds are printed too: a faster audit that proves less is no gain.
"""

from __future__ import annotations

import argparse
import inspect
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]


def played(rows: int, features: int, audits: int) -> dict[str, Any]:
    """CPU seconds per audit, and the headline of the last, by whatever divulge is imported."""
    import divulge

    rng = np.random.default_rng(0)
    x, direction = rng.normal(size=(rows, features)), rng.normal(size=features)
    odds = x @ (direction / np.linalg.norm(direction))
    member = rng.random(rows) < 1.0 / (1.0 + np.exp(-odds))
    score = member + rng.normal(size=rows) + 0.5 * x[:, 0]
    names = [f"x{k}" for k in range(features)]
    table = dict(zip(names, x.T, strict=True)) | {"member": member, "score": score}
    words = {"helpers": "none", "lower_is_member": False}
    known = inspect.signature(divulge.membership).parameters
    words = {name: word for name, word in words.items() if name in known}

    def cpu() -> float:
        return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])

    divulge.membership(table, score="score", features=names, seed=0, **words)
    began = cpu()
    for seed in range(1, audits + 1):
        result = divulge.membership(table, score="score", features=names, seed=seed, **words)
    names = {b: b.parameter + (f"@{b.delta:g}" if b.delta else "") for b in result.headline()}
    bounds = {name: round(b.value, 3) for b, name in names.items()}
    return {"seconds": (cpu() - began) / audits, "bounds": bounds}


def asked(source: Path, given: argparse.Namespace) -> dict[str, Any]:
    """The same in a process of its own, with the package at ``source``."""
    words = [str(given.rows), str(given.features), str(given.audits)]
    environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--play", *words]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit", nargs="?", default="HEAD~1")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--audits", type=int, default=3)
    parser.add_argument("--play", nargs=3, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.play:
        print(json.dumps(played(*given.play)))
        return
    shown = Table(title=f"{given.rows:,} records x {given.features}, CPU seconds per audit")
    for name in ("pair", f"at {given.commit[:12]}", "now", "ratio"):
        shown.add_column(name, justify="right")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["git", "-C", str(ROOT), "archive", given.commit, "src"],
            stdout=subprocess.PIPE,
            check=True,
        )
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
            archive.extractall(folder, filter="data")
        for pair in range(given.pairs):
            then = asked(Path(folder) / "src", given)
            now = asked(ROOT / "src", given)
            ratios.append(now["seconds"] / then["seconds"])
            seconds = (f"{found['seconds']:.2f}" for found in (then, now))
            shown.add_row(str(pair + 1), *seconds, f"{ratios[-1]:.3f}")
    Console().print(shown)
    slower = sum(ratio > 1.0 for ratio in ratios)
    median = statistics.median(ratios)
    print(f"median ratio {median:.3f}; slower in {slower} of {len(ratios)} pairs")
    print("bounds then", then["bounds"])
    print("bounds now ", now["bounds"])


if __name__ == "__main__":
    main()
