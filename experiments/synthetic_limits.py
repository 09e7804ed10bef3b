"""Where audits with generated records go wrong: targets that know the population, and no member.

    python experiments/synthetic_limits.py [--games 5] [--quick]

Every target learned from other people of the same population, so every bound above 0 is false.
``codes``: the label follows one of 300 codes at random, and the target had 20,000 people to learn
it; ``product``: the label follows the sign of a product of three columns; ``smooth``: a linear
label. Generators: the default, and independent columns (a poor one). Audited as it is, and with 500
and 2,000 real non-members. Prints how often something is claimed, and how much.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from divulge.data import tables
from divulge.games.synthetic.play import synthetic
from divulge.proof.state import headline_epsilon
from divulge.types import Array

People = dict[str, Array]
MEMBERS, OTHERS, CODES = 3_000, 20_000, 300
NONMEMBERS = (0, 500, 2_000)


def codes(n: int, rng: np.random.Generator, secret: np.random.Generator) -> People:
    """A label that follows one of many codes, and four columns of noise."""
    high = secret.integers(0, 2, CODES)
    code = rng.integers(0, CODES, n)
    y = rng.random(n) < np.where(high[code] > 0, 0.92, 0.08)
    return {"code": code.astype(float), **_noise(n, 4, rng), "y": y.astype(int)}


def product(n: int, rng: np.random.Generator, secret: np.random.Generator) -> People:
    """A label that follows the sign of a product of three of eight columns."""
    x = _noise(n, 8, rng)
    sign = np.sign(x["x_0"] * x["x_1"] * x["x_2"])
    return {**x, "y": (rng.random(n) < np.where(sign > 0, 0.95, 0.05)).astype(int)}


def smooth(n: int, rng: np.random.Generator, secret: np.random.Generator) -> People:
    """A label that follows two of six columns."""
    x = _noise(n, 6, rng)
    return {**x, "y": (x["x_0"] + x["x_1"] + rng.normal(size=n) > 0).astype(int)}


def _noise(n: int, d: int, rng: np.random.Generator) -> People:
    return {f"x_{j}": rng.normal(size=n) for j in range(d)}


@dataclass(frozen=True)
class Shuffled:
    """The poor generator: every column on its own."""

    name: str = "independent columns"

    @property
    def settings(self) -> dict[str, Any]:
        """None."""
        return {}

    def generate(self, records: tables.Frame, count: int, rng: np.random.Generator) -> tables.Frame:
        """Values of one column do not know those of the others."""
        rows = len(records)
        return tables.read(
            {c: records[c].to_numpy()[rng.integers(0, rows, count)] for c in records.columns}
        )


Population = Callable[[int, np.random.Generator, np.random.Generator], People]
CASES: tuple[tuple[str, Population, Any], ...] = (
    ("smooth", smooth, "trees"),
    ("smooth", smooth, Shuffled()),
    ("product", product, Shuffled()),
    ("codes", codes, "trees"),
    ("codes", codes, Shuffled()),
)


def one_game(population: Population, generator: Any, seed: int, quick: bool) -> list[Any]:
    """One target and its audits: the claimed epsilon, epsilon~ and whether it is robust."""
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(seed)
    share = 2 if quick else 1

    def people(n: int) -> People:
        return population(n // share, rng, np.random.default_rng([seed, 1]))

    members, others = people(MEMBERS), people(OTHERS)
    x = np.column_stack([v for k, v in others.items() if k != "y"])
    target = RandomForestClassifier(60, min_samples_leaf=3, random_state=seed).fit(x, others["y"])
    out = []
    for size in NONMEMBERS:
        nonmembers = people(size * share) if size else None
        found = synthetic(
            members, model=target, label="y", generator=generator, nonmembers=nonmembers, seed=seed
        )
        mu = max((b.value for b in found.headline() if b.parameter == "mu"), default=0.0)
        out.append(
            (
                max(headline_epsilon(found.bounds), mu),
                found.measurements["epsilon_tilde"],
                found.verdict.robust,
                found.verdict.status,
            )
        )
    return out


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--games", type=int, default=5)
    options.add_argument("--quick", action="store_true", help="half of the people, two games")
    args = options.parse_args(arguments)
    games = 2 if args.quick else args.games
    console, start = Console(width=200), time.perf_counter()
    table = Table(title=f"{games} targets each that never saw a member; claims are false")
    headings = ("label", "generator", "real non-members", "claims", "robust", "no conclusion",
                "largest bound", "largest eps~")  # fmt: skip
    for heading in headings:
        table.add_column(heading)
    for name, population, generator in CASES:
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [one_game(population, generator, seed, args.quick) for seed in range(games)]
        for k, size in enumerate(NONMEMBERS):
            one = [game[k] for game in found]
            table.add_row(
                name,
                getattr(generator, "name", generator),
                f"{size:,}",
                str(sum(status == "leak" for *_, status in one)),
                str(sum(robust for _, _, robust, _ in one)),
                str(sum(status == "cannot conclude" for *_, status in one)),
                f"{max(bound for bound, *_ in one):.2f}",
                f"{max(tilde for _, tilde, *_ in one):.2f}",
            )
        console.print(f"{name}: {time.perf_counter() - start:.0f} s", style="dim")
    console.print(table)


if __name__ == "__main__":
    main()
