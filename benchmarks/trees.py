"""Boosting in compiled code against scikit-learn's, alone and within a whole audit.

    python benchmarks/trees.py [--repeats 5]

Both grow the same trees (tests/bounds/test_tree_boosting.py); one thread, CPU time, medians, and
the ratio of both in one run. The audit is of 4,000 rows of which nothing leaks, everything
estimated; its second form has scikit-learn's boosting in place of ours.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import divulge
from divulge.bounds.tree_boosting import LOGISTIC, SQUARED, Trees, boosted
from divulge.mechanisms import Shifted
from divulge.shift.boosted import TREES
from divulge.shift.design import BINS, encode_bins, quantile_edges

SIZES = ((2000, 8), (4000, 8), (4000, 50), (4000, 100), (40_000, 50))
AUDITS = (8, 50, 100)
ROWS = 4000


@dataclass(frozen=True)
class Theirs:
    """scikit-learn's trees, asked as ours are."""

    model: Any

    def margins(self, bins: np.ndarray) -> np.ndarray:
        ask = getattr(self.model, "decision_function", self.model.predict)
        return np.asarray(ask(bins))[:, None]


def theirs(
    bins: np.ndarray, target: np.ndarray, weight: Any, loss: int, trees: Trees, width: int
) -> Theirs:
    kind = HistGradientBoostingClassifier if loss == LOGISTIC else HistGradientBoostingRegressor
    model = kind(
        max_iter=trees.rounds,
        learning_rate=trees.rate,
        max_leaf_nodes=trees.leaves,
        min_samples_leaf=trees.least,
        l2_regularization=trees.penalty,
        early_stopping=False,
        random_state=0,
        max_bins=width,
    )
    return Theirs(model.fit(bins, target))


def median(work: Callable[[], Any], repeats: int) -> float:
    work()
    spent = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return float(np.median(spent))


def audit(columns: int) -> Any:
    drawn = Shifted("cluster", columns=columns).sample(ROWS, np.random.default_rng(0))
    table = {f"x_{j}": column for j, column in enumerate(drawn.features.T)}
    return divulge.membership(
        {**table, "member": drawn.truth > 0.0, "score": drawn.score},
        score="score",
        lower_is_member=False,
        features=list(table),
        deltas=(),
        seed=0,
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=5)
    repeats = arguments.parse_args().repeats
    table = Table("what", "rows", "columns", "ours, CPU s", "scikit-learn, CPU s", "ratio")
    rng = np.random.default_rng(0)
    for rows, columns in SIZES:
        x = rng.standard_normal((rows, columns))
        y = x[:, 0] * x[:, 1] + rng.standard_normal(rows)
        bins = encode_bins(x, quantile_edges(x))
        for name, loss, target in (("mean", SQUARED, y), ("log-odds", LOGISTIC, (y > 0) * 1.0)):
            mine, other = (
                median(partial(fit, bins, target, None, loss, TREES, BINS), repeats)
                for fit in (boosted, theirs)
            )
            cells = f"{rows}", f"{columns}", f"{mine:.3f}", f"{other:.3f}", f"{other / mine:.1f}"
            table.add_row(name, *cells)
    for columns in AUDITS:
        mine = median(partial(audit, columns), repeats)
        with mock.patch("divulge.shift.boosted.boosted", theirs):
            other = median(partial(audit, columns), repeats)
        table.add_row(
            "whole audit",
            f"{ROWS}",
            f"{columns}",
            f"{mine:.2f}",
            f"{other:.2f}",
            f"{other / mine:.2f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
