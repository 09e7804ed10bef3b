"""White-box audits of DP-SGD with gradient canaries, beside what ideal scores prove.

    python experiments/gradient_canaries.py [--canaries 500 5000] [--runs 40] [--kinds one-hot ...]
                                            [--complete]
                                            [--noise 0.7] [--seed 0] [--out out/gradients.csv]

A network of 105,546 parameters learns the digits of scikit-learn by Opacus (extra ``dpsgd``): 800
records, each in a step with probability 0.05, 100 steps. Gradient canaries, one coordinate or one
direction each, are included by a plan's coins; an included one takes part in a step with the same
probability as a record, and adds the clipping norm along its direction. So the guarantee that every
bound is compared with is the accountant's for this rate, noise and number of steps: that of adding
or removing one record.

*Ideal* are scores of the same mechanism without a network: ``y = b + sigma z`` in every step, b the
step's sampled coin, combined by the exact likelihood ratio, and audited in the same way. What the
real run proves less is what the other records cost; with ``--complete`` the sum of the other
records of every batch is known to the scores. Bounds are epsilon at delta 1e-5, 97.5% confidence
each. All training and all audits are in one process.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

from divulge import canaries
from divulge.attacks.gradient import mixture
from divulge.attacks.gradient_canaries import KINDS
from divulge.mechanisms import DPSGD
from divulge.result import floor_to

DELTA = 1e-5
IDEAL = "ideal"
ENOUGH = 0.9
"""The share of what ideal scores prove that the network's are to prove."""
COLUMNS = ("canaries", "scores", "run", "guarantee", "auc", "epsilon", "mu", "accuracy")


@dataclass(frozen=True)
class Setting:
    """Sizes of the experiment."""

    records: int = 800
    rate: float = 0.05
    steps: int = 100
    clip: float = 1.0
    learning_rate: float = 0.5
    hidden: tuple[int, int] = (320, 256)

    @property
    def batch(self) -> float:
        return self.rate * self.records


QUICK = Setting(steps=20, rate=0.1, hidden=(24, 16))


def guarantee(setting: Setting, noise: float) -> float:
    """The accountant's epsilon at delta, for one record more or less."""
    run = DPSGD(noise, setting.rate, setting.steps, setting.records, clip=setting.clip)
    return run.epsilon(DELTA)


def ideal(setting: Setting, noise: float, truth: np.ndarray, rng: np.random.Generator) -> Any:
    """Scores of independent canaries: each one's own sampled coin and noise, nothing else."""
    total = np.zeros(truth.size)
    for _ in range(setting.steps):
        taken = (truth > 0.0) & (rng.random(truth.size) < setting.rate)
        y = taken + noise * rng.standard_normal(truth.size)
        total += mixture((y - 0.5) / noise**2, setting.rate)
    return total


def network(setting: Setting) -> Any:
    """A network of three layers on 64 pixels."""
    import torch

    wide, narrow = setting.hidden
    layers = (torch.nn.Linear(64, wide), torch.nn.Linear(wide, narrow), torch.nn.Linear(narrow, 10))
    return torch.nn.Sequential(layers[0], torch.nn.Tanh(), layers[1], torch.nn.Tanh(), layers[2])


def parameters(setting: Setting) -> int:
    """How many the network has."""
    return sum(p.numel() for p in network(setting).parameters())


def train(
    setting: Setting, noise: float, made: Any, seed: int, complete: bool
) -> tuple[Any, float]:
    """One run of Opacus with the plan's canaries in it; their scores, and the accuracy."""
    import torch
    from opacus import PrivacyEngine

    from divulge.attacks.opacus_canaries import OpacusGradientRecorder

    torch.manual_seed(seed)
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(y.size)
    inputs = torch.tensor(x[order] / 16.0, dtype=torch.float32)
    labels = torch.tensor(y[order])
    records = torch.utils.data.TensorDataset(inputs[: setting.records], labels[: setting.records])
    model = network(setting)
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=setting.learning_rate),
        data_loader=torch.utils.data.DataLoader(records, batch_size=round(setting.batch)),
        noise_multiplier=noise,
        max_grad_norm=setting.clip,
    )
    loss, done = torch.nn.CrossEntropyLoss(), 0
    words = {"rate": setting.rate, "complete": complete, "seed": seed}
    with OpacusGradientRecorder(optimizer, made.gradients(), **words) as recorder:
        while done < setting.steps:
            for some, wanted in itertools.islice(loader, setting.steps - done):
                optimizer.zero_grad()
                loss(model(some), wanted).backward()
                optimizer.step()
                done += 1
    with torch.no_grad():
        right = model(inputs[setting.records :]).argmax(dim=1) == labels[setting.records :]
    return recorder.columns(), float(right.double().mean())


def line(result: Any) -> dict[str, float]:
    """What one audit proves."""
    bound = {(b.parameter, b.delta): b.value for b in result.headline()}
    return {
        "auc": result.measurements["auc"],
        "epsilon": floor_to(bound["epsilon", DELTA], 3),
        "mu": floor_to(bound["mu", None], 3),
    }


def play(
    setting: Setting, noise: float, count: int, kinds: Sequence[str], seed: int, complete: bool
) -> list[dict[str, Any]]:
    """One run of every kind, and ideal scores: plan, train, score, audit."""
    lines = []
    size = parameters(setting)
    for kind in (IDEAL, *kinds):
        strategy = kinds[0] if kind == IDEAL else kind
        made = canaries.plan(strategy=strategy, count=count, parameters=size, seed=seed)
        accuracy = float("nan")
        if kind == IDEAL:
            rng = np.random.default_rng([seed, count])
            scores = {"row": made.rows, "white_box": ideal(setting, noise, made.truth, rng)}
        else:
            scores, accuracy = train(setting, noise, made, seed, complete)
        result = canaries.audit(made, scores, score="white_box", deltas=(DELTA,), seed=seed)
        lines.append({"scores": kind, "accuracy": accuracy, **line(result)})
    return lines


def show(lines: Sequence[dict[str, Any]], console: Console) -> None:
    """Means over runs, beside the ideal ones, and the bounds above the guarantee."""
    table = Table()
    names = ("canaries", "scores", "runs", "guaranteed", "proven", "of ideal", "largest", "above")
    for name in (*names, "AUC", "accuracy"):
        table.add_column(name, justify="right")
    for count in dict.fromkeys(one["canaries"] for one in lines):
        for kind in dict.fromkeys(one["scores"] for one in lines):
            here = [one for one in lines if (one["canaries"], one["scores"]) == (count, kind)]
            best = [one for one in lines if (one["canaries"], one["scores"]) == (count, IDEAL)]
            found = np.array([one["epsilon"] for one in here])
            top = np.mean([one["epsilon"] for one in best])
            limit = here[0]["guarantee"]
            table.add_row(
                str(count),
                kind,
                str(len(here)),
                f"{limit:.2f}",
                f"{found.mean():.3f} +- {found.std(ddof=1) / np.sqrt(found.size):.3f}"
                if found.size > 1
                else f"{found.mean():.3f}",
                f"{found.mean() / top:.0%}" if top > 0.0 else "-",
                f"{found.max():.2f}",
                str(int((found > limit).sum())),
                f"{np.mean([one['auc'] for one in here]):.3f}",
                "" if kind == IDEAL else f"{np.mean([one['accuracy'] for one in here]):.2f}",
            )
    console.print(
        f"Proven epsilon at delta {DELTA:g}, mean over runs; guaranteed by the accountant"
    )
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small network and few steps")
    parser.add_argument("--canaries", type=int, nargs="+", help="500 and 5000; quick: 100 and 500")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--complete", action="store_true", help="the other records are known")
    parser.add_argument("--noise", type=float, default=0.7, help="noise multiplier")
    parser.add_argument("--runs", type=int, help="40; quick: 5")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/gradient-canaries.csv"))
    chosen = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")  # Opacus and torch warn of their own affairs
    console = Console(width=200)
    setting = QUICK if chosen.quick else Setting()
    counts = chosen.canaries or ([100, 500] if chosen.quick else [500, 5000])
    runs = chosen.runs or (5 if chosen.quick else 40)
    limit = guarantee(setting, chosen.noise)
    console.print(f"{parameters(setting):,} parameters")
    lines = []
    for count, run in itertools.product(counts, range(runs)):
        start = time.monotonic()
        same = {"canaries": count, "run": chosen.seed + run, "guarantee": limit}
        at = chosen.seed + run
        found = play(setting, chosen.noise, count, chosen.kinds, at, chosen.complete)
        lines += [{**same, **one} for one in found]
        took = time.monotonic() - start
        console.print(f"{count} canaries, run {chosen.seed + run}: {took:.0f} s", style="dim")
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    with chosen.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(lines)
    show(lines, console)


if __name__ == "__main__":
    main()
