"""What asking a model through divulge costs beside the bare call, on the same rows in one run.

    python benchmarks/throughput.py [--rows 1000000] [--repetitions 7] [--only "logistic"]

Bare: the model's own call on an array that is already there, in the batches that divulge uses.
By hand: the least that a script must do to come from the same Arrow table to losses (the columns
made the cheapest array that the model reads well, the call, the label's value, its logarithm; no
check). Plain script: ``np.column_stack`` and the call, no loss. divulge: from the table to the loss
of every record, checked. All are repeated in random order; medians of processor time, and of the
ratios within a repetition. Absolute times depend on the machine, the ratios are what to look at.
Models of libraries that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from divulge.attacks import scoring
from divulge.data import tables
from divulge.models.base import BATCH

COLUMNS = 20
NAMES = [f"x_{j}" for j in range(COLUMNS)]


def label_losses(probabilities: Any, label: Any) -> Any:
    """The loss of every record from the probabilities of its classes."""
    return -np.log(probabilities[np.arange(len(label)), label])


@dataclass(frozen=True)
class Case:
    """A model as its own library calls it, and as divulge is given it."""

    name: str
    call: Callable[[Any], Any]
    asked: Any
    divisor: int = 1
    """By how much the rows are divided: a forest is slow."""
    dtype: Any = np.float64
    order: str = "C"
    """In which order the array is as good as in any other."""
    losses: Callable[[Any, Any], Any] = label_losses


def cost(task: Callable[[], object]) -> float:
    start = time.process_time()
    task()
    return time.process_time() - start


def cases(folder: Path, x: Any, y: Any) -> Iterator[Case]:
    """Fitted models of every library that is installed."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    def own(name: str, model: Any, divisor: int = 1, order: str = "C") -> Case:
        model.fit(x, y)
        return Case(name, model.predict_proba, model, divisor, order=order)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few steps are enough to time a network
        yield own("logistic regression", LogisticRegression(), order="F")
        network = MLPClassifier((64,), max_iter=5, random_state=0)
        yield own("network, 64 hidden", network, order="F")
    yield own("gradient boosting, 100 trees", HistGradientBoostingClassifier(), 4)
    yield own("random forest, 100 trees", RandomForestClassifier(100, random_state=0), 10)
    for library, made in (
        ("xgboost", from_xgboost),
        ("lightgbm", from_lightgbm),
        ("skl2onnx", from_onnx),
        ("torch", from_torch),
    ):
        if importlib.util.find_spec(library):
            yield from made(folder, x, y)


def from_xgboost(folder: Path, x: Any, y: Any) -> Iterator[Case]:
    import xgboost

    from divulge.models.xgboost import load

    place = folder / "model.ubj"
    xgboost.XGBClassifier(n_estimators=100).fit(x, y).get_booster().save_model(place)
    model = xgboost.XGBClassifier()
    model.load_model(place)
    yield Case("XGBoost, 100 trees", model.predict_proba, load(place), 4)


def from_lightgbm(folder: Path, x: Any, y: Any) -> Iterator[Case]:
    import lightgbm

    from divulge.models.lightgbm import load

    place = folder / "model.txt"
    model = lightgbm.LGBMClassifier(n_estimators=100, verbose=-1).fit(x, y)
    model.booster_.save_model(place)
    booster = lightgbm.Booster(model_file=place)

    def call(given: Any) -> Any:
        second = booster.predict(given)
        return np.column_stack([1.0 - second, second])

    yield Case("LightGBM, 100 trees", call, load(place), 10)


def from_onnx(folder: Path, x: Any, y: Any) -> Iterator[Case]:
    from skl2onnx import to_onnx
    from sklearn.neural_network import MLPClassifier

    from divulge.models.onnx import load

    for hidden in ((64,), (512, 512)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MLPClassifier(hidden, max_iter=2, random_state=0).fit(x, y)
        made = to_onnx(model, x[:1].astype(np.float32), options={"zipmap": False})
        place = folder / f"model{len(hidden)}.onnx"
        place.write_bytes(made.SerializeToString())
        asked = load(place)
        entrance = asked.session.get_inputs()[0].name

        def call(given: Any, asked: Any = asked, entrance: str = entrance) -> Any:
            return asked.session.run([asked.output], {entrance: given})[0]

        title = f"ONNX network, {' x '.join(map(str, hidden))} hidden"
        yield Case(title, call, asked, 10 if len(hidden) > 1 else 1, np.float32)


def from_torch(folder: Path, x: Any, y: Any) -> Iterator[Case]:
    import torch

    from divulge.models.networks import ROWS, load_exported

    for hidden in ((64,), (512, 512)):
        sizes = (COLUMNS, *hidden)
        layers = [
            layer for a, b in pairwise(sizes) for layer in (torch.nn.Linear(a, b), torch.nn.ReLU())
        ]
        network = torch.nn.Sequential(*layers, torch.nn.Linear(sizes[-1], 2)).eval()
        shapes = ({0: torch.export.Dim("rows")},)
        given = (torch.zeros(8, COLUMNS),)
        place = folder / f"model{len(hidden)}.pt2"
        torch.export.save(torch.export.export(network, given, dynamic_shapes=shapes), place)
        asked = load_exported(place)

        def call(given: Any, asked: Any = asked) -> Any:
            rows = torch.from_numpy(given)
            with torch.no_grad():
                return torch.cat([asked.module(some) for some in rows.split(ROWS)])

        def losses(logits: Any, label: Any) -> Any:
            wanted = torch.from_numpy(label)
            return torch.nn.functional.cross_entropy(logits, wanted, reduction="none").numpy()

        title = f"PyTorch network, {' x '.join(map(str, hidden))} hidden"
        yield Case(title, call, asked, 10 if len(hidden) > 1 else 1, np.float32, losses=losses)


def timed(case: Case, rows: int, repetitions: int, rng: np.random.Generator) -> list[list[float]]:
    """Processor time of the bare call, by hand, of the plain script and through divulge."""
    x = rng.normal(size=(rows, COLUMNS))
    label = (x[:, 0] > 0.0).astype(np.int64)
    columns = {n: pa.array(np.ascontiguousarray(x[:, j])) for j, n in enumerate(NAMES)}
    table = pa.table({**columns, "y": pa.array(label)})
    frame = tables.read(table)
    ready = x.astype(case.dtype)
    starts = range(0, rows, BATCH)

    def bare() -> None:
        for start in starts:
            case.call(ready[start : start + BATCH])

    def by_hand() -> None:
        found = np.empty(rows)
        for start in starts:
            some = table.slice(start, BATCH)
            given = np.array([some[n].to_numpy() for n in NAMES], dtype=case.dtype).T
            answers = case.call(np.asarray(given, order=case.order))
            found[start : start + BATCH] = case.losses(answers, label[start : start + BATCH])

    def plain() -> None:
        for start in starts:
            some = frame[start : start + BATCH]
            given = np.column_stack([some[n].to_numpy() for n in NAMES])
            case.call(given.astype(case.dtype, copy=False))

    def through() -> None:
        scoring.losses(case.asked, frame, NAMES, "y", "the table")

    tasks = (bare, by_hand, plain, through)
    runs = np.zeros((repetitions + 1, len(tasks)))
    for run in runs:
        for which in rng.permutation(len(tasks)):  # no task always follows the same one
            run[which] = cost(tasks[which])
    found: list[list[float]] = runs[1:].tolist()
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--repetitions", type=int, default=7)
    options.add_argument("--only", default="", help="a part of the model's name")
    chosen = options.parse_args()
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5_000, COLUMNS))
    y = (x[:, 0] + rng.normal(size=5_000) > 0.0).astype(int)
    shown = Table(
        "model", "rows", "bare", "by hand", "divulge", "divulge / bare", "by hand / bare",
        "divulge / by hand", "divulge / plain script",
        title=f"nanoseconds per record of {COLUMNS} columns, batches of {BATCH:,}, "
        f"median of {chosen.repetitions}",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(Path(folder), x, y):
            if chosen.only not in case.name:
                continue
            rows = chosen.rows // case.divisor
            runs = timed(case, rows, chosen.repetitions, rng)
            bare, by_hand, _, through = (
                f"{statistics.median(column) / rows * 1e9:,.0f}"
                for column in zip(*runs, strict=True)
            )
            ratios = [
                f"{statistics.median(run[a] / run[b] for run in runs):.3f}"
                for a, b in ((3, 0), (1, 0), (3, 1), (3, 2))
            ]
            shown.add_row(case.name, f"{rows:,}", bare, by_hand, through, *ratios)
    Console(width=200).print(shown)


if __name__ == "__main__":
    main()
