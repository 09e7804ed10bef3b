"""Where a label audit goes wrong: five targets that leak nothing, and what is claimed of them.

    python experiments/label_limits.py [--runs 4] [--only held-out]

- *hidden knowledge*: the target knows waves, products and steps of eight columns; the audit is
  given some of these columns, and no held-out records.
- *parity*: the target knows a function of recorded columns that no student learns; no held-out
  records.
- *unsure of its own*: the target is less sure of its training records than of others, though it
  never saw a label; the audit is given held-out records.
- *held-out*: the target knows the labels of the training records' population given the record,
  which are not those of the held-out records (see ``divulge.selftest.populations``).
- *copies*: every person stands in the table several times; the proxy is exact, the target is noise.

Every claim above 0 is false. Prints a table of them.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import expit

from divulge.data.features import Features
from divulge.games.attribute.play import audit_records
from divulge.games.attribute.read import Records
from divulge.mechanisms.labelled import NoisyLabels
from divulge.proof.rule import Rule
from divulge.result import Result
from divulge.selftest.populations import HELD_OUT, Population
from divulge.shift.pooling import log_probabilities

RECORDS = 4000


def _records(
    codes: np.ndarray,
    target: np.ndarray,
    proxy: np.ndarray,
    features: np.ndarray,
    training: int,
) -> Records:
    names = tuple(f"x_{j}" for j in range(features.shape[1]))
    return Records(
        codes=codes,
        classes=("0", "1"),
        training=training,
        features=Features(features, names),
        log_target=log_probabilities(target),
        log_proxy=log_probabilities(proxy),
        heldout_target=training < codes.size,
    )


def _two(p: np.ndarray) -> np.ndarray:
    return np.column_stack([1.0 - p, p])


def hidden_knowledge(columns: Sequence[int], seed: int) -> Result:
    """The curved population, some of its columns."""
    drawn = NoisyLabels("curved").sample(RECORDS, np.random.default_rng(seed))
    shown = drawn.features[:, list(columns)]
    records = _records(drawn.codes, drawn.target, drawn.proxy, shown, RECORDS)
    return audit_records(records, Rule(), seed=seed, compare=False)


def unsure_of_its_own(seed: int) -> Result:
    """Log-odds of the training records divided by three; held-out ones as they are."""
    rng = np.random.default_rng(seed)
    log_odds = 2.0 * rng.normal(size=2 * RECORDS)
    codes = (rng.random(2 * RECORDS) < expit(log_odds)).astype(np.intp)
    said = expit(np.where(np.arange(2 * RECORDS) < RECORDS, log_odds / 3.0, log_odds))
    proxy = np.full((2 * RECORDS, 2), 0.5)
    records = _records(codes, _two(said), proxy, np.zeros((2 * RECORDS, 0)), RECORDS)
    return audit_records(records, Rule(), seed=seed, compare=False)


def copies(times: int, seed: int, rows: int = 3000) -> Result:
    """Noise about people who stand in the table several times."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(rng.integers(2, size=rows // times), times).astype(np.intp)
    said = np.repeat(rng.random(rows // times), times)
    proxy = np.full((codes.size, 2), 0.5)
    records = _records(codes, _two(said), proxy, np.zeros((codes.size, 0)), codes.size)
    return audit_records(records, Rule(), proxy_exact=True, seed=seed, compare=False)


def parity(smooth: float, hidden: float, seed: int) -> Result:
    """Log-odds with a line that everybody learns, and a parity of six columns that nobody does."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((RECORDS, 8))
    line = smooth * x[:, 6]
    known = expit(line + hidden * np.prod(np.sign(x[:, :6]), axis=1))
    codes = (rng.random(RECORDS) < known).astype(np.intp)
    records = _records(codes, _two(known), _two(expit(line)), x, RECORDS)
    return audit_records(records, Rule(), seed=seed, compare=False)


def another_population(kind: str, training: int, outside: int, seed: int) -> Result:
    """Held-out records whose labels given the record, or whose x, are others."""
    records = Population(kind).sample(training, outside, np.random.default_rng(seed))
    return audit_records(records, Rule(), seed=seed, compare=False)


def _largest(result: Result) -> float:
    found = (b.value for b in result.headline() if b.parameter == "epsilon")
    return max(found, default=0.0)


def main() -> None:
    """Run every world, print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--runs", type=int, default=4, help="Audits per row (copies: 15 times, held-out: 3 times)."
    )
    parser.add_argument("--only", default="", help="Only targets whose name contains this text.")
    given = parser.parse_args()
    runs = given.runs
    worlds: list[tuple[str, Callable[[int], Result], int]] = [
        ("hidden knowledge, all 8 columns", lambda s: hidden_knowledge(range(8), s), runs),
        ("hidden knowledge, columns 0, 1, 3", lambda s: hidden_knowledge((0, 1, 3), s), runs),
        ("hidden knowledge, column 3", lambda s: hidden_knowledge((3,), s), runs),
        ("parity alone", lambda s: parity(0.0, 2.0, s), runs),
        ("parity beside a line of equal size", lambda s: parity(1.5, 1.5, s), runs),
        ("parity beside a line four times its size", lambda s: parity(3.0, 0.75, s), runs),
        ("unsure of its own", unsure_of_its_own, runs),
        ("copies, each person once", lambda s: copies(1, s), 15 * runs),
        ("copies, each person 3 times", lambda s: copies(3, s), 15 * runs),
        ("copies, each person 10 times", lambda s: copies(10, s), 15 * runs),
    ]
    for kind, (training, outside) in itertools.product(HELD_OUT, ((1000, 500), (2000, 2000))):
        audit = partial(another_population, kind, training, outside)
        worlds.append((f"held-out, {training} + {outside}: {kind}", audit, 3 * runs))
    worlds = [world for world in worlds if given.only in world[0]]
    console = Console(width=200)
    table = Table(title="Nothing leaks: headline claims at error 0.05")
    for name in ("target", "false claims", "largest epsilon", "called robust", "undecided"):
        table.add_column(name, justify="left" if name == "target" else "right")
    for name, audit, count in worlds:
        found = [audit(seed) for seed in range(count)]
        claims = [_largest(r) for r in found]
        false = sum(any(b.value > 0.0 for b in r.headline()) for r in found)
        robust = sum(r.verdict.robust for r in found)
        undecided = sum(r.verdict.status == "cannot conclude" for r in found)
        cells = f"{false} of {count}", f"{max(claims):.2f}", str(robust), str(undecided)
        table.add_row(name, *cells)
        console.print(f"{name}: done", style="dim")
    console.print(table)


if __name__ == "__main__":
    main()
