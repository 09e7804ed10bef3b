"""What asking a model through divulge costs beside the bare call, on the same rows in one run.

    python benchmarks/throughput.py [--rows 1000000] [--repetitions 7]

Bare: ``predict_proba`` of a numpy array in the same batches. From the table: the same, with the
columns of an Arrow table made the array first, as any script must. divulge: from that table to the
loss of every record (columns to a matrix, the call, checks, logarithms, the label's column). All
are repeated in turn; medians of processor time. Absolute times depend on the machine, the ratios
are what to look at.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from divulge import tables
from divulge.games import scoring
from divulge.models.base import BATCH

COLUMNS = 20


def cost(task: Callable[[], object]) -> float:
    start = time.process_time()
    task()
    return time.process_time() - start


def models(rng: np.random.Generator) -> Iterator[tuple[str, object, int]]:
    """Name, fitted model, and by how much the rows are divided: a forest is slow."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    x = rng.normal(size=(5_000, COLUMNS))
    y = (x[:, 0] + rng.normal(size=5_000) > 0.0).astype(int)
    yield "logistic regression", LogisticRegression().fit(x, y), 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few steps are enough to time it
        yield "network, 64 hidden", MLPClassifier((64,), max_iter=5, random_state=0).fit(x, y), 1
    yield "gradient boosting, 100 trees", HistGradientBoostingClassifier().fit(x, y), 4
    yield "random forest, 100 trees", RandomForestClassifier(100, random_state=0).fit(x, y), 10


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--repetitions", type=int, default=7)
    chosen = options.parse_args()
    rng = np.random.default_rng(0)
    shown = Table(
        "model", "rows", "bare call", "through divulge", "divulge / bare", "/ from the table",
        title=f"{COLUMNS} columns, batches of {BATCH:,}, median of {chosen.repetitions}",
    )  # fmt: skip
    for name, model, divisor in models(rng):
        rows = chosen.rows // divisor
        x = rng.normal(size=(rows, COLUMNS))
        names = [f"x_{j}" for j in range(COLUMNS)]
        label = pa.array((x[:, 0] > 0.0).astype(np.int64))
        columns = {n: pa.array(np.ascontiguousarray(x[:, j])) for j, n in enumerate(names)}
        frame = tables.read(pa.table({**columns, "y": label}))

        def bare(model=model, x=x, rows=rows) -> None:
            for start in range(0, rows, BATCH):
                model.predict_proba(x[start : start + BATCH])

        def from_table(model=model, frame=frame, names=names, rows=rows) -> None:
            for start in range(0, rows, BATCH):
                some = frame[start : start + BATCH]
                model.predict_proba(np.column_stack([some[n].to_numpy() for n in names]))

        def through(model=model, frame=frame, names=names) -> None:
            scoring.losses(model, frame, names, "y", "the table")

        tasks = (bare, from_table, through)
        runs = [[cost(task) for task in tasks] for _ in range(chosen.repetitions + 1)][1:]
        alone, _, with_us = (statistics.median(column) for column in zip(*runs, strict=True))
        ratios = [statistics.median(run[2] / run[k] for run in runs) for k in (0, 1)]
        shown.add_row(
            name, f"{rows:,}", f"{alone:.3f} s", f"{with_us:.3f} s", *(f"{r:.3f}" for r in ratios)
        )
    Console(width=110).print(shown)


if __name__ == "__main__":
    main()
