"""Tables 2 and 5 of Observational auditing (paper 001): clicks on advertisements, with CatBoost.

    python experiments/label_clicks.py [--records 200000] [--epsilons 0.1 1 2 4 8 inf] [--quick]

Criteo's logs are not at hand. A generator stands for them: 13 skewed numbers and 26 categories of 3
to 2,000 levels, 3% clicks, log-odds that are a known function of them. So P(click | x) is known,
and with it what a proxy should have said. Day 0 teaches the proxy, day 1 the target (all of its
records are canaries); a part of day 1 is held out, another one teaches the model of the null row.
``--drift`` moves the log-odds of day 1 by the sign of one column, so that the proxy is of another
day.

Audits: as published (sweep and 1%), and by ``divulge`` with the known P(click | x) as the prior,
which needs no correction. Every cell is kept in out/pieces. Prints tables, writes
out/label_clicks.csv. Needs the extra ``catboost``; ``--learner boosting`` does not.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import brentq
from scipy.special import expit

sys.path.insert(0, str(Path(__file__).parent))
from label_games import Row, kept, label_inference, quality, shown, write
from label_tables import DELTA, NULL

from divulge.data.features import Features
from divulge.errors import DivulgeError, MissingExtra
from divulge.games.attribute.play import audit_records
from divulge.games.attribute.read import Records
from divulge.mechanisms.labels import (
    PriorLabels,
    RandomisedLabels,
    StagedLabels,
    TeacherLabels,
    scale_of_votes,
    vote_scale,
)
from divulge.proof.rule import Rule
from divulge.result import floor_to
from divulge.shift.pooling import log_probabilities
from divulge.types import Array, Index
from divulge.work.pieces import Pieces

EPSILONS = (0.1, 1.0, 2.0, 4.0, 8.0, math.inf)
NUMBERS, POSITIVES = 13, 0.03
LEVELS = np.round(np.geomspace(3, 2000, 26)).astype(int)


@dataclass(frozen=True)
class Clicks:
    """Records of one day: numbers, codes of levels by falling frequency, and P(click | x)."""

    x: Array = field(repr=False)
    y: Index = field(repr=False)
    truth: Array = field(repr=False)

    def part(self, rows: slice) -> Clicks:
        """Some of the records."""
        return Clicks(self.x[rows], self.y[rows], self.truth[rows])


class World:
    """What the log-odds of a click are made of; the same on every day but for the drift."""

    def __init__(self, seed: int, drift: float = 0.0) -> None:
        rng = np.random.default_rng([seed, 9])
        self.drift = drift
        self.slopes = rng.normal(scale=0.25, size=NUMBERS)
        self.effects = [rng.normal(scale=0.35, size=n) for n in LEVELS]
        found = self._without_base(self._records(20_000, rng))
        self.base = float(brentq(lambda b: float(expit(found + b).mean()) - POSITIVES, -15.0, 5.0))

    def _records(self, size: int, rng: np.random.Generator) -> Array:
        normal = rng.standard_normal((size, NUMBERS))
        codes = []
        for n in LEVELS:
            share = 1.0 / np.arange(1.0, n + 1.0)
            total = np.cumsum(share / share.sum())
            codes.append(np.minimum(np.searchsorted(total, rng.random(size)), n - 1))
        return np.column_stack([normal, *codes])

    def _without_base(self, x: Array) -> Array:
        found = x[:, :NUMBERS] @ self.slopes + 0.4 * np.maximum(x[:, 0], 0.0) * (x[:, 1] > 0.0)
        for j, effect in enumerate(self.effects):
            found += effect[x[:, NUMBERS + j].astype(np.intp)]
        return np.asarray(found)

    def day(self, number: int, size: int, seed: int) -> Clicks:
        """The records of one day."""
        rng = np.random.default_rng([seed, number])
        x = self._records(size, rng)
        one = expit(self._without_base(x) + self.base + number * self.drift * np.sign(x[:, 2]))
        y = (rng.random(size) < one).astype(np.intp)
        numbers = x[:, :NUMBERS]
        skewed = np.sign(numbers) * np.expm1(np.abs(numbers))
        seen = np.column_stack([skewed, x[:, NUMBERS:]])
        return Clicks(seen, y, np.column_stack([1.0 - one, one]))


def learner(name: str, iterations: int, seed: int | None = None) -> Any:
    """Gradient boosting."""
    if name == "catboost":
        try:
            from catboost import CatBoostClassifier
        except ImportError:
            raise MissingExtra("catboost", "catboost") from None
        quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
        return CatBoostClassifier(
            iterations=iterations, depth=6, learning_rate=0.15, random_seed=seed or 0, **quiet
        )
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=iterations, learning_rate=0.15, early_stopping=False, random_state=seed
    )


@dataclass(frozen=True)
class Bench:
    """Four parts and the proxy."""

    yesterday: Clicks
    target: Clicks
    outside: Clicks
    other: Clicks
    proxy: Any
    make: Callable[[], Any]
    teachers: int
    queries: int
    seed: int

    def pate(self, epsilon: float, options: Row) -> TeacherLabels:
        """The noise by data-dependent accounting of the votes of yesterday's teachers."""
        shared: Row = {"teachers": self.teachers, "queries": self.queries, **options}
        if math.isinf(epsilon):
            return TeacherLabels(self.make(), epsilon, DELTA, **shared)
        public = TeacherLabels(self.make(), None, DELTA, scale=0.0, **shared)
        votes = public.fit(self.yesterday.x, self.yesterday.y).noisy_votes_
        start = vote_scale(epsilon, DELTA, self.queries)
        scale = scale_of_votes(votes, epsilon, DELTA, start)
        return TeacherLabels(self.make(), None, DELTA, scale=scale, **shared)


MECHANISMS: dict[str, Callable[[Bench, float, Row], Any]] = {
    "LP-1ST": lambda b, e, o: RandomisedLabels(b.make(), e, **o),
    "LP-1ST, domain prior": lambda b, e, o: PriorLabels(b.make(), e, prior=b.proxy, **o),
    "LP-1ST, noise correction": lambda b, e, o: PriorLabels(
        b.make(), e, noise_correction=True, folds=2, **o
    ),
    "LP-2ST": lambda b, e, o: StagedLabels(b.make(), e, stages=2, **o),
    "PATE": lambda b, e, o: b.pate(e, o),
}


def known_prior(clicks: Clicks, p: Array, seed: int) -> Row:
    """Our bounds with the true P(click | x) as the prior."""
    records = Records(
        codes=clicks.y,
        classes=("0", "1"),
        training=clicks.y.size,
        features=Features(clicks.x[:, :NUMBERS], tuple(f"x{j}" for j in range(NUMBERS))),
        log_target=log_probabilities(p),
        log_proxy=log_probabilities(clicks.truth),
        proxy=clicks.truth,
    )
    result = audit_records(records, Rule((DELTA,)), proxy_exact=True, seed=seed, compare=False)
    found = {b.delta: b.value for b in result.headline() if b.parameter == "epsilon"}
    return {"ours": found.get(0.0, 0.0), "ours_1e-5": found.get(DELTA, 0.0)}


def cell(bench: Bench, mechanism: str, epsilon: float, repetitions: int) -> Row:
    """Train one learner and audit it."""
    start, null = time.perf_counter(), mechanism == NULL
    taught = bench.other if null else bench.target
    options: Row = {"random_state": bench.seed, "classes": np.arange(2)}
    model = MECHANISMS["LP-1ST" if null else mechanism](bench, epsilon, options)
    model.fit(taught.x, taught.y)
    canaries, rng = bench.target, np.random.default_rng(bench.seed)
    p, q = (m.predict_proba(canaries.x) for m in (model, bench.proxy))
    limit = 0.0 if null else epsilon
    out = label_inference(canaries.y, p, q, limit, repetitions, rng)
    out |= known_prior(canaries, p, bench.seed)
    out |= quality(model.predict_proba(bench.outside.x), bench.outside.y)
    out["spent"] = getattr(model, "spent_", None) or math.nan
    return {**out, "seconds": time.perf_counter() - start}


FIGURES: dict[str, Callable[[Row], str]] = {
    "sweep (Table 2)": lambda r: shown(r, "sweep"),
    "1%": lambda r: shown(r, "one_percent"),
    "log-loss (Table 5)": lambda r: f"{r['log_loss']:.3f}",
    "ours, known prior, delta 0 / 1e-5": lambda r: (
        f"{floor_to(r['ours'], 2):.2f} / {floor_to(r['ours_1e-5'], 2):.2f}"
    ),
    "spent": lambda r: "-" if math.isnan(r["spent"]) else f"{r['spent']:.2f}",
}


def show(rows: list[Row], console: Console) -> None:
    """One block per figure."""
    across = list(dict.fromkeys(r["epsilon"] for r in rows))
    for figure, text in FIGURES.items():
        table = Table(figure, *(f"{e:g}" for e in across))
        for name in dict.fromkeys(r["mechanism"] for r in rows):
            same = {r["epsilon"]: r for r in rows if r["mechanism"] == name}
            cells = [text(same[e]) if e in same else "" for e in across]
            if any(c not in ("", "-") for c in cells):
                table.add_row(name, *cells)
        if table.row_count:
            console.print(table)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--records", type=int, default=200_000, help="canaries")
    options.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    options.add_argument("--mechanisms", nargs="*", default=[*MECHANISMS], choices=[*MECHANISMS])
    options.add_argument("--repetitions", type=int, default=100)
    options.add_argument("--iterations", type=int, default=100, help="trees")
    options.add_argument("--teachers", type=int, default=50)
    options.add_argument("--queries", type=int, default=4000, help="of PATE")
    options.add_argument("--drift", type=float, default=0.0, help="of the log-odds, in a day")
    options.add_argument("--learner", default="catboost", choices=("catboost", "boosting"))
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=Path("out"))
    options.add_argument("--quick", action="store_true", help="5,000 records, two epsilons")
    args = options.parse_args(arguments)
    if args.quick:
        args.records, args.epsilons, args.repetitions = 5000, [1.0, math.inf], 5
        args.iterations, args.teachers, args.queries = 20, 5, 500
    console, start = Console(width=200), time.perf_counter()
    n, world = args.records, World(args.seed, args.drift)
    yesterday, today = world.day(0, n, args.seed), world.day(1, 5 * n // 2, args.seed)
    parts = [today.part(slice(*ends)) for ends in ((0, n), (n, n + n // 2), (n + n // 2, None))]

    def make() -> Any:
        return learner(args.learner, args.iterations)

    proxy = make().fit(yesterday.x, yesterday.y)
    for name, p in (("proxy", proxy.predict_proba(parts[1].x)), ("truth", parts[1].truth)):
        found = quality(p, parts[1].y)
        console.print(f"{name}: log-loss {found['log_loss']:.4f} on held-out records of day 1")
    console.print(f"{n} canaries, {parts[0].y.mean():.1%} clicks")
    sizes = (args.teachers, args.queries, args.seed)
    bench = Bench(yesterday, *parts, proxy, make, *sizes)
    where = {"records": n, "sizes": sizes, "iterations": args.iterations, "drift": args.drift}
    where |= {"learner": args.learner, "repetitions": args.repetitions}
    pieces, rows = Pieces(args.out / "pieces"), []
    for epsilon in args.epsilons:
        for mechanism in (*args.mechanisms, NULL):
            inputs = {**where, "mechanism": mechanism, "epsilon": epsilon}
            found = kept(
                pieces,
                "label-clicks",
                inputs,
                lambda m=mechanism, e=epsilon: cell(bench, m, e, args.repetitions),  # type: ignore[misc]
            )
            rows.append({"mechanism": mechanism, "epsilon": epsilon, **found})
            spent = time.perf_counter() - start
            console.print(f"{mechanism}, {epsilon:g}: {spent:.0f} s", style="dim")
        write(rows, args.out / "label_clicks.csv")
    show(rows, console)
    console.print(f"Wrote {args.out / 'label_clicks.csv'}; {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    try:
        main()
    except DivulgeError as problem:
        sys.exit(str(problem))
