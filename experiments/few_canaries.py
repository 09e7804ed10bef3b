"""Does it matter which records are canaries? Few canaries among many records (004, Section 5).

    python experiments/few_canaries.py [--quick] [--noise 0.4 1.0] [--runs 20] [--seed 0]
                                       [--out out/few-canaries.csv]

Logistic regression on 24 principal components of scikit-learn's digits by DP-SGD in numpy, 250
parameters: 1,600 records; 80 of them (5%) are canaries, each included by the flip of a coin, and
every other record is always in. In ``experiments/dp_sgd.py`` most records are canaries, so that a
choice can differ little from chance. Canaries are

- *random*;
- *norm*: those with the longest gradients before clipping, at five steps of a rehearsal;
- *mahalanobis*: those whose clipped gradients stand out there, with the noise in the covariance
  (Algorithm 6);
- *mislabelled*: random records with another label, crafted, for comparison.

They are scored from every step in two forms, *published* (004's Algorithm 7 with the noise in it:
mean and covariance estimated from all other records) and *known* (all other records known, mean and
covariance of an update exact), and the steps are combined in two ways, by their maximum (004) or by
``sum log(1 - q + q e^v)``. Runs of one seed share data, coins' seed and noise, so that differences
from random canaries are paired. AUC, mean over runs, with its standard error; 80 canaries prove
nothing in a run, so no bound is printed.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

from divulge import canaries
from divulge.attacks.gradient import GradientSteps, Recorder
from divulge.mechanisms import DPSGD

STRATEGIES = ("random", "norm", "mahalanobis", "mislabelled")
SCORES = ("published, max", "published, sum", "known, max", "known, sum")
COLUMNS = ("noise", "canaries", "run", "score", "auc")


@dataclass(frozen=True)
class Setting:
    """Sizes of the experiment."""

    records: int = 1600
    canaries: int = 80
    rate: float = 0.05
    steps: int = 60
    clip: float = 0.3
    learning_rate: float = 3.0
    rehearsed: int = 5
    components: int = 24

    def run(self, noise: float) -> DPSGD:
        """DP-SGD as it is trained; half of the canaries are in, as far as anybody knows."""
        return DPSGD(
            noise_multiplier=noise,
            rate=self.rate,
            steps=self.steps,
            records=self.records - self.canaries // 2,
            classes=10,
            clip=self.clip,
            learning_rate=self.learning_rate,
        )


QUICK = Setting(records=400, canaries=20, steps=6, rehearsed=2)


def rehearse(
    run: DPSGD, x: np.ndarray, y: np.ndarray, times: int, seed: int, clipped: bool
) -> list[Any]:
    """Gradients of all records at some steps of a run on all of them."""
    every = max(1, run.steps // times)
    thetas = run.train(x, y, np.random.default_rng(seed))
    seen = run if clipped else replace(run, clip=1e9)
    return [{"g": seen.gradients(t, x, y)} for k, (t, _) in enumerate(thetas) if k % every == 0]


def plan(setting: Setting, run: DPSGD, strategy: str, x: Any, y: Any, seed: int) -> Any:
    """The canaries of one run, chosen or crafted."""
    data = {"x": x, "y": y}
    if strategy == "mislabelled":
        return canaries.plan(data, strategy=strategy, label="y", count=setting.canaries, seed=seed)
    measured = strategy in ("norm", "mahalanobis")
    clipped = strategy == "mahalanobis"
    noise = run.noise_multiplier * run.clip / run.batch if clipped else 0.0
    return canaries.plan(
        data,
        count=setting.canaries,
        strategy=strategy,
        gradients=rehearse(run, x, y, setting.rehearsed, seed, clipped) if measured else (),
        noise=noise,
        averaged=run.batch if clipped else None,
        seed=seed,
    )


def play(setting: Setting, noise: float, strategy: str, seed: int) -> list[dict[str, Any]]:
    """Plan, train, score: one line per way to score."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(y.size)[: setting.records]
    y = y[order].astype(np.intp)
    x = PCA(setting.components, random_state=0).fit_transform(x[order] / 16.0)
    run = setting.run(noise)
    made = plan(setting, run, strategy, x, y, seed)
    rows, inside = np.array(made.rows), np.array(made.included)
    if strategy == "mislabelled":
        y = y.copy()
        y[rows] = np.array(made.canaries()["y"].to_list(), dtype=np.intp)
    others = np.setdiff1d(np.arange(setting.records), rows)
    used = np.sort(np.concatenate([others, rows[inside]]))
    known = GradientSteps(run.rate, run.batch, run.clip, run.noise_multiplier)
    recorders = {
        form: Recorder(
            known,
            run.learning_rate,
            lambda theta: run.gradients(theta, x[rows], y[rows]),
            lambda theta: run.gradients(theta, x[others], y[others]),
            complete=form == "known",
        )
        for form in ("published", "known")
    }
    for before, after in run.train(x[used], y[used], np.random.default_rng(seed + 1000)):
        for recorder in recorders.values():
            recorder.step(before, after)
    scores = {}
    for form, recorder in recorders.items():
        scores[f"{form}, max"] = recorder.scores.maximum
        scores[f"{form}, sum"] = recorder.scores.total
    return [
        {"canaries": strategy, "score": name, "auc": float(roc_auc_score(inside, scores[name]))}
        for name in SCORES
    ]


def column(lines: Sequence[dict[str, Any]], noise: float, strategy: str, score: str) -> np.ndarray:
    """AUCs in the order of the runs."""
    found = [
        one
        for one in lines
        if (one["noise"], one["canaries"], one["score"]) == (noise, strategy, score)
    ]
    return np.array([one["auc"] for one in sorted(found, key=lambda one: one["run"])])


def told(values: np.ndarray, sign: str = "") -> str:
    """Mean and standard error."""
    error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else float("nan")
    return f"{values.mean():{sign}.3f} +- {error:.3f}"


def show(lines: Sequence[dict[str, Any]], console: Console) -> None:
    """AUCs, what the choice adds to random canaries, and what the sum adds to the maximum."""
    table = Table()
    for name in ("noise", "canaries", *SCORES):
        table.add_column(name, justify="right")
    noises = list(dict.fromkeys(one["noise"] for one in lines))
    for noise, strategy in itertools.product(noises, STRATEGIES):
        cells = [told(column(lines, noise, strategy, score)) for score in SCORES]
        table.add_row(f"{noise:g}", strategy, *cells)
    console.print("AUC of canaries' coins, mean over runs and standard error")
    console.print(table)
    further = Table()
    for name in ("noise", "canaries", *(f"{s}, over random" for s in SCORES)):
        further.add_column(name, justify="right")
    for noise, strategy in itertools.product(noises, STRATEGIES[1:]):
        gains = [
            column(lines, noise, strategy, s) - column(lines, noise, "random", s) for s in SCORES
        ]
        further.add_row(f"{noise:g}", strategy, *(told(g, "+") for g in gains))
    console.print("\nPaired differences from random canaries of the same runs")
    console.print(further)
    for form in ("published", "known"):
        gain = np.concatenate(
            [
                column(lines, n, s, f"{form}, sum") - column(lines, n, s, f"{form}, max")
                for n, s in itertools.product(noises, STRATEGIES)
            ]
        )
        console.print(f"{form}: the sum over the maximum, all runs: {told(gain, '+')}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer records and steps")
    parser.add_argument("--noise", type=float, nargs="+", default=[0.4, 1.0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/few-canaries.csv"))
    chosen = parser.parse_args(arguments)
    setting = QUICK if chosen.quick else Setting()
    console, lines = Console(width=200), []
    for noise, run in itertools.product(chosen.noise, range(chosen.runs)):
        start = time.monotonic()
        for strategy in STRATEGIES:
            found = play(setting, noise, strategy, chosen.seed + run)
            lines += [{"noise": noise, "run": chosen.seed + run, **one} for one in found]
        took = time.monotonic() - start
        console.print(f"noise {noise:g}, run {chosen.seed + run}: {took:.0f} s", style="dim")
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    with chosen.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(lines)
    show(lines, console)


if __name__ == "__main__":
    main()
