"""What asking a model through divulge costs beside the bare call, on the same rows in one run.

    python benchmarks/throughput.py [--rows 1000000] [--repetitions 7]

Bare: ``predict_proba`` of a numpy array in the same batches. divulge: from an Arrow table to the
loss of every record (columns to a matrix, the call, checks, logarithms, the label's column). Both
are repeated in turn; medians of processor time. Absolute times depend on the machine, the ratio
is what to look at.
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
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    x = rng.normal(size=(5_000, COLUMNS))
    y = (x[:, 0] + rng.normal(size=5_000) > 0.0).astype(int)
    yield "logistic regression", LogisticRegression().fit(x, y), 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few steps are enough to time it
        yield "network, 64 hidden", MLPClassifier((64,), max_iter=5, random_state=0).fit(x, y), 1
    yield "random forest, 100 trees", RandomForestClassifier(100, random_state=0).fit(x, y), 10


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--repetitions", type=int, default=7)
    chosen = options.parse_args()
    rng = np.random.default_rng(0)
    shown = Table(
        "model", "rows", "bare call", "through divulge", "divulge / bare",
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

        def through(model=model, frame=frame, names=names) -> None:
            scoring.losses(model, frame, names, "y", "the table")

        pairs = [(cost(bare), cost(through)) for _ in range(chosen.repetitions + 1)][1:]
        alone, with_us = (statistics.median(p[k] for p in pairs) for k in (0, 1))
        ratio = statistics.median(b / a for a, b in pairs)
        shown.add_row(name, f"{rows:,}", f"{alone:.3f} s", f"{with_us:.3f} s", f"{ratio:.3f}")
    Console(width=110).print(shown)


if __name__ == "__main__":
    main()
