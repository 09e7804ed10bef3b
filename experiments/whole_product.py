"""The whole product, audited: commands on files, of models with a known answer, drawn at random.

    python experiments/whole_product.py [--audits 200] [--seed 0] [--jobs 2] [--out DIR]

Audit number k is drawn from the seed and k: a game, a mechanism with a known answer, sizes,
features, options. It is played as a user would: tables are written, ``divulge`` is started as a
process of its own, and its JSON is read. A false claim is an audit of which any headline bound lies
above the truth; power is the largest headline bound on epsilon over the truth. Anything but the
exit codes 0 and 3 (nothing can be concluded) is a crash. Finished audits are kept in the folder: a
second run repeats none.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from joblib import Parallel, delayed
from rich.console import Console
from rich.table import Table

from divulge.mechanisms import (
    GaussianMechanism,
    LaplaceMechanism,
    Mechanism,
    Null,
    RandomisedResponse,
    Shifted,
    Tied,
)
from divulge.mechanisms.labelled import NoisyLabels
from divulge.mechanisms.labels import randomised_response_curve
from divulge.selftest.lineup import Shown
from divulge.selftest.row import exact_interval, surprise

ERROR = 0.05
SLACK = 1e-9
Rng = np.random.Generator
Truth = Callable[[str, float | None], float]
Run = Callable[..., subprocess.CompletedProcess[str]]


@dataclass(frozen=True)
class Drawn:
    """One audit: what it is called, the words of its last command, and what is true."""

    name: str
    words: tuple[str, ...]
    truth: Truth


@dataclass(frozen=True)
class Played:
    """What came of it."""

    number: int
    name: str
    code: int
    false: bool = False
    excess: float = 0.0
    power: float | None = None
    seconds: float = 0.0
    error: str = field(default="", repr=False)


def write(folder: Path, name: str, columns: dict[str, Any], rng: Rng) -> str:
    """A table as CSV or Parquet, its columns in some order."""
    names = list(columns)
    rng.shuffle(names)
    table = pa.table({n: columns[n] for n in names})
    if rng.random() < 0.5:
        pa.csv.write_csv(table, folder / f"{name}.csv")
        return f"{name}.csv"
    pa.parquet.write_table(table, folder / f"{name}.parquet")
    return f"{name}.parquet"


def scalar(rng: Rng) -> Mechanism:
    """A mechanism that gives every trial one number."""
    size = float(rng.choice([0.3, 0.7, 1.0, 2.0]))
    kinds: tuple[Callable[[], Mechanism], ...] = (
        Null,
        Null,
        lambda: RandomisedResponse(size),
        lambda: LaplaceMechanism(size),
        lambda: GaussianMechanism(size),
        lambda: Tied(GaussianMechanism(size)),
    )
    return kinds[int(rng.integers(len(kinds)))]()


def from_curve(mechanism: Mechanism | Shifted) -> Truth:
    """What is true by the trade-off curve."""
    return lambda p, d: mechanism.curve.mu() if p == "mu" else mechanism.curve.epsilon(d or 0.0)


def statistics(rng: Rng) -> tuple[str, ...]:
    """Options that any game of members has."""
    words: tuple[str, ...] = ("--seed", str(int(rng.integers(1000))))
    if rng.random() < 0.3:
        words += ("--delta", f"{rng.choice([1e-6, 1e-4, 1e-3]):g}")
    if rng.random() < 0.3:
        words += ("--headline", str(rng.choice(["mu", "epsilon", "epsilon@1e-5"])))
    return words


def scores(folder: Path, rng: Rng, run: Run) -> Drawn:
    """A table of scores, no shift."""
    mechanism = scalar(rng)
    rows = int(rng.choice([60, 300, 1500, 6000]))
    log_odds = float(rng.choice([-1.0, 0.0, 0.0, 1.0]))
    trials = mechanism.sample(rows, rng, log_odds)
    columns = {"member": trials.truth > 0, "gain": trials.score}
    data = write(folder, "scores", columns, rng)
    words = ("membership", data, "--score", "gain", "--higher-is-member", *statistics(rng))
    return Drawn(f"membership, scores ({mechanism.name})", words, from_curve(mechanism))


def shifted(folder: Path, rng: Rng, run: Run) -> Drawn:
    """A table with features that differ between the groups."""
    kind = str(rng.choice(["none", "linear", "variance", "interaction", "cluster"]))
    table = Shifted(
        kind, columns=int(rng.choice([8, 15, 30])), mu=float(rng.choice([0, 0, 0.7, 1.5]))
    )
    drawn = table.sample(int(rng.choice([800, 2000, 4000])), rng)
    columns: dict[str, Any] = {f"x_{k}": v for k, v in enumerate(drawn.features.T)}
    columns |= {"in_training": drawn.truth > 0, "gain": drawn.score}
    data = write(folder, "records", columns, rng)
    told = ("--score", "gain", "--higher-is-member", "--truth", "in_training", "--features", "x_*")
    quick = ("--quick",) if rng.random() < 0.2 else ()
    words = ("membership", data, *told, *statistics(rng), *quick)
    return Drawn(
        f"membership, shift ({kind}, {'null' if not table.mu else 'leak'})",
        words,
        from_curve(table),
    )


def planned(folder: Path, rng: Rng, run: Run) -> Drawn:
    """Canaries from a plan to scores."""
    mechanism = scalar(rng)
    count = int(rng.choice([60, 300, 1000]))
    x = rng.normal(size=(2 * count, 4))
    columns = {**{f"x_{k}": v for k, v in enumerate(x.T)}, "key": np.arange(2 * count)}
    data = write(folder, "data", columns, rng)
    plan = (
        "canaries",
        "plan",
        data,
        "--id",
        "key",
        "--count",
        str(count),
        "--seed",
        str(int(rng.integers(99))),
    )
    done = run(*plan, "--records", "train.csv", "--canaries", "canaries.parquet")
    if done.returncode:
        raise RuntimeError(done.stderr)
    inside = set(pa.csv.read_csv(folder / "train.csv")["key"].to_pylist())
    keys = pa.parquet.read_table(folder / "canaries.parquet")["key"].to_pylist()
    truth = np.array([1.0 if key in inside else -1.0 for key in keys])
    many = mechanism.sample(20 * count + 200, rng)
    pools = {sign: iter(many.score[many.truth == sign].tolist()) for sign in (-1.0, 1.0)}
    gain = [next(pools[sign]) for sign in truth.tolist()]
    told = write(folder, "scores", {"key": keys, "gain": gain}, rng)
    words = ("canaries", "audit", "plan.json", told, "--score", "gain", "--higher-is-member")
    return Drawn(f"canaries ({mechanism.name})", words, from_curve(mechanism))


def lined_up(folder: Path, rng: Rng, run: Run) -> Drawn:
    """Line-ups of a table of scores."""
    kinds = (
        Shown("normal", 0.0),
        Shown("response", 1.0),
        Shown("normal", 0.7),
        Shown("laplace", 0.5),
    )
    shown = kinds[int(rng.integers(len(kinds)))]
    candidates = int(rng.choice([2, 8, 32]))
    score = shown.sample(int(rng.choice([50, 300])), candidates, shown.size, rng)
    data = write(folder, "lineups", {f"s_{k}": v for k, v in enumerate(score.T)}, rng)
    words = ("lineup", data, "--higher-is-member")
    return Drawn(
        f"lineup ({shown.name})",
        words,
        lambda p, d: shown.truth(candidates, None if p == "mu" else d),
    )


def labelled(folder: Path, rng: Rng, run: Run) -> Drawn:
    """Labels, with a proxy that is exact."""
    table = NoisyLabels(
        "gaussian", float(rng.choice([0.0, 0.0, 1.0, 2.0])), int(rng.choice([2, 3]))
    )
    drawn = table.sample(int(rng.choice([300, 1500])), rng)
    columns: dict[str, Any] = {"y": drawn.codes}
    for c in range(table.classes):
        columns |= {f"p_{c}": drawn.target[:, c], f"q_{c}": drawn.proxy[:, c]}
    data = write(folder, "labels", columns, rng)
    words = ("attribute", data, "--label", "y", "--target", "p_", "--proxy", "q_", "--proxy-exact")

    def truth(parameter: str, delta: float | None) -> float:
        if table.epsilon == 0.0 or (parameter == "epsilon" and not delta):
            return table.epsilon
        curve = randomised_response_curve(table.epsilon, table.classes)
        return curve.mu() if parameter == "mu" else curve.epsilon(delta or 0.0)

    return Drawn(f"attribute ({'null' if not table.epsilon else 'leak'})", words, truth)


def retrained(folder: Path, rng: Rng, run: Run) -> Drawn:
    """Counts of errors of attacks on many models."""
    epsilon, models = float(rng.choice([0.0, 1.0, 3.0])), int(rng.choice([30, 200]))
    rate = 1.0 / (1.0 + math.exp(epsilon))
    rates = rate + np.linspace(0.0, 0.4 - min(0.4, rate), int(rng.choice([1, 3])))
    columns = {
        "false_positives": rng.binomial(models, rates),
        "negatives": np.full(rates.size, models),
        "false_negatives": rng.binomial(models, rates),
        "positives": np.full(rates.size, models),
    }
    data = write(folder, "counts", columns, rng)
    words = ("retraining", data, "--delta", "0")
    return Drawn(f"retraining (epsilon {epsilon:g})", words, lambda p, d: epsilon)


GAMES = (scores, shifted, shifted, planned, lined_up, labelled, retrained)


def play(number: int, seed: int) -> Played:
    """One audit, from files to its JSON."""
    rng = np.random.default_rng([seed, number])
    with tempfile.TemporaryDirectory(prefix="whole.") as name:
        folder = Path(name)

        def run(*words: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(  # noqa: S603  (this very program)
                [sys.executable, "-m", "divulge", *words],
                cwd=folder,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                capture_output=True,
                text=True,
                check=False,
            )

        began = time.monotonic()
        drawn = GAMES[int(rng.integers(len(GAMES)))](folder, rng, run)
        done = run(*drawn.words, "--out", "result.json")
        seconds = time.monotonic() - began
        if done.returncode not in (0, 3):
            said = f"{' '.join(drawn.words)}: {done.stderr[-2000:]}"
            return Played(number, drawn.name, done.returncode, seconds=seconds, error=said)
        result = json.loads((folder / "result.json").read_text("utf-8"))
    headline = [b for b in result["bounds"] if b["headline"]]
    over = [b["value"] - drawn.truth(b["parameter"], b["delta"]) for b in headline]
    excess = max(over, default=0.0)
    of_epsilon = [
        b["value"] / drawn.truth("epsilon", b["delta"])
        for b in headline
        if b["parameter"] == "epsilon" and 0.0 < drawn.truth("epsilon", b["delta"]) < math.inf
    ]
    claimed = result["verdict"]["status"] == "leak"
    return Played(
        number,
        drawn.name,
        done.returncode,
        false=claimed and excess > SLACK,
        excess=max(0.0, excess) if claimed else 0.0,
        power=max(of_epsilon, default=0.0) if of_epsilon or drawn.truth("epsilon", 0.0) else None,
        seconds=seconds,
    )


def kept(number: int, seed: int, folder: Path) -> Played:
    """An audit that was played before, or is now."""
    path = folder / f"{seed}-{number}.json"
    if path.exists():
        return Played(**json.loads(path.read_text("utf-8")))
    found = play(number, seed)
    path.with_suffix(".tmp").write_text(json.dumps(found.__dict__), "utf-8")
    path.with_suffix(".tmp").replace(path)
    return found


def show(played: Sequence[Played], console: Console) -> None:
    """One line for each game, and all together."""
    table = Table(title=f"{len(played)} audits through the command line, error {ERROR:g}")
    for name in (
        "game",
        "audits",
        "false",
        "worst excess",
        "power",
        "no conclusion",
        "crashes",
        "s",
    ):
        table.add_column(name, justify="left" if name == "game" else "right")
    groups: dict[str, list[Played]] = defaultdict(list)
    for one in played:
        groups[one.name.split(" (")[0]].append(one)
    for name, own in [*sorted(groups.items()), ("all", list(played))]:
        powers = [p.power for p in own if p.power is not None]
        table.add_row(
            name,
            f"{len(own)}",
            f"{sum(p.false for p in own)}",
            f"{max(p.excess for p in own):.3f}",
            f"{np.mean(powers):.0%}" if powers else "",
            f"{sum(p.code == 3 for p in own)}",
            f"{sum(p.code not in (0, 3) for p in own)}",
            f"{np.mean([p.seconds for p in own]):.1f}",
            end_section=name == max(groups),
        )
    console.print(table)
    false = sum(p.false for p in played)
    low, high = exact_interval(false, len(played))
    chance = surprise(false, len(played), ERROR)
    console.print(
        f"{false} of {len(played)} audits claim falsely: {false / len(played):.1%} "
        f"({low:.1%} to {high:.1%}); so many or more have a probability of {chance:.2g} "
        f"if each does with {ERROR:g}."
    )
    for one in played:
        if one.error:
            console.print(f"crash {one.number}: {one.error}", style="red", markup=False)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print; exit 1 on a crash, or if so many false claims cannot be chance."""
    options = argparse.ArgumentParser(description="The whole product, audited.")
    options.add_argument("--audits", type=int, default=200)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--out", type=Path, default=Path("out/whole_product"))
    args = options.parse_args(arguments)
    args.out.mkdir(parents=True, exist_ok=True)
    played = Parallel(n_jobs=args.jobs)(
        delayed(kept)(number, args.seed, args.out) for number in range(args.audits)
    )
    show(played, Console(width=200))
    false = sum(p.false for p in played)
    if any(p.error for p in played) or surprise(false, len(played), ERROR) < 0.001:
        sys.exit(1)


if __name__ == "__main__":
    main()
