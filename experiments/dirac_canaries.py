"""Likelihood ratio, GLiR and scalar product; Dirac, chosen and random canaries (004, Appendix D).

    python experiments/dirac_canaries.py [--quick] [--noise 0.4 1.0] [--runs 10] [--seed 0]
                                         [--games 100000] [--out out/dirac-canaries.csv]

*One mean, one record.* The game of 004 for a normal population with known mean and covariance,
n = 1000, d = 5000: power at false-positive rates of 0.01 and 0.1 of the likelihood ratio (eq. 10),
of the squared distance of the mean from the record in the metric of the covariance, which is GLiR's
statistic (Leemann et al. 2023), and of that from the centre of the population, as 004 describes it.
All depend on the mean through one normal and one chi-squared variable, so ``--games`` are drawn of
these.

*Many canaries, one run.* DP-SGD on the digits as in ``few_canaries.py``: 80 canaries that are drawn
at random, chosen by Mahalanobis distance (Algorithm 6), or *Dirac*: a gradient that is the clipping
norm along one coordinate (Nasr et al. 2023, which 004 explains by its distances). All are scored
with mean and covariance of an update known: by the likelihood ratio, steps combined as ``sum log(1
- q + q e^v)``; by GLiR's statistic, standardised and summed; by the scalar product, summed. AUC
within runs, mean and standard error, and the mean leakage m* of the canaries in a step.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

from divulge import canaries
from divulge.attacks.gradient import GradientSteps, mixture
from divulge.attacks.gradient_canaries import GradientCanaryRecorder
from divulge.exposure.covariance import Covariance
from divulge.exposure.exposed import power
from divulge.types import Array

sys.path.insert(0, str(Path(__file__).parent))
from few_canaries import QUICK, Setting, plan, told

KINDS = ("random", "mahalanobis", "dirac")
SCORES = ("likelihood ratio", "GLiR", "scalar product")
COLUMNS = ("noise", "canaries", "run", "leakage", *SCORES)
FPRS = (0.01, 0.1)


def one_mean(leakage: float, dimension: int, games: int, rng: np.random.Generator) -> list[Any]:
    """Power of the tests at each false-positive rate, in a normal population of n = 1000.

    In units of the mean's own spread the record moves it by sqrt(m*) along one axis, and itself
    lies n sqrt(m*) away along it.
    """
    along = rng.normal(size=(2, games))
    along[1] += np.sqrt(leakage)
    across = rng.chisquare(dimension - 1, size=(2, games))
    near_record = -((along - 1000.0 * np.sqrt(leakage)) ** 2 + across)
    from_centre = along**2 + across
    out: list[Any] = []
    for fpr in FPRS:
        for score in (along, near_record, from_centre):
            out.append(float(np.mean(score[1] > np.quantile(score[0], 1.0 - fpr))))
        out.append(float(power(leakage, fpr)))
    return out


@dataclass
class Watched:
    """All scores of a run, step by step, with mean and covariance of an update known."""

    training: GradientSteps
    totals: dict[str, Array] = field(default_factory=dict)
    leakage: float = 0.0
    steps: int = 0

    def step(self, g: Array, others: Array, update: Array) -> None:
        """One update; half of the canaries are in, as far as anybody knows."""
        q, batch, joint = self.training.rate, self.training.batch, 0.5 * self.training.rate
        expected = (q * others.sum(axis=0) + joint * g.sum(axis=0)) / batch
        spread = np.concatenate(
            [np.sqrt(q * (1.0 - q) / batch) * others, np.sqrt(joint * (1.0 - joint) / batch) * g]
        )
        zero = np.zeros(update.size)
        model = Covariance(zero, zero, matrix=spread.T @ spread).with_noise(self.training.variance)
        apart = update - expected
        solved = model.solve(apart)
        product, length = g @ solved, model.mahalanobis(g)
        ratio = product - (1.0 - 2.0 * joint) * length / (2.0 * batch)
        near = 2.0 * batch * product - batch * (apart @ solved) + update.size
        found = {
            "likelihood ratio": mixture(ratio, q),
            "GLiR": near / np.sqrt(2.0 * update.size + 4.0 * batch * length),
            "scalar product": g @ apart,
        }
        for name, value in found.items():
            self.totals[name] = self.totals.get(name, 0.0) + value
        self.leakage += float(length.mean() / batch)
        self.steps += 1


def play(setting: Setting, noise: float, kind: str, seed: int) -> dict[str, Any]:
    """Plan, train, score: the AUC of every score."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(y.size)[: setting.records]
    y = y[order].astype(np.intp)
    x = PCA(setting.components, random_state=0).fit_transform(x[order] / 16.0)
    run = setting.run(noise)
    known = GradientSteps(run.rate, run.batch, run.clip, run.noise_multiplier)
    if kind == "dirac":
        size = run.start(x.shape[1]).size
        made = canaries.plan(
            strategy="one-hot", count=setting.canaries, parameters=size, seed=seed
        ).gradients()
        rows, inside = np.zeros(0, dtype=np.intp), made.included
        recorder = GradientCanaryRecorder(made, known, run.learning_rate, seed=seed)
        insert, fixed = recorder.insert, run.clip * made.directions(np.ones(len(made), dtype=bool))
    else:
        chosen = plan(setting, run, kind, x, y, seed)
        rows, inside = np.array(chosen.rows), np.array(chosen.included)
        insert, fixed = None, None
    others = np.setdiff1d(np.arange(setting.records - setting.canaries * (kind == "dirac")), rows)
    used = others if kind == "dirac" else np.sort(np.concatenate([others, rows[inside]]))
    watched = Watched(known)
    for before, after in run.train(x[used], y[used], np.random.default_rng(seed + 1000), insert):
        g = run.gradients(before, x[rows], y[rows]) if fixed is None else fixed
        update = (before - after) / run.learning_rate
        watched.step(g, run.gradients(before, x[others], y[others]), update)
    found = {name: float(roc_auc_score(inside, watched.totals[name])) for name in SCORES}
    return {"canaries": kind, "leakage": watched.leakage / watched.steps, **found}


def show_mean(games: int, seed: int, console: Console) -> None:
    """Three records: as exposed as the easiest, the average and the hardest of Figure 2."""
    table = Table(title="One mean, n = 1000, d = 5000: power")
    names = [f"{s}, FPR {f:g}" for f in FPRS for s in ("ratio", "record", "centre", "eq. 9")]
    for name in ("m*", *names):
        table.add_column(name, justify="right")
    rng = np.random.default_rng(seed)
    for leakage in (8.9, 5.0, 2.8):
        found = one_mean(leakage, 5000, games, rng)
        table.add_row(f"{leakage:g}", *(f"{v:.3f}" for v in found))
    console.print(table)


def show(lines: Sequence[dict[str, Any]], console: Console) -> None:
    """AUCs, and what Dirac canaries add to random ones."""
    table = Table(title="AUC of canaries' coins within a run")
    for name in ("noise", "canaries", "m* of a step", *SCORES):
        table.add_column(name, justify="right")
    for noise, kind in itertools.product(dict.fromkeys(one["noise"] for one in lines), KINDS):
        own = [one for one in lines if (one["noise"], one["canaries"]) == (noise, kind)]
        cells = [told(np.array([one[name] for one in own])) for name in SCORES]
        mean = np.mean([one["leakage"] for one in own])
        table.add_row(f"{noise:g}", kind, f"{mean:.3f}", *cells)
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer records and steps, 2 runs")
    parser.add_argument("--noise", type=float, nargs="+", default=[0.4, 1.0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--games", type=int, default=100_000)
    parser.add_argument("--out", type=Path, default=Path("out/dirac-canaries.csv"))
    chosen = parser.parse_args(arguments)
    setting = QUICK if chosen.quick else Setting()
    runs = min(chosen.runs, 2) if chosen.quick else chosen.runs
    console = Console(width=200)
    show_mean(chosen.games, chosen.seed, console)
    lines = [
        {"noise": noise, "run": chosen.seed + run, **play(setting, noise, kind, chosen.seed + run)}
        for noise, run, kind in itertools.product(chosen.noise, range(runs), KINDS)
    ]
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    with chosen.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(lines)
    show(lines, console)


if __name__ == "__main__":
    main()
