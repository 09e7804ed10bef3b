"""Speed, memory and power of the bounds, each against the plain or published form in one run.

    python benchmarks/bounds.py [--trials 10000000] [--skip-plain]

Absolute times depend on the machine; the ratios are what to look at.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import metadata

import numpy as np
from packaging.requirements import Requirement
from rich.console import Console
from rich.table import Table
from scipy.stats import norm

from divulge.bounds import Target, bet, bet_given, calibrated, mu_lower_bound, recursion, union
from divulge.mechanisms import GaussianMechanism, MixedExposure, RandomisedResponse


def seconds(task: Callable[[], object]) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def plain_loop_bound(m: int, r: int, c: int, error: float = 0.05, tolerance: float = 1e-6) -> float:
    """The recursion as published: a Python loop over scipy.stats, bisected to the same digits."""

    def rejected(mu: float) -> bool:
        right, wrong = error * c / m, error * (r - c) / m
        for k in range(c - 1, -1, -1):
            h = norm.cdf(norm.ppf(right) - mu)
            right += k / (r - k) * (h - wrong)
            wrong = h
            if right + wrong >= r / m:
                return True
        return False

    low, high = 0.0, 1.0
    while rejected(high):
        low, high = high, 2 * high
    while high - low > tolerance:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low


def recursion_speed(table: Table) -> None:
    m, r, c = 100_000, 10_000, 8_000
    mu_lower_bound(100, 10, 9)  # compile
    recursion._cached.cache_clear()
    ours = min(
        seconds(lambda: (recursion._cached.cache_clear(), mu_lower_bound(m, r, c)))
        for _ in range(5)
    )
    plain = seconds(lambda: plain_loop_bound(m, r, c))
    table.add_row(
        "mu by recursion, m=100,000, r=10,000",
        f"{ours:.6f} s",
        f"{plain:.1f} s",
        f"{plain / ours:,.0f} times faster than the plain loop",
    )


def betting_speed(table: Table, trials: int) -> None:
    rng = np.random.default_rng(0)
    drawn = GaussianMechanism(1.0).sample(trials, rng)
    bet(drawn.score[:1000], drawn.truth[:1000], rng=0)  # compile
    took = seconds(lambda: bet(drawn.score, drawn.truth, rng=0))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    table.add_row(
        f"betting, learned, {trials:,} trials",
        f"{took:.1f} s",
        "",
        f"peak memory of the process {peak:.2f} GiB",
    )


def import_speed(table: Table) -> None:
    def run(code: str) -> float:
        return min(
            seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True))
            for _ in range(5)
        )

    bare, ours, numpy = run("pass"), run("import divulge"), run("import numpy")
    table.add_row(
        "import divulge",
        f"{ours - bare:.3f} s",
        f"{numpy - bare:.3f} s",
        f"{(ours - bare) / (numpy - bare):.2f} of importing numpy",
    )


def installed_size(table: Table) -> None:
    """Bytes on disk of divulge and of everything its core requires, by their own file lists."""
    pending, seen, total = ["divulge"], set(), 0
    while pending:
        name = pending.pop().lower().replace("_", "-")
        if name in seen:
            continue
        seen.add(name)
        package = metadata.distribution(name)
        for file in package.files or ():
            path = file.locate()
            if path.is_file():
                total += path.stat().st_size
        for text in package.requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                pending.append(requirement.name)
    table.add_row(f"core with its {len(seen) - 1} dependencies", f"{total / 2**20:.0f} MB", "", "")


def power(table: Table, repetitions: int) -> None:
    for mechanism in (GaussianMechanism(2.0), RandomisedResponse(1.0), MixedExposure()):
        for shift in (0.0, 2.0):
            learned, exact = [], []
            for seed in range(repetitions):
                rng = np.random.default_rng(seed)
                t = mechanism.sample(10_000, rng, shift * rng.standard_normal(10_000))
                learned.append(bet(t.score, t.truth, t.log_odds, rng=rng).epsilon)
                evidence = mechanism.evidence(t.score) + t.log_odds
                q = np.clip(1 / (1 + np.exp(-evidence)), 1e-9, 1 - 1e-9)
                exact.append(bet_given(q, t.truth, t.log_odds).epsilon)
            table.add_row(
                mechanism.name, f"{shift:g}", f"{np.mean(learned):.3f}", f"{np.mean(exact):.3f}"
            )


def guesses(table: Table, repetitions: int) -> None:
    for m in (2_000, 20_000, 200_000):
        rows = []
        for seed in range(repetitions):
            rng = np.random.default_rng(seed)
            t = GaussianMechanism(1.0).sample(m, rng)
            target = Target(1e-5)
            rows.append(
                (
                    target.bound(calibrated(t, rng, target=target), 0.05),
                    union(t, rng, target=target),
                )
            )
        mean = np.mean(rows, axis=0)
        table.add_row(f"{m:,}", f"{mean[0]:.3f}", f"{mean[1]:.3f}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--trials", type=int, default=10_000_000)
    options.add_argument("--repetitions", type=int, default=20)
    options.add_argument("--skip-plain", action="store_true")
    chosen = options.parse_args()
    console = Console(width=200)
    speed = Table("what", "ours", "against", "so", title="Speed and size")
    import_speed(speed)
    installed_size(speed)
    if not chosen.skip_plain:
        recursion_speed(speed)
    betting_speed(speed, chosen.trials)
    console.print(speed)
    found = Table(
        "mechanism",
        "shift sd",
        "learned q",
        "exact posterior",
        title=f"Betting, m = 10,000, error 0.05: mean epsilon bound of {chosen.repetitions} games",
    )
    power(found, chosen.repetitions)
    console.print(found)
    chosen_r = Table(
        "trials",
        "calibrated",
        "union bound",
        title="Epsilon at delta 1e-5, Gaussian mu = 1 (truth 4.377)",
    )
    guesses(chosen_r, chosen.repetitions)
    console.print(chosen_r)


if __name__ == "__main__":
    main()
