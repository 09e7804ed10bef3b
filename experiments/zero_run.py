"""Figure 2(a) of Zero-Run auditing (paper 000), one curve per correction for distribution shift.

    python experiments/zero_run.py [--seeds 3] [--quick]

A noisy sum of records on the unit sphere, exactly 0.66-GDP. Members lean towards one direction by
gamma, non-members by rho x gamma; the attack is the inner product of a record with the release.
Every correction audits the same trials with the same attack. Estimated propensities come from a
separate set of the same size and are bootstrapped. Writes a CSV and an SVG under out/ (the figure
needs the extra ``report``).

Within a seed every rho has the same members, noise and uniforms, so that a curve shows the shift
and not the draw. Records of the propensity set are not part of the release: an auditor who knows
them can subtract those that are.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from divulge.bounds import guessing
from divulge.bounds.recursion import mu_lower_bound
from divulge.proof.bootstrap import RESAMPLES, bootstrap
from divulge.shift import conditional, propensity
from divulge.shift.balance import keep_probabilities
from divulge.types import Array, Index
from divulge.work import Engine

MU = 0.66
SHARES = (0.1, 0.05, 0.02, 0.01, 0.005, 0.0025)
"""Guesses per trial: abstentions {9000, 9500, 9800, 9900, 9950, 9975} of 10,000."""
TEST_ERROR = BOOTSTRAP_ERROR = 0.025
RHOS = (1.0, 0.9, 0.8, 0.6, 0.4, 0.2, 0.0)
CURVES = {
    "none": "no correction (one-run)",
    "composition I": "composition, Algorithm 7",
    "composition II": "composition, Algorithm 8",
    "unaware": "conditional, propensity-unaware",
    "aware": "conditional, propensity-aware, as published",
    "signed": "conditional, propensity-aware, signed",
    "balanced": "balanced",
}
RULES = ("honest", "published")
"""Honest: each of the six numbers of guesses is tested at error / 6. Published: at error."""
RARE = 1e-5
"""delta_DS of Algorithm 7. Its recursion starts at error x correct / trials and cannot move unless
delta_DS is far below that: at 0.01 it is 0 whatever the counts. Algorithm 8 takes half the error.
"""
SPENT = 0.01
"""delta_DS of Algorithm 8, taken from the error once, as printed."""
_CHUNK = 500


@dataclass(frozen=True)
class Setting:
    """What is simulated."""

    trials: int = 10_000
    dimension: int = 20_000
    gamma: float = 2.5
    features: int = 20
    resamples: int = RESAMPLES
    rhos: tuple[float, ...] = RHOS

    @property
    def levels(self) -> tuple[int, ...]:
        """The numbers of guesses of the sweep."""
        return tuple(max(1, round(share * self.trials)) for share in SHARES)


@dataclass(frozen=True)
class World:
    """One release, its trials, and the set that the propensity is learned from."""

    rho: float
    score: Array = field(repr=False)
    truth: Array = field(repr=False)
    features: Array = field(repr=False)
    known_features: Array = field(repr=False)
    known_truth: Array = field(repr=False)
    log_odds: Array = field(repr=False)
    """The true prior log-odds, which no audit sees."""
    uniforms: Array = field(repr=False)


def worlds(setting: Setting, seed: int) -> Iterator[World]:
    """The same draw at every rho, record for record as ``NoisySum.records`` makes it."""
    s = setting
    coins, counted, known = np.random.SeedSequence(seed).spawn(3)
    rng = np.random.default_rng(coins)
    truth, known_truth = (np.where(rng.random(s.trials) < 0.5, 1.0, -1.0) for _ in range(2))
    noise, uniforms = rng.standard_normal(s.dimension) / MU, rng.random(s.trials)
    theta = noise
    for rows, z in _gaussians(s, counted):
        z = z[truth[rows] > 0.0]
        z[:, 0] += s.gamma
        theta = theta + (z / np.linalg.norm(z, axis=1, keepdims=True)).sum(axis=0)
    parts = _Parts(s, counted, theta), _Parts(s, known, None)
    for rho in s.rhos:
        score, x = parts[0].records(truth, rho)
        _, known_x = parts[1].records(known_truth, rho)
        centre, scale = known_x.mean(axis=0), known_x.std(axis=0)
        yield World(
            rho=rho,
            score=score,
            truth=truth,
            features=(x - centre) / scale,
            known_features=(known_x - centre) / scale,
            known_truth=known_truth,
            log_odds=true_log_odds(x[:, 0], s.dimension, s.gamma, rho),
            uniforms=uniforms,
        )


def _gaussians(setting: Setting, seeds: np.random.SeedSequence) -> Iterator[tuple[slice, Array]]:
    """The records before bias and projection, a few rows at a time; the same on every call."""
    seeds = np.random.SeedSequence(seeds.entropy, spawn_key=seeds.spawn_key)
    for start in range(0, setting.trials, _CHUNK):
        rows = slice(start, min(start + _CHUNK, setting.trials))
        rng = np.random.default_rng(seeds.spawn(1)[0])
        yield rows, rng.standard_normal((rows.stop - start, setting.dimension))


class _Parts:
    """What a record needs at any rho: the bias touches the first coordinate only."""

    def __init__(self, s: Setting, seeds: np.random.SeedSequence, theta: Array | None) -> None:
        self.gamma, self.first = s.gamma, 0.0 if theta is None else theta[0]
        self.low = np.empty((s.trials, s.features))
        self.square, self.inner = np.empty(s.trials), np.zeros(s.trials)
        for rows, z in _gaussians(s, seeds):
            self.low[rows] = z[:, : s.features]
            self.square[rows] = (z[:, 1:] ** 2).sum(axis=1)
            if theta is not None:
                self.inner[rows] = z[:, 1:] @ theta[1:]

    def records(self, truth: Array, rho: float) -> tuple[Array, Array]:
        """(inner product with theta, leading coordinates) of the records on the sphere."""
        first = self.low[:, 0] + np.where(truth > 0.0, self.gamma, rho * self.gamma)
        norm = np.sqrt(self.square + first**2)
        x = np.column_stack([first, self.low[:, 1:]]) / norm[:, None]
        return (self.inner + first * self.first) / norm, x


def true_log_odds(cosine: Array, dimension: int, gamma: float, rho: float) -> Array:
    """Log density ratio on the sphere, up to O(1/d): r ~ chi_d, log E exp(gamma t r)."""
    spread = gamma**2 * (1.0 - rho**2)
    linear = np.sqrt(dimension - 0.5) * gamma * (1.0 - rho) * cosine
    return np.asarray(linear + spread * cosine**2 / 4.0 - spread / 2.0, dtype=float)


class Audit:
    """Lower bounds on mu as functions of the propensities; guesses and uniforms are held fixed."""

    def __init__(self, world: World, levels: Sequence[int], fitted: Array) -> None:
        self.world, self.levels, self.fitted = world, levels, fitted
        self.order = np.argsort(world.score, kind="stable")
        by_score = [self._ends(self.order, r) for r in levels]
        self.guesses = {"none": by_score, "unaware": by_score}
        # Of the score alone: log-likelihood ratio of two normals one apart, centred.
        evidence = (world.score - np.median(world.score)) / world.score.var()
        for name in ("aware", "signed"):
            confidence, _ = conditional.aware_confidence(evidence, fitted, signed=name == "signed")
            self.guesses[name] = [
                guessing.top_guesses(confidence, r, np.random.default_rng(0)) for r in levels
            ]

    def _ends(self, order: Index, guesses: int) -> Array:
        """Members at the top of the order, non-members at its bottom."""
        out = np.zeros(self.world.truth.size)
        out[order[: guesses // 2]] = -1.0
        out[order[order.size - (guesses + 1) // 2 :]] = 1.0
        return out

    def bound(self, name: str, log_odds: Array, error: float) -> float:
        """The largest bound over the sweep, each number of guesses tested at ``error``."""
        w = self.world
        if name == "balanced":
            return self._balanced(log_odds, error)
        if name in ("none", "composition I", "composition II"):
            counts = [guessing.count_correct(g, w.truth) for g in self.guesses["none"]]
        else:
            signed = name == "signed"
            counts = [
                conditional.tampered_counts(g, w.truth, log_odds, w.uniforms, signed=signed)
                for g in self.guesses[name]
            ]
        shift_mu = failure = 0.0
        if name.startswith("composition"):
            spent = RARE if name == "composition I" else min(SPENT, error / 2)
            worst = conditional.worst_shift(log_odds, spent)
            shift_mu, failure = worst.mu, worst.failure
        if name == "composition II":
            error, failure = error - failure, 0.0
        return max(
            mu_lower_bound(
                c.trials, c.guesses, c.correct, error, shift_mu=shift_mu, failure=failure
            )
            for c in counts
        )

    def _balanced(self, log_odds: Array, error: float) -> float:
        w = self.world
        keep = w.uniforms < keep_probabilities(w.truth, log_odds)
        order = self.order[keep[self.order]]
        best = 0.0
        for level in self.levels:
            r = min(level, order.size)
            high, low = order[order.size - (r + 1) // 2 :], order[: r // 2]
            correct = int((w.truth[high] > 0.0).sum() + (w.truth[low] < 0.0).sum())
            best = max(best, mu_lower_bound(max(1, order.size), r, correct, error))
        return best


class Refit:
    """Propensities of the trials from resampled rows; each resample is fitted once."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.done: dict[bytes, Array] = {}

    def __call__(self, rows: Index) -> Array:
        key = rows[:32].tobytes()
        if key not in self.done:
            w = self.world
            predict = propensity.fit_log_odds(
                w.known_features[rows], w.known_truth[rows], rng=np.random.default_rng(0)
            )
            self.done[key] = predict(w.features)
        return self.done[key]


def audit(world: World, setting: Setting, seed: int) -> list[dict[str, object]]:
    """One row per curve and rule."""
    refit = Refit(world)
    fitted = refit(np.arange(setting.trials))
    audited = Audit(world, setting.levels, fitted)
    kept = keep_probabilities(world.truth, fitted).mean()
    rows: list[dict[str, object]] = []
    for name in CURVES:
        for rule in RULES:
            error = TEST_ERROR / (len(SHARES) if rule == "honest" else 1)
            point = value = audited.bound(name, fitted, error)
            if name != "none":
                value = bootstrap(
                    point,
                    lambda chosen, name=name, error=error: audited.bound(
                        name, refit(chosen), error
                    ),
                    setting.trials,
                    error=BOOTSTRAP_ERROR,
                    rng=np.random.default_rng(seed),
                    resamples=setting.resamples,
                ).lower
            rows.append(
                {
                    "seed": seed,
                    "rho": world.rho,
                    "correction": name,
                    "rule": rule,
                    "bound": value,
                    "before_bootstrap": point,
                    "shift_sd": float(world.log_odds.std()),
                    "log_odds_rmse": float(np.sqrt(np.mean((fitted - world.log_odds) ** 2))),
                    "kept_share": float(kept),
                }
            )
    return rows


def mean(rows: list[dict[str, object]], key: str, **where: object) -> float:
    """The mean of a column over the rows that match."""
    picked = [float(r[key]) for r in rows if all(r[k] == v for k, v in where.items())]  # type: ignore[arg-type]
    return float(np.mean(picked))


def show(rows: list[dict[str, object]], rhos: Sequence[float], console: Console) -> None:
    """The tables, how often a curve crossed the truth, and what was kept of the no-shift value."""
    for rule in RULES:
        table = Table(title=f"mean lower bound on mu (true mu {MU}), sweep: {rule}")
        for heading in ("rho", "sd of l", "rmse of l", "kept", *CURVES):
            table.add_column(heading, justify="right")
        for rho in rhos:
            at = {"rho": rho, "rule": rule}
            table.add_row(
                f"{rho:g}",
                *(f"{mean(rows, k, **at):.2f}" for k in ("shift_sd", "log_odds_rmse")),
                f"{mean(rows, 'kept_share', **at):.0%}",
                *(f"{mean(rows, 'bound', correction=c, **at):.3f}" for c in CURVES),
            )
        false = [
            sum(r["bound"] > MU for r in rows if r["correction"] == c and r["rule"] == rule)  # type: ignore[operator]
            for c in CURVES
        ]
        audits = len(rows) // (len(CURVES) * len(RULES))
        table.add_row(f"above {MU}", "", "", "", *(f"{n}/{audits}" for n in false))
        console.print(table)
    for name in ("aware", "signed", "balanced"):
        at = {"correction": name, "rule": "honest"}
        start = mean(rows, "bound", rho=rhos[0], **at)
        if start > 0.0:
            kept = ", ".join(f"{mean(rows, 'bound', rho=q, **at) / start:.0%}" for q in rhos)
            console.print(f"{name}: share of its value at rho {rhos[0]:g} (honest): {kept}")


def draw(rows: list[dict[str, object]], rhos: Sequence[float], path: Path) -> None:
    """The figure: the honest rule for every curve, and the true mu."""
    import altair as alt

    points = [
        {
            "shift": round(1.0 - rho, 6),
            "correction": label,
            "bound": mean(rows, "bound", correction=name, rho=rho, rule="honest"),
        }
        for name, label in CURVES.items()
        for rho in rhos
    ]
    scale = alt.Scale(domain=list(CURVES.values()))
    named = {"scale": scale, "title": None, "legend": alt.Legend(labelLimit=400)}
    base = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X("shift:Q", title="shift: 1 - rho"),
        y=alt.Y("bound:Q", title="lower bound on mu (mean over seeds)"),
    )
    color = alt.Color("correction:N", **named)
    dots = base.mark_point(filled=True, size=60, opacity=1.0).encode(
        color=color, shape=alt.Shape("correction:N", **named)
    )
    lines = base.mark_line().encode(color=color) + dots
    truth = alt.Data(values=[{"mu": MU, "text": f"true mu = {MU}"}])
    rule = alt.Chart(truth).mark_rule(strokeWidth=2).encode(y="mu:Q")
    text = (
        alt.Chart(truth).mark_text(align="left", dx=4, dy=-7, x=0).encode(y="mu:Q", text="text:N")
    )
    title = "Zero-Run auditing of a noisy sum: union bound over the sweep, bootstrapped"
    (lines + rule + text).properties(width=560, height=380, title=title).save(str(path))


def write(rows: list[dict[str, object]], path: Path) -> None:
    """All rows, one per seed, rho, correction and rule."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, fieldnames=list(rows[0]))
        out.writeheader()
        out.writerows(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--trials", type=int, default=Setting.trials)
    options.add_argument("--dimension", type=int, default=Setting.dimension)
    options.add_argument("--gamma", type=float, default=Setting.gamma)
    options.add_argument("--features", type=int, default=Setting.features)
    options.add_argument("--resamples", type=int, default=Setting.resamples)
    options.add_argument("--rhos", type=float, nargs="+", default=list(RHOS))
    options.add_argument("--n-jobs", type=int, default=1)
    options.add_argument("--out", type=Path, default=Path("out"))
    options.add_argument("--quick", action="store_true", help="one seed, few resamples, 3 shifts")
    args = options.parse_args(arguments)
    if args.quick:
        args.seeds, args.resamples, args.rhos = 1, 40, [1.0, 0.6, 0.0]
    setting = Setting(
        args.trials, args.dimension, args.gamma, args.features, args.resamples, tuple(args.rhos)
    )
    console = Console(width=200)
    console.print(setting)
    rows: list[dict[str, object]] = []
    start = time.perf_counter()
    for seed in range(args.seeds):
        found = Engine(n_jobs=args.n_jobs).run(
            partial(audit, setting=setting, seed=seed), list(worlds(setting, seed))
        )
        for rho, of_world in zip(setting.rhos, found, strict=True):
            rows += of_world
            spent = time.perf_counter() - start
            console.print(f"seed {seed}, rho {rho:g}: {spent:.0f} s", style="dim")
    show(rows, setting.rhos, console)
    write(rows, args.out / "zero_run.csv")
    draw(rows, setting.rhos, args.out / "zero_run.svg")
    console.print(f"Wrote {args.out / 'zero_run.csv'} and {args.out / 'zero_run.svg'}.")


if __name__ == "__main__":
    main()
