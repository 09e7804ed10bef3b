"""Power and cost of label audits, ours against the published form in one run.

    python benchmarks/attribute.py [power] [cost --records 1000000 --classes 10 [--exact]]
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

from divulge.bounds.betting import bet
from divulge.data.features import Features
from divulge.games.attribute.play import audit_records
from divulge.games.attribute.read import Records
from divulge.mechanisms.labelled import NoisyLabels
from divulge.proof.rule import Rule
from divulge.result import Result
from divulge.selftest.populations import Population
from divulge.shift.pooling import log_probabilities

CONSOLE = Console(width=200)


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
        proxy=drawn.proxy,
    )


def _bounds(result: Result, published: bool) -> tuple[float, float, float]:
    """Epsilon at delta 0, mu and epsilon at 1e-5: of the headline, or of the game as published."""
    found = [b for b in result.bounds if b.headline is not published]
    named = {(b.parameter, b.delta): b.value for b in found}
    return named["epsilon", 0.0], named["mu", None], named["epsilon", 1e-5]


def bets_on_coins(given: Records, seed: int, error: float = 0.025) -> float:
    """Epsilon by bets on fair coins between the own value and one drawn from the exact proxy.

    The audit before values were bet on themselves, with one flip per record.
    """
    rng = np.random.default_rng(seed)
    rows = np.arange(given.codes.size)
    drawn = (rng.random((rows.size, 1)) > np.cumsum(given.proxy, axis=1)).sum(axis=1)
    true = rng.random(rows.size) < 0.5
    shown = np.where(true, given.codes, np.minimum(drawn, given.proxy.shape[1] - 1))
    score = (given.log_target - given.log_proxy)[rows, shown]
    return bet(score, np.where(true, 1.0, -1.0), error=error, rng=rng).epsilon


def power(size: int = 10_000, games: int = 5) -> None:
    """Mean bounds with an exact proxy: bets and pairs beside the published game, in one run."""
    title = f"randomised response, {size} records, exact proxy, error 0.05 in all; mean of {games}"
    table = Table(title=title)
    names = ("classes", "epsilon", "epsilon at 0", "bets on coins", "published", "ratio")
    for name in (*names, "epsilon at 1e-5", "published", "ratio", "mu", "published"):
        table.add_column(name, justify="right")
    for kind, classes, epsilon in itertools.product(
        ("uniform", "gaussian"), (2, 10), (1.0, 2.0, 4.0)
    ):
        labels = NoisyLabels(kind, epsilon, classes=classes)
        found = [
            audit_records(
                records(labels, size, seed), Rule(), proxy_exact=True, seed=seed, compare=False
            )
            for seed in range(games)
        ]
        ours, theirs = (np.mean([_bounds(r, p) for r in found], axis=0) for p in (False, True))
        coins = np.mean([bets_on_coins(records(labels, size, s), s) for s in range(games)])
        cells = [f"{v:.2f}" for v in (ours[0], coins, theirs[0], ours[0] / theirs[0])]
        cells += [f"{v:.2f}" for v in (ours[2], theirs[2], ours[2] / theirs[2])]
        cells += [f"{v:.2f}" for v in (ours[1], theirs[1])]
        table.add_row(f"{classes}, {kind}", f"{epsilon:g}", *cells)
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
                Rule(()),
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
                Rule(()),
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


def cost(size: int, classes: int, repetitions: int, exact: bool) -> None:
    """Time of an audit (blind, or with an exact proxy) and peak memory of the process."""
    brought = records(
        NoisyLabels(epsilon=2.0, classes=classes, tau=0.0 if exact else 0.02), size, 0
    )
    stages: list[tuple[str, float]] = []

    def progress(stage: str, done: int, total: int) -> None:
        if not stages or stages[-1][0] != stage:
            stages.append((stage, time.perf_counter()))

    start = time.perf_counter()
    result = audit_records(
        brought,
        Rule(repetitions=repetitions),
        proxy_exact=exact,
        progress=progress,
        compare=False,
    )
    stages.append(("end", time.perf_counter()))
    how = "exact proxy" if exact else "blind"
    table = Table(title=f"{size} records, {classes} classes, {repetitions} draws, {how}")
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
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--exact", action="store_true", help="of cost: vouch for the proxy")
    given = parser.parse_args()
    chosen = given.what or ["power", "cost"]
    if "power" in chosen:
        power()
    if "cost" in chosen:
        cost(given.records, given.classes, given.repetitions, given.exact)
    if "heldout" in chosen:
        heldout(given.games)
    if "forest" in chosen:
        forest(given.games)


if __name__ == "__main__":
    main()
