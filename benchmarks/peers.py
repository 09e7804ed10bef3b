"""Coverage and power beside a peer package from PyPI, on the same scores, in one run.

    make peers        installs jax-privacy 2.0.0 into .venv-peers and runs this file

A false claim is a lower bound above the true epsilon at the same delta. Both are asked for 5%.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import logit

from divulge.bounds import Target, calibrated
from divulge.mechanisms import GaussianMechanism, Mechanism, Null
from divulge.shift import balance
from divulge.trials import Trials

DELTA, ERROR = 1e-5, 0.05


def ours(trials: Trials, rng: np.random.Generator) -> float:
    """Balanced where members and non-members are not half and half, then calibrated guesses."""
    target = Target(DELTA)
    return target.bound(calibrated(balance(trials, rng), rng, target=target, error=ERROR), ERROR)


def peer(trials: Trials, method: str) -> float:
    from jax_privacy.auditing import CanaryScoreAuditor

    auditor = CanaryScoreAuditor(trials.score[trials.truth > 0], trials.score[trials.truth < 0])
    return float(getattr(auditor, method)(ERROR, DELTA))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repetitions", type=int, default=500)
    options.add_argument("--trials", type=int, default=2000)
    chosen = options.parse_args()
    table = Table(
        "mechanism",
        "members",
        "method",
        "false claims",
        "mean bound",
        "truth",
        "time ratio",
        title=f"{chosen.trials} trials, delta {DELTA:g}, error {ERROR:g}, "
        f"{chosen.repetitions} games",
    )
    settings: list[tuple[Mechanism, float]] = [
        (Null(), 0.5),
        (Null(), 0.6),
        (GaussianMechanism(1.0), 0.5),
        (GaussianMechanism(1.0), 0.6),
    ]
    for mechanism, members in settings:
        truth = mechanism.curve.epsilon(DELTA)
        claims: dict[str, list[float]] = {}
        spent: dict[str, float] = {}
        for seed in range(chosen.repetitions):
            rng = np.random.default_rng(seed)
            trials = mechanism.sample(chosen.trials, rng, float(logit(members)))
            for name, run in {
                "divulge": lambda t=trials, r=rng: ours(t, r),
                "jax-privacy one-run": lambda t=trials: peer(t, "epsilon_one_run"),
                "jax-privacy one-run f-DP": lambda t=trials: peer(t, "epsilon_one_run_fdp"),
            }.items():
                start = time.perf_counter()
                claims.setdefault(name, []).append(run())
                spent[name] = spent.get(name, 0.0) + time.perf_counter() - start
        for name, values in claims.items():
            false = np.mean(np.array(values) > truth + 1e-9)
            table.add_row(
                mechanism.name,
                f"{members:.0%}",
                name,
                f"{false:.1%}",
                f"{np.mean(values):.3f}",
                f"{truth:.3f}",
                f"{spent[name] / spent['divulge']:.2f}",
            )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
