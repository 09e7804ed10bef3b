"""Figures 2 and 3 of Observational auditing (paper 001) at their size.

    python experiments/label_figures.py [--records 1000000] [--repetitions 100] [--quick]

The published procedure of ``label_privacy.py`` on a million records and with a hundred games for
every theoretical epsilon, number of classes and proxy; 0.1% of the records are guessed (Figure 2)
or 1% (Figure 3). Two adversaries: one holds the posterior of the label given x and its noisy label,
one takes the noisy label as certain; the paper does not say which it played. Each has two figures:
the largest rejected mu converted to epsilon at 1e-5 (as published), and the same counts tested
against f_{epsilon,delta} directly.

A game first plays the records with the largest scores, and the others only where one of them might
be among the guessed ones: the counts are those of playing all. Every cell is kept in out/pieces, so
a run that was stopped goes on. Prints tables, writes out/label_figures.csv.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parent))
from label_privacy import (
    CLASSES,
    EPSILONS,
    LOGISTIC,
    SHARES,
    TRUTH,
    Published,
    Row,
    World,
    converted,
    direct,
    logistic_proxy,
    released,
    show,
    summary,
    world,
)

from divulge.types import Array, Index
from divulge.work.pieces import Arrays, Pieces

ADVERSARIES = ("posterior", "noisy label")
NEAR = 0.97
"""The share of one game's smallest guessed |score| below which a record is played last."""
FIELDS = ("classes", "epsilon", "proxy", "method", "share", "mean", "sd", "largest", "above")
FIELDS += ("count",)


@dataclass(frozen=True)
class Focused:
    """The published adversary, who first plays the records that are likely to be guessed."""

    first: Published = field(repr=False)
    rest: Published = field(repr=False)
    limit: float
    """No record of the rest has a larger |score|, whatever label is shown with it."""

    @staticmethod
    def of(every: Published, guesses: int, rng: np.random.Generator) -> Focused:
        """First come the records whose |score| may reach what one game needed, or nearly."""
        score, _ = _shown(every, rng)
        limit = NEAR * float(-np.partition(-np.abs(score), guesses - 1)[guesses - 1])
        first = np.abs(every.score).max(axis=1) > limit
        return Focused(_part(every, first), _part(every, ~first), limit)

    def play(self, guesses: Index, rng: np.random.Generator) -> Index:
        """Correct guesses for each number of guesses; the rest is played only if it matters."""
        most = int(guesses.max())
        score, true = _shown(self.first, rng)
        if score.size < most or -np.partition(-np.abs(score), most - 1)[most - 1] <= self.limit:
            more = _shown(self.rest, rng)
            score, true = (np.concatenate(pair) for pair in zip((score, true), more, strict=True))
        order = np.argsort(-np.abs(score), kind="stable")[:most]
        right = np.cumsum(((score > 0.0) == (true > 0.5))[order])
        return np.asarray(right[guesses - 1], dtype=np.intp)


def _part(every: Published, rows: npt.NDArray[np.bool_]) -> Published:
    return Published(every.codes[rows], every.total[rows], every.score[rows])


def _shown(p: Published, rng: np.random.Generator) -> tuple[Array, Array]:
    """The score of the label shown with each record, and 1 where it is the true one."""
    size = p.codes.size
    true = rng.random(size) < 0.5
    uniforms = rng.random(size) * p.total[:, -1]
    drawn = (uniforms[:, None] >= p.total[:, :-1]).sum(axis=1)
    return p.score[np.arange(size), np.where(true, p.codes, drawn)], true.astype(float)


def cell(case: Published, limit: float, times: int, rng: np.random.Generator) -> Iterator[Row]:
    """What is claimed at both shares, converted and directly."""
    size = case.codes.size
    guesses = np.maximum(1, np.round(np.asarray(SHARES) * size)).astype(np.intp)
    focused = Focused.of(case, int(guesses.max()), rng)
    right = np.array([focused.play(guesses, rng) for _ in range(times)])
    for i, share in enumerate(SHARES):
        different = np.unique(right[:, i], return_inverse=True)
        for name, claim in (("published", converted), ("direct", direct)):
            of_count = np.array([claim(size, guesses[[i]], c[None]) for c in different[0]])
            yield {"method": name, "share": share, **summary(of_count[different[1]], limit)}


def certain(target: Array, truth: Array) -> Array:
    """The noisy label, which the posterior shows, taken as certain."""
    return np.asarray(np.eye(truth.shape[1])[(target / truth).argmax(axis=1)])


def figures(
    classes: int, epsilons: Sequence[float], records: int, times: int, pieces: Pieces
) -> Iterator[Row]:
    """Every epsilon, both proxies, both adversaries; a cell is computed once."""
    given: World | None = None
    proxies: dict[str, Array] = {}
    for epsilon in epsilons:
        target: Array | None = None
        for name in (TRUTH, LOGISTIC):
            for adversary in ADVERSARIES:
                inputs = {"records": records, "times": times, "classes": classes}
                inputs |= {"epsilon": epsilon, "proxy": name, "adversary": adversary}
                kept = pieces.find("label-figures", inputs)
                if kept is None:
                    if given is None:
                        rng = np.random.default_rng([2, classes, records])
                        given = world(records, classes, rng)
                        proxies = {TRUTH: given.truth, LOGISTIC: logistic_proxy(given, rng)}
                    seed = [classes, round(100 * epsilon), records]
                    if target is None:
                        target = released(given, epsilon, np.random.default_rng([3, *seed]))
                    said = target if adversary == "posterior" else certain(target, given.truth)
                    case = Published.of(given.codes, said, proxies[name])
                    place = [4, *seed, name == TRUTH, adversary == "posterior"]
                    rows = [*cell(case, epsilon, times, np.random.default_rng(place))]
                    kept = pieces.store("label-figures", inputs, packed(rows))
                where = {"classes": classes, "epsilon": epsilon, "proxy": name}
                for row in unpacked(kept):
                    yield {**where, **row, "method": f"{row['method']}, {adversary}"}


def packed(rows: Sequence[Row]) -> Arrays:
    """Rows as named columns."""
    return {key: np.array([r[key] for r in rows]) for key in rows[0]}


def unpacked(columns: Arrays) -> list[Row]:
    """Rows from named columns."""
    plain = {key: values.tolist() for key, values in columns.items()}
    size = len(next(iter(plain.values())))
    return [{key: values[i] for key, values in plain.items()} for i in range(size)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--records", type=int, default=1_000_000)
    options.add_argument("--repetitions", type=int, default=100)
    options.add_argument("--classes", type=int, nargs="+", default=CLASSES, choices=CLASSES)
    options.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    options.add_argument("--out", type=Path, default=Path("out"))
    options.add_argument("--quick", action="store_true", help="20,000 records, five games")
    args = options.parse_args(arguments)
    if args.quick:
        args.records, args.repetitions, args.classes = 20_000, 5, (2, 10)
    console, start = Console(width=200), time.perf_counter()
    play = partial(figures, records=args.records, times=args.repetitions)
    pieces, rows = Pieces(args.out / "pieces"), []
    for k in args.classes:
        new = [*play(k, args.epsilons, pieces=pieces)]
        for name in dict.fromkeys(r["proxy"] for r in new):
            same = [r for r in new if r["proxy"] == name]
            show(same, f"{k} classes, {args.records} records, proxy: {name}", "epsilon", console)
        rows += new
        console.print(f"{time.perf_counter() - start:.0f} s", style="dim")
    path = args.out / "label_figures.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, fieldnames=FIELDS)
        out.writeheader()
        out.writerows(rows)
    console.print(f"Wrote {path}; {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    main()
