"""What recording costs while Opacus trains: seconds per step and peak memory, as ratios.

    python benchmarks/recorders.py [--steps 20]        (extra dpsgd)

A network of 104,226 parameters on 800 random records, rate 0.05, one thread, each way in a process
of its own. The first step is not counted. Last layer: the recorder scores the parameters of the
last layer only, and clips by all; every fifth: it scores every fifth step.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from contextlib import nullcontext
from typing import Any

RECORDS, CANARIES, RATE, NOISE, CLIP = 800, 500, 0.05, 0.7, 1.0
WIDTHS = (64, 256, 328, 10)
WAYS = (
    "training alone",
    "OpacusRecorder, last layer",
    "OpacusRecorder, last layer, every fifth",
    "OpacusGradientRecorder, 500 one-hot",
    "OpacusGradientRecorder, 500 orthogonal",
    "OpacusWatch",
)


def private() -> tuple[Any, Any, Any, Any, Any]:
    """Model, optimizer, records and targets, as Opacus makes them private."""
    import torch
    from opacus import PrivacyEngine

    torch.set_num_threads(1)
    torch.manual_seed(0)
    x, y = torch.randn(RECORDS, WIDTHS[0]), torch.randint(0, WIDTHS[-1], (RECORDS,))
    layers: list[Any] = []
    for a, b in itertools.pairwise(WIDTHS):
        layers += [torch.nn.Linear(a, b), torch.nn.Tanh()]
    network = torch.nn.Sequential(*layers[:-1])
    data = torch.utils.data.TensorDataset(x, y)
    model, optimizer, loader = PrivacyEngine().make_private(
        module=network,
        optimizer=torch.optim.SGD(network.parameters(), lr=0.5),
        data_loader=torch.utils.data.DataLoader(data, batch_size=round(RATE * RECORDS)),
        noise_multiplier=NOISE,
        max_grad_norm=CLIP,
    )
    return model, optimizer, loader, x, y


def recorder(way: str, model: Any, optimizer: Any, x: Any, y: Any) -> Any:
    """The context around the loop."""
    from torch.nn.functional import cross_entropy

    from divulge import canaries
    from divulge.attacks.claimed_noise import NoiseClaim
    from divulge.attacks.opacus import OpacusRecorder
    from divulge.attacks.opacus_canaries import OpacusGradientRecorder
    from divulge.attacks.opacus_watch import OpacusWatch

    size = sum(p.numel() for p in model.parameters())
    if way.startswith("OpacusRecorder"):
        last = [name for name, _ in model._module.named_parameters()][-2:]
        return OpacusRecorder(
            model, optimizer, cross_entropy, (x[:CANARIES], y[:CANARIES]),
            (x[CANARIES:], y[CANARIES:]), rate=RATE, parameters=last, complete=True,
            every=5 if "fifth" in way else 1,
        )  # fmt: skip
    if way.startswith("OpacusGradientRecorder"):
        strategy = "one-hot" if "one-hot" in way else "orthogonal"
        plan = canaries.plan(strategy=strategy, count=CANARIES, parameters=size, seed=0)
        return OpacusGradientRecorder(optimizer, plan.gradients(), rate=RATE, seed=0)
    if way == "OpacusWatch":
        return OpacusWatch(optimizer, NoiseClaim(noise_multiplier=NOISE, clip=CLIP), seed=0)
    return nullcontext()


def alone(way: str, steps: int) -> None:
    """In the fresh process: train, and say how long a step took."""
    from torch.nn.functional import cross_entropy

    warnings.simplefilter("ignore")
    model, optimizer, loader, x, y = private()
    done, start = 0, 0.0
    with recorder(way, model, optimizer, x, y):
        while done <= steps:
            for inputs, targets in loader:
                optimizer.zero_grad()
                cross_entropy(model(inputs), targets).backward()
                optimizer.step()
                if done == 0:
                    start = time.process_time()
                done += 1
                if done > steps:
                    break
    spent = (time.process_time() - start) / steps
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    size = sum(p.numel() for p in model.parameters())
    print(json.dumps({"step": spent, "peak": peak, "parameters": size}))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--steps", type=int, default=20)
    options.add_argument("--alone", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.alone:
        alone(chosen.alone, chosen.steps)
        return
    found = {}
    for way in WAYS:
        words = [sys.executable, __file__, "--alone", way, "--steps", str(chosen.steps)]
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, env=env, check=True)
        found[way] = json.loads(done.stdout.splitlines()[-1])
    first = found[WAYS[0]]
    print(f"{first['parameters']:,} parameters, {RECORDS} records, {chosen.steps} steps")
    print("| way | CPU ms per step | of training alone | peak GiB | more than alone |")
    print("|---|---|---|---|---|")
    for way, f in found.items():
        print(
            f"| {way} | {1e3 * f['step']:.1f} | {f['step'] / first['step']:.2f} | "
            f"{f['peak']:.2f} | {f['peak'] - first['peak']:+.2f} |"
        )


if __name__ == "__main__":
    main()
