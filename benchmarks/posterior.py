"""The exact posterior against the compiled sampler, at equal accuracy of the 5% and 95% quantiles.

    python benchmarks/posterior.py [--draws 3000]

20 attacks with 100 models per side. The exact form is timed, and its error taken from a grid four
times finer. The sampler (Algorithm 1, compiled) is run for a while; the standard error of its
quantiles, by batches, falls with the root of the draws, so that the draws and the time it needs for
a given accuracy follow. Two accuracies are shown: 1% of the quantile, and that of the exact form.
Seconds are those of the processor, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from divulge.bounds.correlated import correlated
from divulge.bounds.posterior import posterior
from divulge.bounds.samplers import sample_independent

ENDS = (0.05, 0.95)
ATTACKS, MODELS = 20, 100


def counts(models: int = MODELS) -> np.ndarray:
    """False positives near 10%, false negatives anywhere below one half."""
    rng = np.random.default_rng(0)
    x, y = rng.beta(10, 90, ATTACKS), rng.uniform(0.0, 0.5, ATTACKS)
    n = np.full(ATTACKS, models)
    return np.column_stack([rng.binomial(n, x), n, rng.binomial(n, y), n]).astype(float)


def timed(table: np.ndarray, delta: float, repeats: int) -> tuple[float, float, np.ndarray]:
    """Median seconds, largest relative error of the two quantiles, and the quantiles."""
    fine = posterior(table, delta, resolution=4.0).quantile(ENDS)
    seconds = []
    for _ in range(repeats):
        begun = time.process_time()
        found = posterior(table, delta).quantile(ENDS)
        seconds.append(time.process_time() - begun)
    return float(np.median(seconds)), float(np.max(np.abs(found / fine - 1.0))), found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--auxiliaries", type=int, nargs="*", default=[1000, 100])
    parser.add_argument("--correlated", action="store_true", help="Time correlated counts too.")
    args = parser.parse_args()
    console = Console(width=118)
    table = Table(title=f"exact posterior, {ATTACKS} attacks")
    for name in (
        "models per side",
        "delta",
        "seconds",
        "relative error of the 5% and 95% quantiles",
    ):
        table.add_column(name, justify="right")
    exact = {}
    for models in (MODELS, 1_000, 100_000):
        for delta in (0.0, 1e-3):
            seconds, error, found = timed(counts(models), delta, args.repeats)
            exact[models, delta] = seconds, error, found
            table.add_row(str(models), f"{delta:g}", f"{seconds:.3f}", f"{error:.1e}")
    console.print(table)
    table = Table(title=f"compiled Algorithm 1, {ATTACKS} attacks, {MODELS} models per side")
    for name in (
        "auxiliaries", "from", "delta", "seconds per 1000 draws", "standard errors, 5% and 95%",
        "times slower at 1%", "at the exact error",
    ):  # fmt: skip
        table.add_column(name, justify="right")
    sample_independent(counts()[:2], draws=20, burn_in=2, auxiliaries=5, rng=0)  # compile
    ways = [(k, square) for k in args.auxiliaries for square in (False, True)]
    for auxiliaries, square in ways:
        for delta in (0.0, 1e-3):
            seconds, error, found = exact[MODELS, delta]
            draws = args.draws * (1 if auxiliaries >= 1000 else 4)
            begun = time.process_time()
            chain = sample_independent(
                counts(), delta, draws=draws, burn_in=draws // 10, auxiliaries=auxiliaries,
                square=square, rng=1,
            )  # fmt: skip
            each = (time.process_time() - begun) / (1.1 * draws)
            spread = np.array([chain.quantile_error(q) for q in ENDS])
            needed = [draws * np.max(spread / (goal * found)) ** 2 for goal in (0.01, error)]
            slower = [f"{n * each / seconds:,.0f}" for n in needed]
            where = "unit square" if square else "Beta"
            errors = " ".join(f"{e:.3f}" for e in spread)
            table.add_row(
                str(auxiliaries), where, f"{delta:g}", f"{1000 * each:.1f}", errors, *slower
            )
    console.print(table)
    if args.correlated:
        begun = time.process_time()
        correlated(counts(), 1e-3)
        console.print(f"correlated counts, exact, delta 0.001: {time.process_time() - begun:.1f} s")


if __name__ == "__main__":
    main()
