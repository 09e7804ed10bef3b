"""Power and scale of membership audits under shift, against the published form in one run.

    python benchmarks/membership.py [power] [bootstrap] [scale --rows 1000000] [seeds] [oracle]

Without words the first three run.
"""

from __future__ import annotations

import argparse
import os
import resource
import time

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import expit

from divulge.data.features import Features
from divulge.games.membership.play import Pools, audit_pools
from divulge.mechanisms import Shifted
from divulge.proof.corrections import correct
from divulge.proof.prepared import Prepared
from divulge.proof.rule import Rule
from divulge.shift import propensity
from divulge.work import Engine

CONSOLE = Console(width=200)


def linear_table(
    rows: int, columns: int, shift: float, mu: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, truths and independent Gaussian scores; log-odds linear with the given sd."""
    x = rng.normal(size=(rows, columns))
    direction = rng.normal(size=columns)
    log_odds = x @ (shift * direction / np.linalg.norm(direction))
    truth = np.where(rng.random(rows) < expit(log_odds), 1.0, -1.0)
    return x, truth, mu * (truth > 0) + rng.normal(size=rows)


def power(repetitions: int, trials: int = 10_000, columns: int = 20, mu: float = 0.66) -> None:
    """Propensities estimated on as many other records; every correction on the same counts."""
    table = Table(
        "shift sd", "conditional as published", "signed", "balanced", "balanced / published",
        title=f"mean mu bound of {repetitions} runs, truth {mu:g}, m = {trials:,}, error 0.05",
    )  # fmt: skip
    for shift in (0.0, 0.5, 1.0, 2.0, 3.0):
        found: dict[str, list[float]] = {}
        for seed in range(repetitions):
            rng = np.random.default_rng(seed)
            x, truth, score = linear_table(2 * trials, columns, shift, mu, rng)
            order = np.arange(truth.size)
            log_odds, _ = propensity.split_fit(x, truth, order, trials, learner="logistic", rng=rng)
            prepared = Prepared(
                truth=truth, raw=score, score=score, log_odds=log_odds, coin=0.0, order=order,
                learned=trials, bet_score=score, bet_log_odds=log_odds,
            )  # fmt: skip
            chosen = ("conditional", "signed", "balanced")
            audited = correct(prepared, Rule((), 0.1, chosen), rng)
            for bound in audited.bounds:
                if bound.parameter == "mu":
                    found.setdefault(bound.correction, []).append(bound.value)
        mean = {name: float(np.mean(values)) for name, values in found.items()}
        table.add_row(
            f"{shift:g}", f"{mean['conditional']:.3f}", f"{mean['signed']:.3f}",
            f"{mean['balanced']:.3f}", f"{mean['balanced'] / max(mean['conditional'], 1e-9):.2f}",
        )  # fmt: skip
    CONSOLE.print(table)


def pools(rows: int, columns: int, shift: float = 1.0, mu: float = 0.66) -> Pools:
    x, truth, score = linear_table(rows, columns, shift, mu, np.random.default_rng(0))
    names = tuple(f"x_{j}" for j in range(columns))
    return Pools(truth, score[:, None], Features(x, names), None, None, ("score",), ())


def bootstrap(jobs: int) -> None:
    """The published bootstrap, K = 600, on 10,000 rows; and the same audit without it."""
    data = pools(10_000, 20)
    times = []
    for resamples in (0, 600):
        start = time.perf_counter()
        audit_pools(
            data, Rule(estimator="logistic"), bootstrap=resamples, engine=Engine(n_jobs=jobs)
        )
        times.append(time.perf_counter() - start)
    CONSOLE.print(
        f"bootstrap, K = 600, 10,000 rows x 20 features, {jobs} processes: {times[1]:.1f} s "
        f"({times[1] / times[0]:.0f} times the audit without it)"
    )


def scale(rows: int, columns: int = 50) -> None:
    """End to end from arrays to a result, without bootstrap."""
    data = pools(rows, columns)
    start = time.perf_counter()
    result = audit_pools(data)
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    CONSOLE.print(
        f"{rows:,} rows x {columns} features end to end: {took:.0f} s, peak memory "
        f"{peak:.1f} GiB, {result.verdict.sentence}"
    )


def oracle(repetitions: int, rows: int = 8000) -> None:
    """Everything estimated from the features against the true propensities, on the same tables."""
    table = Table(
        "shift", "columns", "mu", "oracle's", "share", "epsilon", "oracle's", "share", "refused",
        title=f"mean bounds of {repetitions} tables of {rows:,} rows, true mu 1, error 0.05",
    )  # fmt: skip
    for kind, columns in (("linear", 8), ("linear", 50), ("variance", 8), ("cluster", 20)):
        found: list[list[float]] = []
        refused = 0
        for seed in range(repetitions):
            drawn = Shifted(kind, columns=columns, mu=1.0).sample(rows, np.random.default_rng(seed))
            names = tuple(f"x_{j}" for j in range(columns))
            values = []
            for known in (False, True):
                features = Features(drawn.features, names)
                score = drawn.score
                pi = expit(drawn.log_odds) if known else None
                data = Pools(drawn.truth, score[:, None], features, None, pi, ("score",), ())
                result = audit_pools(data, Rule((), 0.05, ("balanced", "prior")), seed=seed)
                refused += not known and result.verdict.status == "cannot conclude"
                bounds = {b.parameter: b.value for b in result.headline()}
                values += [bounds.get("mu", 0.0), bounds.get("epsilon", 0.0)]
            found.append(values)
        mu, epsilon, best_mu, best = np.mean(found, axis=0)
        table.add_row(
            kind, str(columns), f"{mu:.3f}", f"{best_mu:.3f}", f"{mu / best_mu:.0%}",
            f"{epsilon:.3f}", f"{best:.3f}", f"{epsilon / best:.0%}", str(refused),
        )  # fmt: skip
    CONSOLE.print(table)


def seeds(repetitions: int, rows: int = 2000, count: int = 10) -> None:
    """One table drawn ten times: one draw, the best of ten (not valid), and all ten combined."""
    table = Table(
        "scores", "bound", "one draw", "sd of the draws", "largest of ten", "combined",
        "false: one", "false: largest", "false: combined",
        title=f"{repetitions} tables of {rows:,} rows, no features, error 0.05",
    )  # fmt: skip
    for name, mu in (("nothing leaks", 0.0), ("Gaussian, mu = 1", 1.0)):
        found: dict[str, list[list[float]]] = {}
        for repetition in range(repetitions):
            x, truth, score = linear_table(rows, 1, 0.0, mu, np.random.default_rng(repetition))
            data = Pools(truth, score[:, None], Features(x[:, :0], ()), None, None, ("score",), ())
            result = audit_pools(
                data, Rule(corrections=("balanced", "prior"), seeds=count), seed=100 * repetition
            )
            for row in result.diagnostics.seeds.spread:
                found.setdefault(row.bound, []).append([row.combined, *row.of_each_seed])
        for bound, values in found.items():
            rows_ = np.array(values)
            combined, alone = rows_[:, 0], rows_[:, 1:]
            shown = (alone[:, 0], alone.max(axis=1), combined)
            above = ["", "", ""] if mu else [f"{np.mean(v > 1e-9):.1%}" for v in shown]
            if mu and bound == "mu":
                above = [f"{np.mean(v > mu):.1%}" for v in shown]
            spread = f"{alone.std(axis=1, ddof=1).mean():.3f}"
            mean = [f"{v.mean():.3f}" for v in shown]
            table.add_row(name, bound, mean[0], spread, mean[1], mean[2], *above)
    CONSOLE.print(table)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("what", nargs="*", default=[])
    options.add_argument("--repetitions", type=int, default=20)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    chosen = options.parse_args()
    what = chosen.what or ["power", "bootstrap", "scale"]
    if "power" in what:
        power(chosen.repetitions)
    if "bootstrap" in what:
        bootstrap(chosen.jobs)
    if "oracle" in what:
        oracle(chosen.repetitions)
    if "seeds" in what:
        seeds(chosen.repetitions)
    if "scale" in what:
        scale(chosen.rows)


if __name__ == "__main__":
    main()
