"""The exact posterior against the compiled sampler, at equal accuracy of the 5% and 95% quantiles.

    python benchmarks/posterior.py [--draws 4000 --seeds 4]

20 attacks with 100 models per side. Two grids of the exact form are timed, the default and one that
is coarse but still good to 1%; the error of each is taken from a grid four times finer than the
default. The sampler (Algorithm 1, compiled) is run from several seeds, and the error of its
quantiles is their root mean square distance from the exact ones, after a quarter of the draws, half
and all. It falls with the root of the draws, and by that law the draws and the time for a given
error follow: far beyond what was run, where the error is that of a grid. Seconds are those of the
processor, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from divulge.crosschecks.samplers import sample_independent
from divulge.posterior.correlated import correlated
from divulge.posterior.exact import posterior

ENDS = (0.05, 0.95)
ATTACKS, MODELS = 20, 100
DELTAS = (0.0, 1e-3)
COARSE = 0.1


def counts(models: int = MODELS) -> np.ndarray:
    """False positives near 10%, false negatives anywhere below one half."""
    rng = np.random.default_rng(0)
    x, y = rng.beta(10, 90, ATTACKS), rng.uniform(0.0, 0.5, ATTACKS)
    n = np.full(ATTACKS, models)
    return np.column_stack([rng.binomial(n, x), n, rng.binomial(n, y), n]).astype(float)


def timed(
    table: np.ndarray, delta: float, fine: np.ndarray, resolution: float, repeats: int
) -> tuple[float, float]:
    """Median seconds, and the largest relative error of the two quantiles."""
    seconds = []
    for _ in range(repeats):
        begun = time.process_time()
        found = posterior(table, delta, resolution=resolution).quantile(ENDS)
        seconds.append(time.process_time() - begun)
    return float(np.median(seconds)), float(np.max(np.abs(found / fine - 1.0)))


def sampled(
    delta: float, fine: np.ndarray, args: argparse.Namespace, auxiliaries: int, square: bool
) -> tuple[float, list[float]]:
    """Seconds per draw, and the larger relative error after a quarter of the draws, half, all."""
    begun = time.process_time()
    chains = sample_independent(
        counts(), delta, draws=args.draws, burn_in=args.burn_in, auxiliaries=auxiliaries,
        chains=args.seeds, square=square, rng=1,
    ).parameters["epsilon"]  # fmt: skip
    each = (time.process_time() - begun) / (args.seeds * (args.draws + args.burn_in))
    errors = []
    for length in (args.draws // 4, args.draws // 2, args.draws):
        apart = np.quantile(chains[:, :length], ENDS, axis=1).T / fine - 1.0
        errors.append(float(np.sqrt(np.mean(apart**2, axis=0)).max()))
    return each, errors


def show(title: str, names: tuple[str, ...], rows: list[list[str]]) -> None:
    table = Table(title=title)
    for name in names:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*row)
    Console(width=140).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--burn-in", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--auxiliaries", type=int, nargs="*", default=[1000])
    parser.add_argument("--correlated", action="store_true", help="Time correlated counts too.")
    args = parser.parse_args()
    exact, rows = {}, []
    for models in (MODELS, 1_000, 100_000):
        for delta in DELTAS:
            table = counts(models)
            fine = posterior(table, delta, resolution=4.0).quantile(ENDS)
            for resolution in (1.0, COARSE):
                seconds, error = timed(table, delta, fine, resolution, args.repeats)
                exact[models, delta, resolution] = seconds, error, fine
                shown = [f"{models:,}", f"{delta:g}", f"{resolution:g}"]
                rows.append([*shown, f"{seconds:.3f}", f"{error:.1e}"])
    names = ("models per side", "delta", "resolution", "seconds", "error of the quantiles")
    show(f"exact posterior, {ATTACKS} attacks", names, rows)
    sample_independent(counts()[:2], draws=20, burn_in=2, auxiliaries=5, rng=0)  # compile
    rows = []
    for auxiliaries in args.auxiliaries:
        for square in (False, True):
            for delta in DELTAS:
                fine = exact[MODELS, delta, 1.0][2]
                each, errors = sampled(delta, fine, args, auxiliaries, square)
                slower = []
                for resolution, goal in ((COARSE, 0.01), (1.0, exact[MODELS, delta, 1.0][1])):
                    seconds = args.draws * (errors[-1] / goal) ** 2 * each
                    slower.append(f"{seconds / exact[MODELS, delta, resolution][0]:,.0f}")
                rows.append(
                    [str(auxiliaries), "unit square" if square else "Beta", f"{delta:g}",
                     f"{1000 * each:.2f}", " ".join(f"{100 * e:.1f}%" for e in errors), *slower]
                )  # fmt: skip
    names = (
        "auxiliaries", "from", "delta", "seconds per 1000 draws", "errors: 1/4, 1/2, all draws",
        "times slower at 1%, coarse grid", "at the error of the default grid",
    )  # fmt: skip
    show(f"compiled Algorithm 1, {ATTACKS} attacks, {MODELS} models per side", names, rows)
    if args.correlated:
        begun = time.process_time()
        correlated(counts(), 1e-3)
        print(f"correlated counts, exact, delta 0.001: {time.process_time() - begun:.1f} s")


if __name__ == "__main__":
    main()
