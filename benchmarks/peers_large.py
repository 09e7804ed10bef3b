"""Ten million scores from a Parquet file: time, memory and bound beside the fastest valid peer.

    make peers        installs jax-privacy 2.0.0 into .venv-peers
    .venv-peers/bin/python benchmarks/peers_large.py [--rows 10000000] [--seed 0]

As many members as non-members, Gaussian scores with mu = 1, epsilon at delta 1e-5 (truth 4.38),
everybody asked for 95%. Each method reads the file in a process of its own, with one thread.
jax-privacy's own choice of a threshold among all scores is a union bound over millions: it is given
eight thresholds that were fixed beforehand instead, each at an eighth of the error, of which the
best counts. That is valid, with no assumption for *one-run* and under independent scores for
*Clopper-Pearson*. divulge computes little beside its headline (``--correction balanced``). Seconds
are those of the process, imports included; the ratio is to the fastest valid peer.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DELTA, ERROR, MU, CHUNK = 1e-5, 0.05, 1.0, 1_000_000
THRESHOLDS = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
ONE_THREAD = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_NUM_THREADS")


def write(rows: int, path: Path, seed: int) -> None:
    """Members and non-members in equal number, mixed, in chunks."""
    rng = np.random.default_rng(seed)
    schema = pa.schema([("member", pa.int8()), ("score", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, CHUNK):
            size = min(CHUNK, rows - start)
            member = rng.permutation(np.arange(size) % 2).astype(np.int8)
            score = rng.standard_normal(size) + MU * member
            writer.write_table(pa.table({"member": member, "score": score}, schema))


def ours(name: str) -> Callable[[str], float]:
    def run(path: str) -> float:
        import divulge

        found = divulge.membership(
            path, score="score", lower_is_member=False, corrections=("balanced",), headline=name
        )
        return found.headline()[0].value

    return run


def all_together(path: str) -> float:
    import divulge

    found = divulge.membership(path, score="score", lower_is_member=False, deltas=(DELTA,))
    return next(b.value for b in found.headline() if b.delta == DELTA)


def jax_privacy(method: str) -> Callable[[str], float]:
    def run(path: str) -> float:
        from jax_privacy import auditing

        table = pq.read_table(path, use_threads=False)
        member, score = (table[c].to_numpy() for c in ("member", "score"))
        auditor = auditing.CanaryScoreAuditor(score[member == 1], score[member == 0])
        each = ERROR / len(THRESHOLDS)
        return max(
            getattr(auditor, method)(each, DELTA, threshold_strategy=auditing.Explicit(t))
            for t in THRESHOLDS
        )

    return run


METHODS: dict[str, tuple[str, Callable[[str], float]]] = {
    "divulge, headline": ("nothing", ours(f"epsilon@{DELTA:g}")),
    "divulge, independent": ("independent", ours(f"independent:epsilon@{DELTA:g}")),
    "divulge, all together": ("nothing", all_together),
    "jax-privacy one-run, fixed thresholds": ("nothing", jax_privacy("epsilon_one_run")),
    "jax-privacy Clopper-Pearson, fixed thresholds": (
        "independent",
        jax_privacy("epsilon_clopper_pearson"),
    ),
}


def alone(method: str, path: str) -> None:
    """In the fresh process: one audit, and what it took, imports included."""
    wall = time.perf_counter()
    value = METHODS[method][1](path)
    used = resource.getrusage(resource.RUSAGE_SELF)
    said = {
        "value": float(value),
        "cpu": time.process_time(),
        "wall": time.perf_counter() - wall,
        "peak": used.ru_maxrss / 2**20,
    }
    print(json.dumps(said))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", nargs="+", default=[""], help="methods with this in their name")
    options.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.alone:
        alone(*chosen.alone)
        return
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.parquet"
        write(chosen.rows, path, chosen.seed)
        for name in (m for m in METHODS if any(part in m for part in chosen.only)):
            words = [sys.executable, __file__, "--alone", name, str(path)]
            env = {**os.environ, **dict.fromkeys(ONE_THREAD, "1")}
            done = subprocess.run(words, env=env, stdout=subprocess.PIPE, text=True)
            if done.returncode:
                print(f"{name}: failed, see above.", flush=True)
                continue
            found[name] = json.loads(done.stdout.splitlines()[-1])
    peers = [f["cpu"] for name, f in found.items() if not name.startswith("divulge")]
    fastest = min(peers, default=float("nan"))
    print(
        f"{chosen.rows:,} scores, Gaussian mu = {MU:g}, epsilon at delta {DELTA:g}, error {ERROR:g}"
    )
    print("| method | assumes | bound | CPU s | of the fastest peer | wall s | peak GiB |")
    print("|---|---|---|---|---|---|---|")
    for name, f in found.items():
        print(
            f"| {name} | {METHODS[name][0]} | {f['value']:.3f} | {f['cpu']:.1f} | "
            f"{f['cpu'] / fastest:.2f} | {f['wall']:.1f} | {f['peak']:.2f} |"
        )


if __name__ == "__main__":
    main()
