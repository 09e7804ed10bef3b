"""One-run audits of DP-SGD on handwritten digits: black box and white box, two kinds of canaries.

    python experiments/dp_sgd.py [--plain] [--quick] [--noise 0.4 0.7 1.5] [--runs 2] [--seed 0]
                                 [--out out/dp-sgd.csv]

A model learns the digits of scikit-learn by DP-SGD. Half of the records are canaries: each was
included by the flip of a coin, fixed before training. Afterwards an attacker guesses the coins,

- *black box* from the loss of the final model,
- *as published* from every step, by 004's Algorithm 7 (maximum over steps) with the noise in it,
- *white box* from every step, knowing all the other records, steps combined as a mixture,

and the audit says what the guesses prove: epsilon at delta 1e-5, with 97.5% confidence each.
Canaries are random, or the records whose clipped gradients stand out in a rehearsal on all the data
(Algorithm 6, noise-aware). Beside it stands the epsilon that the accountant guarantees.

With Opacus (extra ``dpsgd``) the model is a small network; ``--plain`` trains logistic regression
on random Fourier features in numpy. The table shows means over the runs; every run's bound holds on
its own and is a line of the CSV file.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import itertools
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import RBFSampler

from divulge import canaries
from divulge.attacks.gradient import GradientSteps, Recorder
from divulge.mechanisms import DPSGD
from divulge.result import floor_to

DELTA = 1e-5
STRATEGIES = ("mahalanobis", "random")
ATTACKS = ("black box", "as published", "white box")
COLUMNS = ("noise", "guarantee", "canaries", "run", "attack", "auc", "epsilon", "mu", "accuracy")
ENOUGH = 2.0
"""How many times the black box's epsilon the white box is to prove at the lowest noise."""


@dataclass(frozen=True)
class Setting:
    """Sizes of the experiment."""

    records: int = 800
    canaries: int = 500
    rate: float = 0.05
    steps: int = 100
    clip: float = 0.3
    learning_rate: float = 3.0
    features: int = 96
    bandwidth: float = 0.2
    hidden: int = 16
    rehearsed: int = 5

    @property
    def nominal(self) -> int:
        """Records in training, as far as the attacker knows."""
        return self.records - self.canaries // 2

    @property
    def batch(self) -> float:
        return self.rate * self.nominal


QUICK = Setting(records=600, canaries=300, rate=0.1, steps=30, features=64)


@dataclass(frozen=True)
class Digits:
    """Pixels, features and labels, and which records are the canaries and in training."""

    pixels: np.ndarray
    features: np.ndarray
    labels: np.ndarray

    def some(self, rows: np.ndarray) -> Digits:
        return Digits(self.pixels[rows], self.features[rows], self.labels[rows])


@dataclass(frozen=True)
class Run:
    """What a training run is given."""

    training: Digits
    canaries: Digits
    others: Digits
    """All records in training that are no canaries."""
    test: Digits
    setting: Setting
    noise: float
    seed: int


Scores = dict[str, np.ndarray]
Train = Callable[[Run], tuple[Scores, np.ndarray]]
"""A run to the scores of its canaries, and its predictions of the test records."""
Rehearse = Callable[[Digits, Setting, float, int], list[Any]]
"""Clipped gradients of all records at some steps of a run on all of them."""


def digits(setting: Setting, seed: int) -> tuple[Digits, Digits]:
    """A random part of the digits and the rest, with random Fourier features."""
    x, y = load_digits(return_X_y=True)
    x = x / 16.0
    kernel = RBFSampler(gamma=setting.bandwidth, n_components=setting.features, random_state=0)
    whole = Digits(x, kernel.fit_transform(x), y.astype(np.intp))
    order = np.random.default_rng(seed).permutation(y.size)
    return whole.some(order[: setting.records]), whole.some(order[setting.records :])


def mechanism(setting: Setting, noise: float) -> DPSGD:
    """DP-SGD as it is trained and accounted for."""
    return DPSGD(
        noise_multiplier=noise,
        rate=setting.rate,
        steps=setting.steps,
        records=setting.nominal,
        classes=10,
        clip=setting.clip,
        learning_rate=setting.learning_rate,
    )


def plain(given: Run) -> tuple[Scores, np.ndarray]:
    """Logistic regression in numpy."""
    run, shown, others = mechanism(given.setting, given.noise), given.canaries, given.others
    known = GradientSteps(run.rate, run.batch, run.clip, run.noise_multiplier)

    def recorder(complete: bool) -> Recorder:
        return Recorder(
            known,
            run.learning_rate,
            lambda theta: run.gradients(theta, shown.features, shown.labels),
            lambda theta: run.gradients(theta, others.features, others.labels),
            complete=complete,
        )

    white, published = recorder(True), recorder(False)
    theta = run.start(given.setting.features)
    rng = np.random.default_rng(given.seed)
    for before, theta in run.train(given.training.features, given.training.labels, rng):
        white.step(before, theta)
        published.step(before, theta)
    weights = theta.reshape(10, -1)
    predicted = np.argmax(given.test.features @ weights[:, :-1].T + weights[:, -1], axis=1)
    return {
        "black box": -run.losses(theta, shown.features, shown.labels),
        "as published": published.scores.maximum,
        "white box": white.scores.total,
    }, predicted


def rehearse_plain(data: Digits, setting: Setting, noise: float, seed: int) -> list[Any]:
    """By logistic regression."""
    run = mechanism(setting, noise)
    every = max(1, setting.steps // setting.rehearsed)
    thetas = run.train(data.features, data.labels, np.random.default_rng(seed))
    return [
        {"g": run.gradients(theta, data.features, data.labels)}
        for k, (theta, _) in enumerate(thetas)
        if k % every == 0
    ]


def _private(training: Digits, setting: Setting, noise: float, seed: int) -> tuple[Any, ...]:
    import torch
    from opacus import PrivacyEngine

    torch.manual_seed(seed)
    layers = (torch.nn.Linear(64, setting.hidden), torch.nn.Linear(setting.hidden, 10))
    model = torch.nn.Sequential(layers[0], torch.nn.Tanh(), layers[1])
    optimizer = torch.optim.SGD(model.parameters(), lr=setting.learning_rate)
    batches = round(1.0 / setting.rate)
    records = torch.utils.data.TensorDataset(*_tensors(training))
    loader = torch.utils.data.DataLoader(records, batch_size=-(-len(records) // batches))
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        noise_multiplier=noise,
        max_grad_norm=setting.clip,
    )
    optimizer.expected_batch_size = setting.batch  # a public number, not that of the included
    return model, optimizer, loader


def _steps(model: Any, optimizer: Any, loader: Any, steps: int) -> Any:
    import torch

    loss = torch.nn.CrossEntropyLoss()
    done = 0
    while done < steps:
        for x, y in loader:
            yield done
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()
            done += 1
            if done == steps:
                return


def _tensors(data: Digits) -> tuple[Any, Any]:
    import torch

    return torch.tensor(data.pixels, dtype=torch.float32), torch.tensor(data.labels)


def opacus(given: Run) -> tuple[Scores, np.ndarray]:
    """A small network, by Opacus."""
    import torch

    from divulge.attacks.opacus import OpacusRecorder

    rate, steps = given.setting.rate, given.setting.steps
    model, optimizer, loader = _private(given.training, given.setting, given.noise, given.seed)
    loss = torch.nn.functional.cross_entropy
    words = (loss, _tensors(given.canaries), _tensors(given.others))
    recorders = [
        OpacusRecorder(model, optimizer, *words, rate=rate, complete=complete)
        for complete in (True, False)
    ]
    with recorders[0] as white, recorders[1] as published:
        for _ in _steps(model, optimizer, loader, steps):
            pass
    x, y = _tensors(given.canaries)
    with torch.no_grad():
        losses = loss(model(x), y, reduction="none")
        predicted = model(_tensors(given.test)[0]).argmax(dim=1).numpy()
    return {
        "black box": -losses.double().numpy(),
        "as published": published.columns()["white_box_max"],
        "white box": white.columns()["white_box"],
    }, predicted


def rehearse_opacus(data: Digits, setting: Setting, noise: float, seed: int) -> list[Any]:
    """By the network."""
    import torch

    from divulge.attacks.opacus import OpacusRecorder

    model, optimizer, loader = _private(data, setting, noise, seed)
    loss, records = torch.nn.functional.cross_entropy, _tensors(data)
    watch = OpacusRecorder(model, optimizer, loss, records, records, rate=setting.rate)
    every = max(1, setting.steps // setting.rehearsed)
    steps = _steps(model, optimizer, loader, setting.steps)
    return [{"g": watch.clipped(records)} for k in steps if k % every == 0]


def play(
    setting: Setting, noise: float, strategy: str, seed: int, train: Train, rehearse: Rehearse
) -> list[dict[str, Any]]:
    """One run: plan, train, score, audit. One line per attack."""
    data, test = digits(setting, seed)
    made = canaries.plan(
        {"x": data.pixels},
        count=setting.canaries,
        strategy=strategy,
        gradients=rehearse(data, setting, noise, seed) if strategy == "mahalanobis" else (),
        noise=noise * setting.clip / setting.batch,
        averaged=setting.batch,
        seed=seed,
    )
    rows = np.array(made.rows)
    outside = np.setdiff1d(np.arange(setting.records), rows)
    used = np.sort(np.concatenate([outside, rows[np.array(made.included)]]))
    parts = (data.some(used), data.some(rows), data.some(outside), test)
    scores, predicted = train(Run(*parts, setting, noise, seed + 1000))
    lines = []
    for attack in ATTACKS:
        table = {"row": rows, "score": scores[attack]}
        result = canaries.audit(made, table, score="score", deltas=(DELTA,), seed=seed)
        bound = {(b.parameter, b.delta): b.value for b in result.headline()}
        lines.append(
            {
                "attack": attack,
                "auc": result.measurements["auc"],
                "epsilon": floor_to(bound["epsilon", DELTA], 3),
                "mu": floor_to(bound["mu", None], 3),
                "accuracy": float(np.mean(predicted == test.labels)),
            }
        )
    return lines


def experiment(
    setting: Setting,
    noises: Sequence[float],
    runs: int,
    seed: int,
    no_torch: bool,
    console: Console,
) -> list[dict[str, Any]]:
    """Every noise, kind of canary and run."""
    train, rehearse = (plain, rehearse_plain) if no_torch else (opacus, rehearse_opacus)
    lines = []
    for noise, strategy, run in itertools.product(sorted(noises), STRATEGIES, range(runs)):
        start, at = time.monotonic(), seed + run
        guarantee = mechanism(setting, noise).epsilon(DELTA)
        found = play(setting, noise, strategy, at, train, rehearse)
        same = {"noise": noise, "guarantee": guarantee, "canaries": strategy, "run": at}
        lines += [{**same, **line} for line in found]
        took = time.monotonic() - start
        console.print(f"noise {noise:g}, {strategy}, run {at}: {took:.0f} s", style="dim")
    return lines


def means(lines: Sequence[dict[str, Any]], noise: float, strategy: str, attack: str) -> np.ndarray:
    """AUC, epsilon and accuracy, averaged over runs."""
    chosen = [
        (line["auc"], line["epsilon"], line["accuracy"])
        for line in lines
        if (line["noise"], line["canaries"], line["attack"]) == (noise, strategy, attack)
    ]
    return np.array(chosen).mean(axis=0)


def show(lines: Sequence[dict[str, Any]], console: Console) -> None:
    """The table, and what it says of the white box."""
    table = Table()
    for name in ("noise", "guaranteed", "canaries", "accuracy"):
        table.add_column(name, justify="right")
    for attack in ATTACKS:
        table.add_column(f"{attack}: epsilon (AUC)", justify="right")
    for noise in dict.fromkeys(line["noise"] for line in lines):
        guarantee = next(line["guarantee"] for line in lines if line["noise"] == noise)
        for strategy in STRATEGIES:
            found = [means(lines, noise, strategy, attack) for attack in ATTACKS]
            cells = [f"{floor_to(f[1], 2):.2f} ({f[0]:.2f})" for f in found]
            table.add_row(f"{noise:g}", f"{guarantee:.2f}", strategy, f"{found[0][2]:.2f}", *cells)
    console.print(
        f"Proven epsilon at delta {DELTA:g}, mean over runs; guaranteed by the accountant"
    )
    console.print(table)
    console.print(verdict(lines))


def verdict(lines: Sequence[dict[str, Any]]) -> str:
    """Whether the white box proves at least twice as much at the lowest noise, or why not."""
    noise = min(line["noise"] for line in lines)
    told = []
    for strategy in STRATEGIES:
        black, white = (means(lines, noise, strategy, a)[1] for a in ("black box", "white box"))
        said = f"at least {ENOUGH:g} times as much."
        if white == 0.0 or white < ENOUGH * black:
            said = (
                f"not {ENOUGH:g} times as much. The gradients of the other records in a batch hide "
                "a canary's: more parameters, smaller batches or more canaries would help."
            )
        both = f"white box {floor_to(white, 2):.2f}, black box {floor_to(black, 2):.2f}"
        told.append(f"{strategy}: {both}: {said}")
    return f"At noise {noise:g}, " + " ".join(told)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plain", action="store_true", help="numpy instead of Opacus")
    parser.add_argument("--quick", action="store_true", help="fewer records, steps and runs")
    parser.add_argument("--noise", type=float, nargs="+", default=None, help="noise multipliers")
    parser.add_argument("--runs", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/dp-sgd.csv"))
    chosen = parser.parse_args(arguments)
    setting = QUICK if chosen.quick else Setting()
    noises = chosen.noise or ([0.4, 1.5] if chosen.quick else [0.4, 0.7, 1.5])
    runs = chosen.runs or (1 if chosen.quick else 2)
    missing = [m for m in ("torch", "opacus") if importlib.util.find_spec(m) is None]
    if missing and not chosen.plain:
        sys.exit(f"{missing[0]} is not installed: run `make dpsgd`, or give --plain.")
    warnings.filterwarnings("ignore")  # torch and Opacus warn of hooks and of their generator
    console = Console(highlight=False)
    lines = experiment(setting, noises, runs, chosen.seed, chosen.plain, console)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    with chosen.out.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(lines)
    show(lines, console)
    console.print(f"Wrote {chosen.out}")


if __name__ == "__main__":
    main()
