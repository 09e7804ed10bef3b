"""The per-datum membership game on means: Figure 2 (a) to (f) of 004, with (f) corrected.

    python experiments/per_datum.py [--rounds 2000] [--literal 60] [--quick]

Records are Bernoulli with p drawn from [0.25, 0.75]^d, n = 1000, d = 5000. Targets: easy (every
column at its rarer value), medium (drawn like the others), hard (every column at its likelier
value). (a), (b): log-likelihood ratios with the record in and out; (c): power for the hard target;
(d): all three targets; (e): noise gamma, of standard deviation gamma / sqrt(n) on the mean; (f):
sampling rates, with the published formula, the mixture, and the simulation.

A round needs the mean alone, and a sum of independent Bernoulli variables is binomial, so rounds
draw d binomial counts instead of n x d records: the same distribution, exactly. ``--literal``
rounds draw every record, put the target in, sample and average as Algorithm 1 is written
(divulge.crosschecks.per_datum), and a two-sample test compares both. Writes out/per_datum.csv and
out/per_datum.svg.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from scipy.special import ndtri
from scipy.stats import ks_2samp

from divulge.attacks.means import standardised
from divulge.crosschecks.per_datum import Bernoulli, Mean, SimulatedGame, play
from divulge.exposure import exposed
from divulge.exposure.covariance import Covariance, known
from divulge.exposure.exposed import Release
from divulge.types import Array

FPRS = (0.01, 0.1, 0.3)
GAMMAS = (0.0, 0.5, 1.0, 2.0)
RATES = (1.0, 0.5, 0.25, 0.1)
EDGE = 0.25


@dataclass(frozen=True)
class World:
    """The population, its targets, and the sizes."""

    size: int = 1000
    dimension: int = 5000
    rounds: int = 2000
    p: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    targets: dict[str, Array] = field(default_factory=dict, repr=False)

    @property
    def covariance(self) -> Covariance:
        """Known, as in the paper: no reference records are needed."""
        return known(self.p, self.p * (1.0 - self.p))


@dataclass(frozen=True)
class Curve:
    """Rounds of one target and one release: scores are standard normal outside."""

    panel: str
    label: str
    release: Release
    leakage: float
    played: SimulatedGame
    """Standardised scores, which order outcomes as the likelihood ratio does."""


def world(size: int, dimension: int, rounds: int, seed: int) -> tuple[World, np.random.Generator]:
    """Draw p and the medium target."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(EDGE, 1.0 - EDGE, dimension)
    targets = {
        "easy": (p <= 0.5).astype(float),
        "medium": (rng.random(dimension) < p).astype(float),
        "hard": (p > 0.5).astype(float),
    }
    return World(size, dimension, rounds, p, targets), rng


def rounds(
    there: World, target: Array, release: Release, rng: np.random.Generator
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Released means and truths of Algorithm 1, from binomial counts."""
    behind = round(release.behind)
    inside = rng.random(there.rounds) < 0.5
    counts = rng.binomial(behind - 1, there.p, size=(there.rounds, there.dimension)).astype(float)
    # of the records behind the mean one is the target, if it is in the table and was sampled
    shown = inside & (rng.random(there.rounds) < behind / there.size)
    last = (rng.random((there.rounds, there.dimension)) < there.p).astype(float)
    last[shown] = target
    means = (counts + last) / behind
    if release.noise > 0.0:
        means += release.noise * rng.normal(size=means.shape)
    return means, inside


def curve(
    there: World, panel: str, label: str, name: str, release: Release, rng: np.random.Generator
) -> Curve:
    """Play all rounds of one setting."""
    target, model = there.targets[name], there.covariance
    means, inside = rounds(there, target, release, rng)
    noisy = release.covariance(model)
    length = math.sqrt(float(noisy.mahalanobis(target)) / release.behind)
    score = noisy.inner(means - there.p, target - there.p) / length
    m = float(exposed.leakage_scores(target, model, release))
    return Curve(panel, label, release, m, SimulatedGame(score, inside))


def play_all(there: World, rng: np.random.Generator) -> list[Curve]:
    """Every curve of the figure; (a), (b) and (c) show those of (d) again."""
    exact = Release(there.size)
    out = [curve(there, "d", name, name, exact, rng) for name in there.targets]
    for gamma in GAMMAS[1:]:
        noisy = Release(there.size, gamma / math.sqrt(there.size))
        out.append(curve(there, "e", f"gamma {gamma:g}", "easy", noisy, rng))
    for rate in RATES[1:]:
        sampled = Release(there.size, rate=rate)
        out.append(curve(there, "f", f"rate {rate:g}", "easy", sampled, rng))
    return out


def checks(one: Curve) -> list[dict[str, Any]]:
    """At the theoretical threshold: rates of both errors, and how many standard errors off."""
    rate = one.release.rate
    rows = []
    for fpr in FPRS:
        says = one.played.score > -ndtri(fpr)
        inside = one.played.inside
        power = float(exposed.power(one.leakage, fpr, rate))
        row: dict[str, Any] = {"panel": one.panel, "setting": one.label, "m*": one.leakage}
        row |= {"fpr": fpr, "power": power}
        row["published"] = float(exposed.published_power(one.leakage, fpr, rate))
        for key, part, expected in (("fpr", says[~inside], fpr), ("tpr", says[inside], power)):
            error = math.sqrt(expected * (1.0 - expected) / part.size)
            row[f"seen_{key}"] = float(part.mean())
            row[f"z_{key}"] = (float(part.mean()) - expected) / error if error > 0.0 else 0.0
        error = math.sqrt(row["published"] * (1.0 - row["published"]) / inside.sum())
        row["z_published"] = (row["seen_tpr"] - row["published"]) / error if error > 0.0 else 0.0
        rows.append(row)
    return rows


def ratios(there: World, one: Curve) -> tuple[Array, Array]:
    """The approximate log-likelihood ratios outside and inside (equation 10)."""
    m = one.leakage
    value = math.sqrt(m) * one.played.score - m / 2.0
    return value[~one.played.inside], value[one.played.inside]


def literal(there: World, count: int, seed: int) -> list[dict[str, Any]]:
    """Algorithm 1 as written, against the binomial rounds, by a Kolmogorov-Smirnov test."""
    out = []
    model, population = there.covariance, Bernoulli(there.p)
    for name, release in (
        ("hard", Release(there.size)),
        ("hard", Release(there.size, rate=RATES[1])),
    ):
        target = there.targets[name]
        rng = np.random.default_rng(seed + 1)
        mechanism = Mean(release.noise, release.rate)
        full = play(
            mechanism, population, there.size, target,
            lambda o, t=target, r=release: float(standardised(o, t, model, r)), count, rng,
        )  # fmt: skip
        quick = curve(there, "", name, name, release, rng).played
        for inside in (False, True):
            test = ks_2samp(full.score[full.inside == inside], quick.score[quick.inside == inside])
            row = {"target": name, "rate": release.rate, "in": inside}
            out.append({**row, "rounds": int((full.inside == inside).sum()), "p": test.pvalue})
    return out


def show(there: World, curves: list[Curve], console: Console) -> list[dict[str, Any]]:
    """Tables: moments for (a) and (b), errors at the theoretical thresholds for the others."""
    table = Table(title="(a), (b): log-likelihood ratios, simulated against N(-+m*/2, m*)")
    for name in ("panel", "m*", "truth", "mean", "expected", "z", "variance over m*"):
        table.add_column(name, justify="right")
    for panel, name in (("a", "easy"), ("b", "hard")):
        one = next(c for c in curves if c.panel == "d" and c.label == name)
        for truth, values, sign in zip(("out", "in"), ratios(there, one), (-1, 1), strict=True):
            expected = sign * one.leakage / 2.0
            z = (values.mean() - expected) / math.sqrt(one.leakage / values.size)
            cells = (f"{values.mean():.3f}", f"{expected:.3f}", f"{z:+.2f}")
            spread = f"{values.var() / one.leakage:.3f}"
            table.add_row(f"{panel} {name}", f"{one.leakage:.3f}", truth, *cells, spread)
    console.print(table)
    rows = [row for one in curves for row in checks(one)]
    table = Table(title=f"(c) to (f): at the theoretical threshold, {there.rounds} rounds each")
    names = ("panel", "m*", "FPR", "seen", "z", "power", "seen", "z", "published", "z")
    for name in names:
        table.add_column(name, justify="right")
    for row in rows:
        first = "c, d" if row["setting"] == "hard" else row["panel"]
        sampled = row["panel"] == "f"
        table.add_row(
            f"{first} {row['setting']}", f"{row['m*']:.3f}", f"{row['fpr']:g}",
            f"{row['seen_fpr']:.3f}", f"{row['z_fpr']:+.1f}", f"{row['power']:.3f}",
            f"{row['seen_tpr']:.3f}", f"{row['z_tpr']:+.1f}",
            f"{row['published']:.3f}" if sampled else "",
            f"{row['z_published']:+.1f}" if sampled else "",
        )  # fmt: skip
    console.print(table)
    worst = max(abs(row[key]) for row in rows for key in ("z_fpr", "z_tpr"))
    beyond = sum(abs(row[key]) > 3.0 for row in rows for key in ("z_fpr", "z_tpr"))
    console.print(f"Largest deviation {worst:.2f} standard errors; {beyond} of {2 * len(rows)} "
                  "above 3.")  # fmt: skip
    wrong = max(abs(row["z_published"]) for row in rows if row["panel"] == "f")
    console.print(f"The published formula for sub-sampling: up to {wrong:.0f} standard errors off.")
    return rows


def draw(there: World, curves: list[Curve], path: Path) -> None:
    """Six panels: solid as simulated, dashed by the formula, dotted as published."""
    import altair as alt

    fpr = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 60)])

    def roc(panel: str, chosen: list[Curve], published: bool = False) -> Any:
        rows = []
        for one in chosen:
            kinds = {
                "simulated": [one.played.tpr(a) if 0.0 < a < 1.0 else a for a in fpr],
                "formula": exposed.power(one.leakage, fpr, one.release.rate),
            }
            if published:
                kinds["published"] = exposed.published_power(one.leakage, fpr, one.release.rate)
            for kind, values in kinds.items():
                pairs = zip(fpr, values, strict=True)
                rows += [{"x": a, "y": float(b), "of": one.label, "by": kind} for a, b in pairs]
        dash = alt.Scale(
            domain=["simulated", "formula", "published"], range=[[1, 0], [6, 4], [2, 3]]
        )
        return (
            alt.Chart(alt.Data(values=rows), title=panel)
            .mark_line()
            .encode(
                x=alt.X("x:Q", title="false positives"),
                y=alt.Y("y:Q", title="true positives"),
                color=alt.Color("of:N", title=None),
                strokeDash=alt.StrokeDash("by:N", title=None, scale=dash),
            )
            .properties(width=250, height=200)
        )

    def bells(panel: str, one: Curve) -> Any:
        rows = []
        for truth, values, sign in zip(("out", "in"), ratios(there, one), (-1, 1), strict=True):
            heights, edges = np.histogram(values, bins=40, density=True)
            middle = (edges[:-1] + edges[1:]) / 2.0
            m = one.leakage
            bell = np.exp(-((middle - sign * m / 2.0) ** 2) / (2.0 * m)) / math.sqrt(
                2 * math.pi * m
            )
            for x, seen, expected in zip(middle, heights, bell, strict=True):
                rows.append({"x": x, "y": seen, "of": truth, "by": "simulated"})
                rows.append({"x": x, "y": expected, "of": truth, "by": "formula"})
        dash = alt.Scale(domain=["simulated", "formula"], range=[[1, 0], [6, 4]])
        return (
            alt.Chart(alt.Data(values=rows), title=panel)
            .mark_line()
            .encode(
                x=alt.X("x:Q", title="log-likelihood ratio"),
                y=alt.Y("y:Q", title="density"),
                color=alt.Color("of:N", title=None),
                strokeDash=alt.StrokeDash("by:N", title=None, scale=dash),
            )
            .properties(width=250, height=200)
        )

    named = {c.label: c for c in curves if c.panel == "d"}
    panels = [
        bells("(a) easy", named["easy"]),
        bells("(b) hard", named["hard"]),
        roc("(c) hard", [named["hard"]]),
        roc("(d) targets", list(named.values())),
        roc("(e) noise, easy", [named["easy"], *(c for c in curves if c.panel == "e")]),
        roc("(f) sub-sampling, easy", [c for c in curves if c.panel == "f"], published=True),
    ]
    grid = alt.vconcat(alt.hconcat(*panels[:3]), alt.hconcat(*panels[3:]))
    grid.resolve_scale(color="independent", strokeDash="independent").save(str(path))


def main(arguments: Sequence[str] | None = None) -> None:
    """Play, print, write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--rounds", type=int, default=World.rounds)
    options.add_argument("--size", type=int, default=World.size)
    options.add_argument("--dimension", type=int, default=World.dimension)
    options.add_argument("--literal", type=int, default=60)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=Path("out"))
    options.add_argument("--quick", action="store_true", help="a fifth of n and d, 400 rounds")
    args = options.parse_args(arguments)
    if args.quick:
        args.size, args.dimension, args.rounds = 200, 1000, 400
    start = time.perf_counter()
    console = Console(width=120)
    there, rng = world(args.size, args.dimension, args.rounds, args.seed)
    console.print(there)
    curves = play_all(there, rng)
    rows = show(there, curves, console)
    for row in literal(there, args.literal, args.seed) if args.literal else ():
        console.print(
            f"Algorithm 1 record by record, {row['target']}, rate {row['rate']:g}, "
            f"{'in' if row['in'] else 'out'}: {row['rounds']} rounds, p = {row['p']:.2f}"
        )
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "per_datum.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, fieldnames=list(rows[0]))
        out.writeheader()
        out.writerows(rows)
    draw(there, curves, args.out / "per_datum.svg")
    spent = time.perf_counter() - start
    console.print(f"Wrote per_datum.csv and per_datum.svg to {args.out}; {spent:.0f} s.")


if __name__ == "__main__":
    main()
