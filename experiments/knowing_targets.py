"""Targets that know the population: what features, helpers and the ladder leave of a false claim.

    python experiments/knowing_targets.py [--members 5000] [--columns 10] [--seeds 1] [--rows ...]

The label is a function that is long to learn and has drifted since; boosting learned it from many
other records of the members' population and saw none of the audited ones
(``divulge.mechanisms.knowing``). So whatever a bound claims above 0 is false, but for the rows
whose target *saw* its members. Helpers are boosting as well, taught by half of the members each.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table

from divulge.data.features import Features
from divulge.games.membership.play import audit_pools
from divulge.games.membership.pools import Pools
from divulge.mechanisms.knowing import Knowing
from divulge.proof.rule import Rule
from divulge.result import Result, floor_to
from divulge.shift.helper_losses import FEWEST, table_lessons

ROWS = {
    "trees 5k": Knowing("trees", 5000),
    "trees 20k": Knowing("trees", 20_000),
    "trees 60k": Knowing("trees", 60_000),
    "waves 60k": Knowing("waves", 60_000),
    "parity 60k": Knowing("parity", 60_000),
    "trees, seen": Knowing("trees", 100, seen=True),
}
HEADINGS = ("target", "seed", "features", "helpers", "verdict", "adjusted", "doublings", "seconds")
"""The seconds are those that the processor spent on the audit with helpers and ladder."""


def audits(population: Knowing, members: int, seed: int) -> list[str]:
    """The audit with features only, and with helpers; epsilon at delta 0."""
    world = population.sample(members, members, np.random.default_rng(seed))
    x = (world.x - world.x.mean(axis=0)) / world.x.std(axis=0)
    label = (world.label - world.label.mean()) / world.label.std()
    shown = np.column_stack([x, label])
    plain = Pools(
        truth=world.truth,
        score=-world.loss[:, None],
        features=Features(shown, tuple(f"column {j}" for j in range(shown.shape[1]))),
        reference=None,
        propensity=None,
        score_names=("loss",),
        inputs=(),
    )
    rule = Rule((), 0.05, ("balanced", "prior"))
    before = audit_pools(plain, rule, seed=seed)
    size = population.target + (members if population.seen else 0)
    helped = Pools(
        **{
            **{name: getattr(plain, name) for name in Pools.__dataclass_fields__},
            "lessons": table_lessons(None, x, world.label.tolist(), "boosting"),
            "helpers": FEWEST,
            "training_size": size,
        }
    )
    start = time.process_time()
    after = audit_pools(helped, rule, seed=seed)
    seconds = time.process_time() - start
    ladder = after.diagnostics.ladder
    adjusted, doublings = "-", "-"
    if ladder is not None:
        found = ladder.adjusted_epsilon
        adjusted = "not extrapolable" if found is None else f"{floor_to(found, 3):.3f}"
        doublings = "-" if ladder.doublings is None else f"{ladder.doublings:.1f}"
    said = after.verdict.status + (", robust" if after.verdict.robust else "")
    return [epsilon(before), epsilon(after), said, adjusted, doublings, f"{seconds:.0f}"]


def epsilon(result: Result) -> str:
    """The bound by bets, also where no verdict rests on it; a dash where there is none."""
    found = [b.value for b in result.bounds if b.method == "betting"]
    robust = ", robust" if result.verdict.robust else ""
    return f"{floor_to(found[0], 3):.3f}{robust}" if found else "-"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description="Targets that know the population.")
    options.add_argument("--members", type=int, default=5000, help="and as many non-members")
    options.add_argument("--columns", type=int, default=10)
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    args = options.parse_args(arguments)
    log, table = Console(stderr=True), Table(title="epsilon at delta 0, error 5%")
    for heading in HEADINGS:
        table.add_column(heading)
    for name in args.rows:
        population = replace(ROWS[name], columns=args.columns)
        for seed in range(args.seeds):
            row = [name, str(seed), *audits(population, args.members, seed)]
            log.print(" | ".join(row))
            table.add_row(*row)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
