"""Figures 2 to 5 of MCMC-DP-Est (003): the posterior of epsilon from error counts, exactly.

Figure 2: the 90% interval of epsilon against the assumed strength and against N, for one attack
with 40% of both errors. Figure 3: epsilon and strength from ten weak and ten strong attacks.
Figures 4 and 5: a small network trained with and without a record of scikit-learn's digits, from a
fixed or a random start, with or without noise of 0.01, 0.05 or 0.1 on its weights before it is
released; counts by Algorithm 5 at a target error of 0.1, delta 0.001, with the paper's normal
threshold on the loss and, for bound and posterior, calibrated by ranks on the logit of the
confidence (``experiments/mcmc_images.py`` has the paper's size and says why). Trained models are
kept as pieces in out/pieces, so a run that was stopped goes on. Prints tables, writes
out/mcmc_dp_est.csv, out/mcmc_dp_est_curves.csv and figures as SVG.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import divulge
from divulge.attacks import parametric
from divulge.posterior.correlated import correlated
from divulge.posterior.exact import Posterior, posterior
from divulge.posterior.priors import EpsilonPrior, StrengthPrior
from divulge.types import Array

Row = dict[str, Any]
Weights = tuple[Array, Array, Array, Array]

STRENGTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
SIZES = (10, 30, 100, 300, 1_000, 10_000, 100_000)
STRONG_X = (40, 50, 60, 100, 100, 110, 120, 200, 200, 200)
STRONG_Y = (250, 200, 150, 100, 120, 100, 100, 80, 70, 60)
ARTIFICIAL_DELTA, REAL_DELTA = 0.01, 0.001
TARGET = 0.1
RECORDS, HIDDEN, EPOCHS, BATCH, RATE, MOMENTUM = 199, 24, 40, 50, 0.1, 0.9


@dataclass(frozen=True)
class Algorithm:
    """A training algorithm of Section 4.2."""

    name: str
    random_start: bool
    noise: float


ALGORITHMS = (
    Algorithm("A1: fixed start", False, 0.0),
    Algorithm("A2: random start", True, 0.0),
    Algorithm("A3: fixed start, noise 0.1", False, 0.1),
    Algorithm("A4: random start, noise 0.1", True, 0.1),
    Algorithm("A4: random start, noise 0.05", True, 0.05),
    Algorithm("A4: random start, noise 0.01", True, 0.01),
)


def start(rng: np.random.Generator) -> Weights:
    """He's initialisation."""
    first = rng.normal(0.0, np.sqrt(2.0 / 64.0), (64, HIDDEN))
    second = rng.normal(0.0, np.sqrt(2.0 / HIDDEN), (HIDDEN, 10))
    return first, np.zeros(HIDDEN), second, np.zeros(10)


def train(data: tuple[Array, Array], seed: int, algorithm: Algorithm) -> Weights:
    """One hidden layer of ReLU, softmax, stochastic gradient descent with momentum."""
    x, y = data
    rng = np.random.default_rng(seed)
    weights = list(start(rng if algorithm.random_start else np.random.default_rng(0)))
    speed = [np.zeros_like(w) for w in weights]
    truth = np.eye(10)[y.astype(int)]
    for _ in range(EPOCHS):
        order = rng.permutation(len(x))
        for k in range(0, len(x), BATCH):
            rows = order[k : k + BATCH]
            a, b, c, d = weights
            hidden = np.maximum(x[rows] @ a + b, 0.0)
            error = softmax(hidden @ c + d) - truth[rows]
            error /= rows.size
            back = (error @ c.T) * (hidden > 0.0)
            slopes = (x[rows].T @ back, back.sum(axis=0), hidden.T @ error, error.sum(axis=0))
            for v, w, g in zip(speed, weights, slopes, strict=True):
                v *= MOMENTUM
                v -= RATE * g
                w += v
    if algorithm.noise > 0.0:
        weights = [w + rng.normal(0.0, algorithm.noise, w.shape) for w in weights]
    return weights[0], weights[1], weights[2], weights[3]


def softmax(z: Array) -> Array:
    """Probabilities per row."""
    power = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(power / power.sum(axis=1, keepdims=True))


def loss(model: Weights, record: tuple[Array, Array]) -> float:
    """Categorical cross-entropy on the record."""
    a, b, c, d = model
    x, y = record
    z = np.maximum(x @ a + b, 0.0) @ c + d
    top = float(z.max())
    return float(top + np.log(np.exp(z - top).sum()) - z[int(y)])


def bases(count: int, seed: int) -> list[tuple[tuple[Array, Array], tuple[Array, Array]]]:
    """Pairs of a dataset and a record outside it, drawn at random from the digits."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    x, y = digits.data / 16.0, digits.target.astype(float)
    out = []
    for k in range(count):
        rows = np.random.default_rng([seed, k]).permutation(len(x))[: RECORDS + 1]
        inside, z = rows[:-1], rows[-1]
        out.append(((x[inside], y[inside]), (x[z], y[z])))
    return out


def figure_2() -> list[Row]:
    """The role of the strength: one attack, 40% of both errors, delta 0."""
    rows = []
    for n in SIZES:
        for s in STRENGTHS:
            found = posterior(
                [[round(0.4 * n), n, round(0.4 * n), n]], strength=StrengthPrior(fixed=s)
            )
            low, high = found.interval()
            rows.append({"N": n, "s": s, "low": low, "high": high})
    return rows


def figure_3(seed: int) -> list[tuple[str, Array, Posterior]]:
    """Ten weak and ten strong attacks, 1000 decisions per side."""
    rng = np.random.default_rng(seed)
    a, b = rng.beta(10, 10, 10), rng.beta(10, 10, 10)
    weak = np.column_stack([rng.binomial(1000, a), [1000] * 10, rng.binomial(1000, b), [1000] * 10])
    strong = np.column_stack([STRONG_X, [1000] * 10, STRONG_Y, [1000] * 10])
    out = []
    for name, counts in (("weak", weak), ("strong", strong)):
        for delta in (0.0, ARTIFICIAL_DELTA):
            found = posterior(counts.astype(float), delta)
            out.append((f"{name}, delta {delta:g}", counts.astype(float), found))
    return out


def logit(losses: Array) -> Array:
    """``log(p / (1 - p))`` of the confidence p in the true class."""
    safe = np.maximum(losses, 1e-300)
    return np.asarray(-safe - np.log(-np.expm1(-safe)))


def measured(algorithm: Algorithm, args: argparse.Namespace) -> tuple[Array, Array, list[Row]]:
    """Counts at the target error, one row per base: by ranks, and as published; and all curves."""
    rows, published, curves = [], [], []
    name = f"digits-{algorithm.name}-{RECORDS}-{HIDDEN}-{EPOCHS}-{BATCH}-{RATE}-{MOMENTUM}"
    for k, (base, record) in enumerate(bases(args.bases, args.seed)):
        found = divulge.retraining.measure(
            partial(train, algorithm=algorithm),
            base,
            record,
            loss=loss,
            models=args.models,
            seed=args.seed + k,
            n_jobs=args.n_jobs,
            cache=args.out / "pieces",
            cache_key=name,
        )
        published.append(list(found.row(TARGET).values()))
        both = (logit(losses) for losses in (found.without, found.with_record))
        rows.append(parametric.cross_fed(*both, [TARGET], calibration="ranks")[0])
        for level, (x, n0, y, n1) in zip(found.levels, found.counts, strict=True):
            curves.append(
                {"algorithm": algorithm.name, "base": k, "target": level, "x": x / n0, "y": y / n1}
            )
    return np.array(rows, dtype=float), np.array(published, dtype=float), curves


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """A table to print."""
    out = Table(title=title)
    for k, name in enumerate(columns):
        out.add_column(name, justify="left" if k == 0 else "right")
    for row in rows:
        out.add_row(*(f"{v:.3f}" if isinstance(v, float) else str(v) for v in row))
    return out


def summary(found: Posterior) -> list[float]:
    """Both parameters: 5%, 50%, 95%."""
    both = [found.quantile([0.05, 0.5, 0.95], of) for of in ("epsilon", "strength")]
    return [float(v) for v in np.concatenate(both)]


def save_charts(
    out: Path, second: list[Row], joints: list[tuple[str, Array, Posterior]], curves: list[Row]
) -> None:
    """Figures as SVG; needs the extra ``report``."""
    import altair as alt

    def data(rows: list[Row]) -> alt.InlineData:
        return alt.InlineData(values=rows)

    interval = {"y": alt.Y("low:Q", title="epsilon, 90% interval"), "y2": "high:Q"}
    by_s = alt.Chart(data([r for r in second if r["N"] in (100, 1000)])).mark_bar(size=7)
    by_n = alt.Chart(data([r for r in second if r["s"] in (0.0, 0.5, 0.9, 1.0)])).mark_bar(size=7)
    scale = alt.Scale(type="log")
    pictures: dict[str, Any] = {
        "figure_2_strength": by_s.encode(x=alt.X("s:Q"), column="N:O", **interval),
        "figure_2_size": by_n.encode(x=alt.X("N:Q", scale=scale), column="s:O", **interval),
    }
    cells = []
    for name, _, found in joints:
        e = np.linspace(*(float(v) for v in found.quantile([0.001, 0.995])), 41)
        s = np.linspace(0.0, 1.0, 41)
        mass = found.joint(e, s)
        cells += [
            {"of": name, "e": e[i], "e2": e[i + 1], "s": s[j], "s2": s[j + 1], "mass": mass[i, j]}
            for i, j in np.argwhere(mass > 1e-5)
        ]
    pictures["joint"] = (
        alt.Chart(data(cells))
        .mark_rect()
        .encode(
            x=alt.X("e:Q", title="epsilon"), x2="e2:Q", y=alt.Y("s:Q", title="strength"),
            y2="s2:Q", color=alt.Color("mass:Q", legend=None),
        )
        .properties(width=220, height=180)
        .facet("of:N", columns=3)
        .resolve_scale(x="independent", color="independent")
    )  # fmt: skip
    points = [
        {"of": name, "x": x / n0, "y": y / n1}
        for name, counts, _ in joints
        for x, n0, y, n1 in counts
    ]
    pictures["counts"] = (
        alt.Chart(data(points))
        .mark_point(filled=True)
        .encode(
            x=alt.X("x:Q", title="false positive rate"), y=alt.Y("y:Q", title="false negative rate")
        )
        .properties(width=220, height=180)
        .facet("of:N", columns=3)
    )
    if curves:
        pictures["figure_4_curves"] = (
            alt.Chart(data([c for c in curves if round(100 * c["target"]) % 3 == 1]))
            .mark_line(strokeWidth=1, opacity=0.6)
            .encode(x="x:Q", y="y:Q", detail="base:N", order="target:Q")
            .properties(width=220, height=180)
            .facet("algorithm:N", columns=3)
        )
    for name, picture in pictures.items():
        picture.save(str(out / f"mcmc_dp_est_{name}.svg"))


def main(words: Sequence[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="4 bases, 20 models, 2 algorithms.")
    parser.add_argument("--bases", type=int, default=20)
    parser.add_argument("--models", type=int, default=100, help="Models per side and base.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args(words)
    chosen, grid = ALGORITHMS, {}
    if args.quick:
        args.bases, args.models = min(args.bases, 4), min(args.models, 20)
        chosen, grid = (ALGORITHMS[0], ALGORITHMS[3]), {"taus": 4, "correlations": 4}
    args.out.mkdir(parents=True, exist_ok=True)
    console = Console(width=130)
    second = figure_2()
    shown = [
        [f"N = {n}", *(f"{r['low']:.3f}-{r['high']:.3f}" for r in second
                       if r["N"] == n and r["s"] in (0.0, 0.5, 0.9, 1.0))]
        for n in SIZES
    ]  # fmt: skip
    console.print(
        table("Figure 2: 90% interval of epsilon", ("", "s 0", "s .5", "s .9", "s 1"), shown)
    )
    joints = figure_3(args.seed)
    columns = ("", "eps 5%", "50%", "95%", "s 5%", "50%", "95%")
    console.print(table("Figure 3", columns, [[name, *summary(p)] for name, _, p in joints]))
    rows, curves = [], []
    for algorithm in chosen:
        begun = time.perf_counter()
        counts, published, curve = measured(algorithm, args)
        trained = time.perf_counter() - begun
        exact = correlated(counts, REAL_DELTA, **grid).posterior(EpsilonPrior(), StrengthPrior())
        result = divulge.retraining(counts, deltas=(REAL_DELTA,))
        rates = [
            float(table[:, k].mean() / args.models) for table in (published, counts) for k in (0, 2)
        ]
        bound = float(result.bounds[0].value)
        rows.append([algorithm.name, *rates, bound, *summary(exact)])
        joints.append((algorithm.name, counts, exact))
        curves += curve
        print(f"{algorithm.name}: {trained:.0f} s to train or find", file=sys.stderr)
    columns = ("", "normal: fpr", "fnr", "ranks: fpr", "fnr", "bound", *columns[1:])
    title = (
        f"Figures 4 and 5: digits, {args.bases} bases, {args.models} models per side, delta "
        f"{REAL_DELTA:g}; bound: Clopper-Pearson, 95%, as if the decisions were independent"
    )
    console.print(table(title, columns, rows))
    for name, header, lines in (
        ("mcmc_dp_est", ("algorithm", "normal_fpr", "normal_fnr", "fpr", "fnr", "bound",
                         "eps_q05", "eps_q50", "eps_q95",
                         "s_q05", "s_q50", "s_q95"), rows),
        ("mcmc_dp_est_curves", ("algorithm", "base", "target", "x", "y"),
         [list(c.values()) for c in curves]),
    ):  # fmt: skip
        with (args.out / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([header, *lines])
    save_charts(args.out, second, joints, curves)


if __name__ == "__main__":
    main()
