"""Power and cost of label audits, ours against the published form in one run.

    python benchmarks/attribute.py [power] [cost --records 1000000 --classes 10 --repetitions 100]
    python benchmarks/attribute.py heldout forest [--games 8]

Without words power and cost run.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import time

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier

from divulge.data.features import Features
from divulge.games.attribute.compared import ValueAttack
from divulge.games.attribute.play import audit_records
from divulge.games.attribute.read import Records
from divulge.mechanisms.labelled import NoisyLabels
from divulge.proof.rule import Rule
from divulge.result import Result
from divulge.selftest.populations import Population
from divulge.shift.pooling import log_probabilities

CONSOLE = Console(width=110)


def records(table: NoisyLabels, size: int, seed: int) -> Records:
    drawn = table.sample(size, np.random.default_rng(seed))
    names = tuple(f"x_{j}" for j in range(drawn.features.shape[1]))
    return Records(
        codes=drawn.codes,
        classes=tuple(str(k) for k in range(table.classes)),
        training=size,
        features=Features(drawn.features, names),
        log_target=log_probabilities(drawn.target),
        log_proxy=log_probabilities(drawn.proxy),
    )


def power(size: int = 20_000, games: int = 5) -> None:
    """Mean bound on epsilon: score and combination, one by one, with an exact proxy."""
    table = Table(title=f"{size} records, exact proxy, error 0.05 for the bet; mean of {games}")
    for name in ("epsilon", "llr, 20 replays", "llr, 1 replay", "paper's score, 1 replay", "ratio"):
        table.add_column(name, justify="right")
    for epsilon in (1.0, 2.0, 4.0):
        cells = []
        for score, replays in (("llr", 20), ("llr", 1), ("published", 1)):
            found = [
                audit_records(
                    records(NoisyLabels(epsilon=epsilon), size, seed),
                    Rule(error=0.1, repetitions=replays),
                    ValueAttack(score),
                    proxy_exact=True,
                    seed=seed,
                    compare=False,
                )
                for seed in range(games)
            ]
            cells.append(
                np.mean([next(b.value for b in r.headline() if b.delta == 0.0) for r in found])
            )
        ratio = cells[0] / cells[2] if cells[2] else float("inf")
        table.add_row(f"{epsilon:g}", *(f"{c:.2f}" for c in cells), f"{ratio:.2f}")
    CONSOLE.print(table)


def _told(table: Table, name: str, found: list[Result], *more: str) -> None:
    """A row: mean bounds, and how many audits say what."""
    bounds = [{b.parameter: b.value for b in r.headline() if b.delta in (0.0, None)} for r in found]
    cells = [f"{np.mean([b.get(p, 0.0) for b in bounds]):.2f}" for p in ("epsilon", "mu")]
    said = [sum(r.verdict.status == s for r in found) for s in ("leak", "cannot conclude")]
    robust = sum(r.verdict.robust for r in found)
    table.add_row(name, *more, *cells, str(said[0]), str(robust), str(said[1]))


def _table(title: str, *names: str) -> Table:
    table = Table(title=title)
    for name in (*names, "epsilon", "mu", "leak", "robust", "undecided"):
        table.add_column(name, justify="right")
    return table


def heldout(games: int) -> None:
    """Noisy labels, with held-out records of the same population: what is proved of them."""
    table = _table(f"noisy labels, held-out records; mean of {games}", "truth", "records", "proxy")
    for epsilon, (training, outside), proxy in itertools.product(
        (1.0, 2.0, 3.0), ((1000, 500), (2000, 2000)), (0.8, 0.4)
    ):
        population = Population("same", epsilon, proxy)
        found = [
            audit_records(
                population.sample(training, outside, np.random.default_rng(seed)),
                Rule((), repetitions=5),
                seed=seed,
                compare=False,
            )
            for seed in range(games)
        ]
        _told(table, f"{epsilon:g}", found, f"{training} + {outside}", f"knows {proxy:.0%}")
    CONSOLE.print(table)


def forest(games: int, size: int = 1000) -> None:
    """A random forest that memorises its labels, taught by these records or by others (a null)."""
    table = _table(f"{size} records of a memorising forest; mean of {games}", "taught by", "how")
    for own, outside in itertools.product((True, False), (0, size)):
        found = [
            audit_records(
                forest_records(size, outside, own, seed),
                Rule((), repetitions=5),
                seed=seed,
                compare=False,
            )
            for seed in range(games)
        ]
        how = "held-out" if outside else "blind"
        _told(table, "these records" if own else "others", found, how)
    CONSOLE.print(table)


def forest_records(size: int, outside: int, own: bool, seed: int) -> Records:
    """Labels follow a line and a wave; the proxy knows most of the line."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((2 * size + outside, 8))
    line = x[:, 0] - 0.7 * x[:, 1]
    y = (rng.random(len(x)) < expit(line + np.sin(2.5 * x[:, 2]))).astype(np.intp)
    taught = slice(0, size) if own else slice(size + outside, None)
    model = RandomForestClassifier(100, random_state=seed).fit(x[taught], y[taught])
    shown = slice(0, size + outside)
    q = expit(0.7 * line[shown])
    proxy = np.column_stack([1.0 - q, q])
    return Records(
        codes=y[shown],
        classes=("0", "1"),
        training=size,
        features=Features(x[shown], tuple(f"x_{j}" for j in range(8))),
        log_target=log_probabilities((100.0 * model.predict_proba(x[shown]) + 0.5) / 101.0),
        log_proxy=log_probabilities(proxy),
        proxy=proxy,
        heldout_target=outside > 0,
    )


def cost(size: int, classes: int, repetitions: int) -> None:
    """Time of the default audit (blind correction) and peak memory of the process."""
    brought = records(NoisyLabels(epsilon=2.0, classes=classes, tau=0.02), size, 0)
    stages: list[tuple[str, float]] = []

    def progress(stage: str, done: int, total: int) -> None:
        if not stages or stages[-1][0] != stage:
            stages.append((stage, time.perf_counter()))

    start = time.perf_counter()
    result = audit_records(brought, Rule(repetitions=repetitions), progress=progress, compare=False)
    stages.append(("end", time.perf_counter()))
    table = Table(title=f"{size} records, {classes} classes, {repetitions} repetitions")
    table.add_column("stage")
    table.add_column("seconds", justify="right")
    for (name, begun), (_, over) in itertools.pairwise(stages):
        table.add_row(name, f"{over - begun:.1f}")
    table.add_row("all", f"{stages[-1][1] - start:.1f}")
    CONSOLE.print(table)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    CONSOLE.print(f"peak memory {peak:.1f} GiB; {result.verdict.sentence}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", choices=["power", "cost", "heldout", "forest", []])
    parser.add_argument("--games", type=int, default=8)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--repetitions", type=int, default=100)
    given = parser.parse_args()
    chosen = given.what or ["power", "cost"]
    if "power" in chosen:
        power()
    if "cost" in chosen:
        cost(given.records, given.classes, given.repetitions)
    if "heldout" in chosen:
        heldout(given.games)
    if "forest" in chosen:
        forest(given.games)


if __name__ == "__main__":
    main()
