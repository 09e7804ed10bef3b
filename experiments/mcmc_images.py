"""Section 4.2 of MCMC-DP-Est (003) at its size: 999 images, 128 units, 200 epochs, 100 models.

    python experiments/mcmc_images.py [--quick] [--bases 20] [--models 100] [--minutes 25]
                                      [--records 999] [--units 128] [--epochs 200] [--batch 100]
                                      [--losses out/mcmc_images_losses.csv] [--fashion DIR]

A challenge base is 999 images of two classes of Fashion-MNIST and one more of the same two; the
classes are pairs of five garments that look alike. Networks with one hidden layer of 128 ReLU units
are trained with and without that image: SGD with momentum 0.9, rate 0.01, batches of 100, Glorot's
start, fixed or random, as published. A network is trained once and released with noise of 0, 0.01,
0.05 or 0.1 on its weights, so that two trainings serve all six algorithms of Table 1.

Trained blocks are kept as pieces in out/pieces, base by base: a run that was stopped, or ended by
``--minutes``, goes on where it was. Losses go to out/mcmc_images_losses.csv; ``--losses`` reads
such a file and trains nothing. Printed: the false positives of three tests at a target of 0.1 (the
paper's normal one on the loss, the same on the logit of the confidence, the one calibrated by
ranks), how far from normal the losses are, and the posterior of epsilon.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import kurtosis, skew

import divulge
from divulge.attacks import parametric
from divulge.posterior.correlated import correlated
from divulge.posterior.priors import EpsilonPrior, StrengthPrior
from divulge.types import Array
from divulge.work.pieces import Pieces

GARMENTS = {0: "T-shirt", 2: "pullover", 3: "dress", 4: "coat", 6: "shirt"}
PAIRS = tuple(combinations(GARMENTS, 2))
NOISES = (0.0, 0.01, 0.05, 0.1)
TARGET, DELTA, BLOCK = 0.1, 1e-3, 10
MOMENTUM, RATE = 0.9, 0.01
ALGORITHMS = {
    "A1: fixed start": (True, 0.0),
    "A2: random start": (False, 0.0),
    "A3: fixed start, noise 0.1": (True, 0.1),
    "A4: random start, noise 0.1": (False, 0.1),
    "A4: random start, noise 0.05": (False, 0.05),
    "A4: random start, noise 0.01": (False, 0.01),
}
COLUMNS = ("fixed", "base", "side", "model", "noise", "loss")
Losses = dict[tuple[bool, int, float], tuple[Array, Array]]
"""Per start, base and noise: the losses of models trained without and with the image."""


@dataclass(frozen=True)
class Size:
    """How large everything is; the default is the paper's."""

    records: int = 999
    units: int = 128
    epochs: int = 200
    batch: int = 100


@dataclass(frozen=True)
class Base:
    """Images of two classes, the last of which is the one at stake; pixels in [0, 1] and a 1."""

    pair: tuple[int, int]
    x: Array
    y: Array

    def kernel(self) -> Array:
        """Inner products of all images."""
        return np.asarray(self.x @ self.x.T)


@lru_cache(maxsize=1)
def fashion(folder: Path) -> tuple[Array, Array]:
    """The training images and labels of Fashion-MNIST (``make fashion``)."""

    def read(name: str, head: int) -> Array:
        with gzip.open(folder / f"train-{name}-ubyte.gz") as file:
            return np.frombuffer(file.read(), dtype=np.uint8)[head:]

    return read("images-idx3", 16).reshape(-1, 784), read("labels-idx1", 8)


def challenge(folder: Path, index: int, size: Size, seed: int) -> Base:
    """Challenge base ``index``: its classes in turn, its images drawn at random."""
    images, labels = fashion(folder)
    pair = PAIRS[(7 * index) % len(PAIRS)]
    rng = np.random.default_rng([seed, index])
    rows = rng.permutation(np.flatnonzero(np.isin(labels, pair)))[: size.records + 1]
    x = np.append(images[rows] / 255.0, np.ones((rows.size, 1)), axis=1).astype(np.float32)
    return Base(pair, x, (labels[rows] == pair[1]).astype(np.intp))


def glorot(rng: np.random.Generator, rows: int, columns: int) -> Array:
    """Glorot's uniform start, which is Keras's."""
    edge = np.sqrt(6.0 / (rows + columns))
    return rng.uniform(-edge, edge, (rows, columns)).astype(np.float32)


def released_losses(
    base: Base, kernel: Array, with_record: bool, seed: Sequence[int], fixed: bool, size: Size
) -> Array:
    """Train one network, release it with each noise, and give its losses on the image at stake.

    The first layer never leaves its start by more than a combination of the images it learned
    from: W = W0 + X' A. So A is trained in its place, with the kernel X X' for the images, which
    is the same network at 60% of the work. Of noise on W the image sees a normal deviate of
    standard deviation noise |x| in every unit.
    """
    rng = np.random.default_rng(seed)
    begin = np.random.default_rng(0) if fixed else rng
    first = np.append(glorot(begin, 784, size.units), np.zeros((1, size.units)), axis=0)
    second, last = glorot(begin, size.units, 2), np.zeros(2, dtype=np.float32)
    started = base.x @ first.astype(np.float32)
    count = size.records + int(with_record)
    truth = np.eye(2, dtype=np.float32)[base.y[:count]]
    inner = np.ascontiguousarray(kernel[:count, :count])
    a, speed = np.zeros((2, count, size.units), dtype=np.float32)
    speed_second, speed_last = np.zeros_like(second), np.zeros_like(last)
    for _ in range(size.epochs):
        order = rng.permutation(count)
        for k in range(0, count, size.batch):
            rows = order[k : k + size.batch]
            hidden = inner[rows] @ a
            hidden += started[rows]
            np.maximum(hidden, 0.0, out=hidden)
            error = (softmax(hidden @ second + last) - truth[rows]) / np.float32(rows.size)
            back = (error @ second.T) * (hidden > 0.0)
            speed *= np.float32(MOMENTUM)
            speed[rows] -= np.float32(RATE) * back
            a += speed
            speed_second *= np.float32(MOMENTUM)
            speed_second -= np.float32(RATE) * (hidden.T @ error)
            second += speed_second
            speed_last *= np.float32(MOMENTUM)
            speed_last -= np.float32(RATE) * error.sum(axis=0)
            last += speed_last
    image = (started[-1] + kernel[-1, :count] @ a).astype(float)
    length = float(np.linalg.norm(base.x[-1]))
    out = []
    for noise in NOISES:
        hidden = np.maximum(image + noise * length * rng.normal(size=size.units), 0.0)
        logits = hidden @ (second + noise * rng.normal(size=second.shape))
        logits = logits + last + noise * rng.normal(size=2)
        own, other = logits[base.y[-1]], logits[1 - base.y[-1]]
        out.append(np.logaddexp(0.0, other - own))
    return np.array(out)


def softmax(z: Array) -> Array:
    """Probabilities per row."""
    power = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(power / power.sum(axis=1, keepdims=True))


def blocks(args: argparse.Namespace, size: Size) -> Iterator[list[list[Any]]]:
    """Rows of losses, a block of models at a time, base by base, until the minutes are over."""
    pieces, end = Pieces.at(args.out / "pieces"), time.process_time() + 60.0 * args.minutes
    for index in range(args.bases):
        base, kernel = challenge(args.fashion, index, size, args.seed), None
        for fixed in (True, False):
            for start in range(0, args.models, BLOCK):
                for side in (0, 1):
                    models = range(start, min(start + BLOCK, args.models))
                    inputs = {
                        "form": (vars(size), RATE, MOMENTUM, NOISES, args.seed),
                        "place": (index, fixed, side, list(models)),
                    }
                    found = pieces.find("images", inputs)
                    if found is None:
                        if time.process_time() > end:
                            return
                        kernel = base.kernel() if kernel is None else kernel
                        made = [
                            released_losses(
                                base, kernel, bool(side),
                                (args.seed, index, int(fixed), side, model), fixed, size,
                            )
                            for model in models
                        ]  # fmt: skip
                        found = pieces.store("images", inputs, {"loss": np.array(made)})
                    yield [
                        [int(fixed), index, side, model, noise, repr(float(value))]
                        for model, row in zip(models, found["loss"], strict=True)
                        for noise, value in zip(NOISES, row, strict=True)
                    ]


def read_losses(path: Path, models: int) -> Losses:
    """Bases for which all models of both sides are there."""
    found: dict[tuple[bool, int, float], tuple[list[float], list[float]]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            key = (row["fixed"] == "1", int(row["base"]), float(row["noise"]))
            found.setdefault(key, ([], []))[int(row["side"])].append(float(row["loss"]))
    return {
        key: (np.array(zero), np.array(one))
        for key, (zero, one) in found.items()
        if min(len(zero), len(one)) >= models
    }


def logit(loss: Array) -> Array:
    """``log(p / (1 - p))`` of the confidence p in the true class, from the loss ``-log p``."""
    safe = np.maximum(loss, 1e-300)
    return np.asarray(-safe - np.log(-np.expm1(-safe)))


TESTS = {
    "normal on the loss (Algorithm 3)": (lambda v: v, "normal"),
    "normal on the logit": (logit, "normal"),
    "ranks on the logit": (logit, "ranks"),
}


def counts_of(losses: Losses, fixed: bool, noise: float, test: str) -> Array:
    """Error counts at the target, one row per base."""
    form, calibration = TESTS[test]
    return np.concatenate(
        [
            parametric.cross_fed(form(zero), form(one), [TARGET], calibration=calibration)
            for (start, _, level), (zero, one) in sorted(losses.items())
            if start == fixed and level == noise
        ]
    )


def shape_of(losses: Losses, fixed: bool, noise: float) -> list[float]:
    """Skewness and excess kurtosis of losses and of logits without the image, mean over bases."""
    own = [v[0] for (start, _, level), v in losses.items() if start == fixed and level == noise]
    return [
        float(np.mean([f(form(v)) for v in own]))
        for form in (lambda v: v, logit)
        for f in (skew, kurtosis)
    ]


def show(losses: Losses, console: Console, grid: dict[str, int]) -> list[list[Any]]:
    """Two tables: how the tests keep their target, and what the counts say of epsilon."""
    present = {n: k for n, k in ALGORITHMS.items() if any((s, e) == k for s, _, e in losses)}
    first = Table(title=f"False positives (and false negatives) at a target of {TARGET:g}")
    for name in ("", "bases", *TESTS, "loss: skew, kurtosis", "logit: skew, kurtosis"):
        first.add_column(name, justify="left" if not name else "right")
    second = Table(title=f"90% interval of epsilon, delta {DELTA:g}; bound: as if independent")
    for name in ("", "bases", "eq. 7, Algorithm 3", "beta-binomial, ranks", "strength", "bound"):
        second.add_column(name, justify="left" if not name else "right")
    rows = []
    for name, (fixed, noise) in present.items():
        by = {test: counts_of(losses, fixed, noise, test) for test in TESTS}
        rates = {
            t: (c[:, 0].sum() / c[:, 1].sum(), c[:, 2].sum() / c[:, 3].sum()) for t, c in by.items()
        }
        form = shape_of(losses, fixed, noise)
        count = len(by["ranks on the logit"])
        first.add_row(
            name, str(count), *(f"{x:.3f} ({y:.3f})" for x, y in rates.values()),
            f"{form[0]:+.2f} {form[1]:+.2f}", f"{form[2]:+.2f} {form[3]:+.2f}",
        )  # fmt: skip
        priors = EpsilonPrior(), StrengthPrior()
        as_published = correlated(
            by["normal on the loss (Algorithm 3)"], DELTA, margins="normal", **grid
        ).posterior(*priors)
        ours = correlated(by["ranks on the logit"], DELTA, **grid).posterior(*priors)
        bound = divulge.retraining(by["ranks on the logit"], deltas=(DELTA,)).bounds[0].value
        spans = [p.interval(0.9) for p in (as_published, ours)]
        strength = ours.interval(0.9, "strength")
        second.add_row(
            name, str(count), *(f"{a:.2f} - {b:.2f}" for a, b in spans),
            f"{strength[0]:.2f} - {strength[1]:.2f}", f"{bound:.3f}",
        )  # fmt: skip
        rows.append([name, count, *(v for pair in rates.values() for v in pair), *form,
                     *spans[0], *spans[1], *strength, bound])  # fmt: skip
    console.print(first)
    console.print(second)
    return rows


def main(words: Sequence[str] | None = None) -> None:
    """Train or read, then print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2 bases, 20 models, 16 units")
    parser.add_argument("--bases", type=int, default=20)
    parser.add_argument("--models", type=int, default=100, help="models per side, base and start")
    parser.add_argument("--records", type=int, default=Size.records)
    parser.add_argument("--units", type=int, default=Size.units)
    parser.add_argument("--epochs", type=int, default=Size.epochs)
    parser.add_argument("--batch", type=int, default=Size.batch)
    parser.add_argument("--minutes", type=float, default=1e9, help="of computing, then stop")
    parser.add_argument("--losses", type=Path, help="a file of losses: train nothing")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fashion", type=Path, default=Path("out/fashion-mnist"))
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(words)
    size, grid = Size(args.records, args.units, args.epochs, args.batch), {}
    begun = time.process_time()
    if args.quick:
        args.bases, args.models = min(args.bases, 2), min(args.models, 20)
        size, grid = Size(99, 16, 20, 20), {"taus": 4, "correlations": 4}
    console = Console(width=200)
    if args.losses is None:
        args.out.mkdir(parents=True, exist_ok=True)
        args.losses = args.out / "mcmc_images_losses.csv"
        with args.losses.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for rows in blocks(args, size):
                writer.writerows(rows)
        console.print(f"{time.process_time() - begun:.0f} s of computing to train or find")
    losses = read_losses(args.losses, args.models)
    if not losses:
        console.print("No base is complete yet: run again, and it goes on where it was.")
        return
    show(losses, console, grid)


if __name__ == "__main__":
    main()
