"""Leakage per record: a million records, 20,000 columns, and what the covariance is worth.

    python benchmarks/leakage.py [scale] [wide] [share] [binary]

``scale``: 1,000,000 records x 100 columns from Parquet files to the table, the solved noise and
rate and the result, by stage; distances alone against the form with np.linalg.inv. ``wide``: up to
20,000 columns with 1,000 reference records; scikit-learn's Ledoit-Wolf and np.linalg.inv beside it
as far as they go. ``share``: which part of the true m* an attack keeps that has the covariance from
reference records only (004, Theorem 4.5, with the plug-in direction), and the false positives of
theoretical and of calibrated thresholds. ``binary``: advantage and epsilon of a record with a 1 in
one 0/1 column, by the normal form and exactly, and the advantage in simulated games.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table
from sklearn.covariance import LedoitWolf

from divulge.attacks.means import attack_mean, standardised
from divulge.exposure import exposed
from divulge.exposure.binary import exact
from divulge.exposure.covariance import estimate_covariance
from divulge.exposure.exposed import Release
from divulge.games.leakage.play import leakage

RECORDS, COLUMNS = 1_000_000, 100


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    out = work()
    return time.perf_counter() - start, out


def written(path: Path, rows: int, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    mixing = np.eye(COLUMNS) + 0.3 * np.eye(COLUMNS, k=1)
    x = rng.standard_t(8, size=(rows, COLUMNS)) @ mixing
    columns = {f"x_{j}": np.ascontiguousarray(x[:, j]) for j in range(COLUMNS)}
    pq.write_table(pa.table({"key": np.arange(rows), **columns}), path)
    return path


def naive(z: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    inverse = np.linalg.inv(covariance)
    centred = z - mean
    return np.einsum("ij,ij->i", centred @ inverse, centred)


def scale(console: Console) -> None:
    stages: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        data = written(Path(folder) / "data.parquet", RECORDS, 0)
        reference = written(Path(folder) / "reference.parquet", RECORDS // 5, 1)
        last = [time.perf_counter(), "reading"]

        def tell(stage: str, done: int, total: int) -> None:
            now = time.perf_counter()
            stages[last[1]] = stages.get(last[1], 0.0) + now - last[0]
            last[:] = [now, stage if done < total else "result"]

        out = Path(folder) / "leakage.parquet"
        words = {"features": "x_*", "id": "key", "table": out, "advantage": 0.004}
        total, result = timed(lambda: leakage(data, reference=reference, progress=tell, **words))
        stages["result"] = time.perf_counter() - last[0]
        console.print(result.verdict.sentence)
        console.print(
            f"{RECORDS:,} records x {COLUMNS} columns, from files to table: {total:.1f} s"
        )
        for stage, seconds in stages.items():
            console.print(f"  {stage}: {seconds:.1f} s")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        console.print(f"  peak memory {peak:.1f} GiB")
        z = np.column_stack([c.to_numpy() for c in pq.read_table(data, columns=words_of()).columns])
    model = estimate_covariance(z[: RECORDS // 5])
    ours, first = timed(lambda: model.mahalanobis(z))
    theirs, second = timed(lambda: naive(z, model.mean, model.dense()))
    console.print(
        f"distances alone: {ours:.2f} s, with np.linalg.inv {theirs:.2f} s "
        f"({theirs / ours:.1f} times ours), largest relative difference "
        f"{np.max(np.abs(first / second - 1.0)):.1e}"
    )


def words_of() -> list[str]:
    return [f"x_{j}" for j in range(COLUMNS)]


def wide(console: Console) -> None:
    table = Table(title="1,000 reference records, 1,000 targets")
    for name in ("columns", "fit", "distances", "scikit-learn and inv", "ratio", "difference"):
        table.add_column(name, justify="right")
    rng = np.random.default_rng(0)
    for columns in (1500, 3000, 20_000):
        reference, z = (rng.normal(size=(1000, columns)) for _ in range(2))
        fit, model = timed(lambda r=reference: estimate_covariance(r))
        spent, first = timed(lambda m=model, t=z: m.mahalanobis(t))
        cells = ["", "", ""]
        if columns <= 3000:
            theirs, second = timed(lambda r=reference, t=z: _sklearn(r, t))
            difference = float(np.max(np.abs(first / second - 1.0)))
            cells = [f"{theirs:.2f} s", f"{theirs / (fit + spent):.1f}", f"{difference:.1e}"]
        table.add_row(f"{columns:,}", f"{fit:.2f} s", f"{spent:.2f} s", *cells)
    console.print(table)
    console.print(
        "At 20,000 columns the matrix alone would take 3.2 GB, its inverse as much again."
    )


def _sklearn(reference: np.ndarray, z: np.ndarray) -> np.ndarray:
    mean, scale_ = reference.mean(axis=0), reference.std(axis=0)
    model = LedoitWolf().fit((reference - mean) / scale_)
    return naive((z - mean) / scale_, np.zeros(mean.size), model.covariance_)


def share(console: Console) -> None:
    table = Table(title="Share of m* kept by the plug-in direction; false positives at nominal 5%")
    names = ("columns", "references", "ledoit-wolf", "diagonal", "empirical", "uncentred",
             "theory's threshold", "calibrated")  # fmt: skip
    for name in names:
        table.add_column(name, justify="right")
    for columns, references in ((100, 150), (100, 300), (100, 1000), (400, 150)):
        rng = np.random.default_rng(columns + references)
        kept: dict[str, list[float]] = {k: [] for k in names[2:]}
        for _ in range(20):
            world = _World(columns, rng)
            reference, z = world.sample(references, rng), world.sample(50, rng)
            kinds = ["ledoit-wolf", "diagonal"] + (["empirical"] if references > columns else [])
            for kind in kinds:
                model = estimate_covariance(reference, kind)
                kept[kind] += world.kept(z, model.solve(z - model.mean))
            if references > columns:
                moment = reference.T @ reference / references
                directions = np.linalg.solve(moment, (z - reference.mean(axis=0)).T).T
                kept["uncentred"] += world.kept(z, directions)
            size = 200
            released = world.sample(size, rng).mean(axis=0)
            model = estimate_covariance(reference)
            values = standardised(released, z, model, Release(size))
            kept["theory's threshold"].append(float((values > 1.6448536).mean()))
            attack = attack_mean(released, z, reference, size=size, rng=rng)
            kept["calibrated"].append(float(attack.guesses(0.05).mean()))
        cells = [f"{np.mean(v):.2f}" if v else "" for v in kept.values()]
        table.add_row(str(columns), str(references), *cells)
    console.print(table)


class _World:
    """Correlated normal columns of different scale, with a mean that is not zero."""

    def __init__(self, columns: int, rng: np.random.Generator) -> None:
        self.mean = 2.0 * np.ones(columns)
        decay = 0.3 ** np.abs(np.subtract.outer(np.arange(columns), np.arange(columns)))
        scale_ = np.exp(0.5 * rng.normal(size=columns))
        self.covariance = decay * scale_ * scale_[:, None]
        self.root = np.linalg.cholesky(self.covariance)

    def sample(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return self.mean + rng.normal(size=(count, self.mean.size)) @ self.root.T

    def kept(self, z: np.ndarray, directions: np.ndarray) -> list[float]:
        """``(w'(z - mu))^2 / (w'Cw)`` over ``|z - mu|^2``: 1 for the true direction."""
        centred = z - self.mean
        true = np.einsum("ij,ij->i", np.linalg.solve(self.covariance, centred.T).T, centred)
        product = np.einsum("ij,ij->i", directions, centred) ** 2
        spread = np.einsum("ij,ij->i", directions @ self.covariance, directions)
        return list(product / spread / true)


def binary(console: Console, games: int = 40_000) -> None:
    table = Table(title=f"one 0/1 column, a record with a 1; {games:,} games of either kind")
    for heading in ("n", "p", "n p", "advantage, normal", "exact", "simulated",
                    "epsilon at 1e-5, normal", "exact"):  # fmt: skip
        table.add_column(heading, justify="right")
    rng = np.random.default_rng(0)
    for n, p in ((200, 0.002), (200, 0.01), (200, 0.05), (2000, 0.002), (2000, 0.05)):
        m = (1.0 - p) / p / n
        found = exact([[1.0]], [p], Release(n), deltas=(1e-5,))
        out, inside = rng.binomial(n, p, games), 1 + rng.binomial(n - 1, p, games)
        says = [float((counts > n * p).mean()) for counts in (inside, out)]
        table.add_row(
            str(n), f"{p:g}", f"{n * p:g}", f"{float(exposed.advantage(m)):.3f}",
            f"{found.advantage[0]:.3f}", f"{says[0] - says[1]:.3f}",
            f"{exposed.epsilon([m], 1e-5)[0]:.2f}", f"{found.epsilon[0][0]:.2f}",
        )  # fmt: skip
    console.print(table)


def main() -> None:
    console = Console(width=120)
    chosen = sys.argv[1:] or ["scale", "wide", "share", "binary"]
    parts = {"scale": scale, "wide": wide, "share": share, "binary": binary}
    for name, run in parts.items():
        if name in chosen:
            run(console)


if __name__ == "__main__":
    main()
