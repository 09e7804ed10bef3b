"""What can a control of real non-members see? The veto of the synthetic audit, by its size.

    python experiments/control_sight.py [--games 5] [--sizes 500 1000 2000]

Real non-members against as many generated records, drawn perfectly: three columns and a helper.
First a target that knows nothing more of the population: bets on which something is staked,
allowance and sight (``divulge.games.synthetic.control``), means over the games. Then targets
whose every answer is worth that sight (randomised response on real or generated), all of it
knowledge of the population: how often the control speaks; and the same where only every fifth real
record is known.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import expit

from divulge.games.synthetic import contest, one_by_one
from divulge.games.synthetic.control import Control
from divulge.games.synthetic.prepare import Material
from divulge.result import Result
from divulge.selftest.real_nonmembers import RealPopulation

ERROR = 0.05
FIFTH = 0.2


def control(size: int, epsilon: float, share: float, seed: int) -> Control:
    """The control of a target whose answers on a share of the records are worth epsilon."""
    rng = np.random.default_rng([seed, size])
    material = RealPopulation(size, size).material(rng)
    real, made = material.outside, material.generated
    rows = np.concatenate([real, made])
    truth = np.concatenate([np.ones(real.size), -np.ones(made.size)])
    honest = rng.random(rows.size) < expit(epsilon * (rng.random(rows.size) < share))
    loss = rng.normal(scale=0.01, size=material.seen.target.shape)
    loss[rows, 0] -= np.where(honest, truth, -truth)
    material = replace(material, seen=replace(material.seen, target=loss))
    audited = audit(material, seed)
    return Control(audited, audited, ERROR)


def audit(material: Material, seed: int) -> Result:
    """Baseline, attack, and the trials weighed one by one, as in the audit itself."""
    played = contest.play(
        material.seen,
        material.outside,
        material.generated,
        error=ERROR / 2.0,
        rng=np.random.default_rng([seed, 2]),
    )
    deltas: tuple[float, ...] = (1e-5,)
    nothing: dict[str, Any] = {}
    return one_by_one.audit(material, played, deltas, ERROR, seed, nothing, None)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--games", type=int, default=5)
    options.add_argument("--sizes", type=int, nargs="+", default=[500, 1000, 2000])
    args = options.parse_args(arguments)
    start = time.perf_counter()
    table = Table(title=f"{args.games} games a row, error {ERROR:g}")
    for heading in ("real non-members", "bets", "allowance", "sight", "silent at 0",
                    "speaks at its sight", "in a fifth of the records"):  # fmt: skip
        table.add_column(heading, justify="right")
    for size in args.sizes:
        nulls = [control(size, 0.0, 1.0, k) for k in range(args.games)]
        known = [c for c in nulls if np.isfinite(c.sight)]
        if not known:
            table.add_row(str(size), "", "", "cannot conclude", "", "", "")
            continue
        seen = float(np.mean([c.sight for c in known]))
        spoken = [
            sum(control(size, seen, share, 100 + k).speaks for k in range(args.games))
            for share in (1.0, FIFTH)
        ]
        table.add_row(
            str(size),
            f"{np.mean([c.control.trials['revealed'] / 2 for c in known]):.0f}",
            f"{np.mean([c.control.measurements['allowance_epsilon'] for c in known]):.2f}",
            f"{np.ceil(100 * seen) / 100:.2f}",
            f"{sum(not c.speaks for c in nulls)} of {args.games}",
            *(f"{n} of {args.games}" for n in spoken),
        )
    Console(width=200).print(table)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
