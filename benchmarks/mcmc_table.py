"""Table 1 of MCMC-DP-Est (003) from the published error counts, exactly and by its own sampler.

    python benchmarks/mcmc_table.py counts.csv [--chain 20000] [--only A4_s0.1]
    python benchmarks/mcmc_table.py losses/

The file has the columns algorithm, X_fp, N0, Y_fn, N1, one row per challenge base. In its place, a
folder with the losses that the authors published (dp_attack_*.txt of their repository): the counts
are then those of Algorithm 5 at a target of 0.1, and the false positives of the test calibrated by
ranks are printed beside them.

The exact posterior is that of the paper's model: correlated counts by the normal approximation of
eq. 7, delta 0.001, half-normal prior with variance 10, uniform strength, tau with variance 1e-4.
With --chain, Algorithm 6 is run too, with wider proposals than published so that it mixes. A chain
that starts at a large epsilon does not find a second mode below delta: the mass below 0.1 is shown,
and the interval of the rest.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from divulge.attacks import parametric
from divulge.crosschecks.importance import sample_weighted
from divulge.crosschecks.samplers import SIGMA_TAU, sample_correlated
from divulge.data import tables
from divulge.games.retraining.read import read_counts
from divulge.posterior.correlated import CORRELATIONS, RESOLUTION, TAUS, correlated
from divulge.posterior.exact import posterior
from divulge.posterior.priors import EpsilonPrior, StrengthPrior

DELTA = 1e-3
PUBLISHED = {
    "A1": (5.52, 10.52),
    "A2": (4.95, 10.00),
    "A3_s0.1": (1.29, 2.53),
    "A4_s0.1": (1.00, 2.12),
    "A4_s0.05": (2.80, 7.68),
    "A4_s0.01": (4.61, 9.62),
}
NEAR_ZERO = 0.1
STEPS = (0.25, 0.05, 0.005, 0.005)


LOSSES = {
    "dp_attack_wo_DP_fixed_weights_0.1.txt": "A1",
    "dp_attack_wo_DP_random_weights_0.1.txt": "A2",
    "dp_attack_w_DP_fixed_weights_0.1.txt": "A3_s0.1",
    "dp_attack_w_DP_random_weights_0.1.txt": "A4_s0.1",
    "dp_attack_w_DP_random_weights_0.05.txt": "A4_s0.05",
    "dp_attack_w_DP_random_weights_0.01.txt": "A4_s0.01",
}
"""What the authors call their files of losses; ``wo_DP`` is without noise on the weights."""


def read_losses(path: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """Losses without and with the record, a pair per challenge base: ``l_0 : (0.1, 0.2, ...)``."""
    text = path.read_text()
    sides = [
        [
            np.array(part.split(","), dtype=float)
            for part in re.findall(rf"l_{k} : \(([^)]*)\)", text)
        ]
        for k in (0, 1)
    ]
    return list(zip(*sides, strict=True))


def counts_of_losses(folder: Path, calibration: str = "normal") -> dict[str, np.ndarray]:
    """Algorithm 5 at a target of 0.1, on the losses of every algorithm in the folder."""
    return {
        name: np.concatenate(
            [
                parametric.cross_fed(zero, one, [0.1], calibration=calibration)
                for zero, one in read_losses(folder / file)
            ]
        )
        for file, name in LOSSES.items()
        if (folder / file).exists()
    }


def counts_by_algorithm(path: Path) -> dict[str, np.ndarray]:
    if path.is_dir():
        found, ranked = counts_of_losses(path), counts_of_losses(path, "ranks")
        for name, counts in found.items():
            rates = [c[:, 0].sum() / c[:, 1].sum() for c in (counts, ranked[name])]
            print(f"{name}: false positives {rates[0]:.3f}, by ranks {rates[1]:.3f}")
        return found
    frame = tables.read(path)
    tables.require_columns(frame, ["algorithm"], str(path))
    names = [str(v) for v in frame["algorithm"].to_list()]
    columns = {name: frame[name].to_list() for name in frame.columns if name != "algorithm"}

    def rows(algorithm: str) -> np.ndarray:
        own = [k for k, name in enumerate(names) if name == algorithm]
        return read_counts({name: [v[k] for k in own] for name, v in columns.items()})[0].rows

    return {name: rows(name) for name in dict.fromkeys(names)}


def share(found: tuple[float, float], published: tuple[float, float] | None) -> str:
    if published is None:
        return ""
    return " ".join(f"{100 * (a / b - 1):+.0f}%" for a, b in zip(found, published, strict=True))


def describe_weighted(counts: np.ndarray, points: int) -> str:
    """Mass below 0.1 with its standard error, and the interval above, without chain or grid."""
    found = sample_weighted(counts, DELTA, sigma_tau=SIGMA_TAU, points=points, rng=0)
    mass, error = found.below(NEAR_ZERO)
    low, high = found.quantile([0.05, 0.95], above=NEAR_ZERO)
    return f"{mass:.4f}±{error:.4f}, {low:.2f} - {high:.2f}"


def run_chain(
    counts: np.ndarray, start: list[float] | None, args: argparse.Namespace
) -> tuple[str, str]:
    """Algorithm 6: its interval with standard errors, mass below 0.1, crossings, effective size."""
    drawn = sample_correlated(
        counts, DELTA, draws=args.chain, burn_in=args.chain // 10, auxiliaries=args.auxiliaries,
        steps=STEPS, start=None if start is None else tuple(start), rng=0,
    )  # fmt: skip
    low, high = drawn.quantile([0.05, 0.95])
    errors = [drawn.quantile_error(q) for q in (0.05, 0.95)]
    under = drawn.parameters["epsilon"][0] <= NEAR_ZERO
    crossed = int(np.sum(under[1:] != under[:-1]))
    where = f"{low:.2f}±{errors[0]:.2f} - {high:.2f}±{errors[1]:.2f}"
    return f"{where}, below 0.1: {under.mean():.3f}, crossings: {crossed}", (
        f"{drawn.effective_size():.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("counts", type=Path)
    parser.add_argument("--chain", type=int, default=0, help="Draws of Algorithm 6; 0: none.")
    parser.add_argument("--auxiliaries", type=int, default=300)
    parser.add_argument(
        "--start", type=float, nargs=4, action="append", metavar=("EPSILON", "S", "TAU", "C"),
        help="Where a chain starts; repeatable, one chain each.",
    )  # fmt: skip
    parser.add_argument("--importance", type=int, default=0, help="Points per scramble; 0: none.")
    parser.add_argument("--only", nargs="*", help="Algorithms by name.")
    parser.add_argument("--taus", type=int, default=TAUS)
    parser.add_argument("--correlations", type=int, default=CORRELATIONS)
    parser.add_argument("--resolution", type=float, default=RESOLUTION)
    args = parser.parse_args()
    table = Table(title="90% interval of epsilon, delta 0.001")
    for name in (
        "", "false positives", "paper", "exact, eq. 7", "mass below 0.1", "above 0.1", "off",
        "beta-binomial at 0",
        "below 0.1",
        "independent", "importance sampling", "Algorithm 6", "ESS",
    ):  # fmt: skip
        table.add_column(name, justify="left" if not name else "right")
    grid = {"taus": args.taus, "correlations": args.correlations, "resolution": args.resolution}
    for name, counts in counts_by_algorithm(args.counts).items():
        if args.only and name not in args.only:
            continue
        both, spent = [], []
        for margins in ("normal", "beta-binomial"):
            begun = time.process_time()
            one = correlated(counts, DELTA, margins=margins, **grid)
            both.append(one.posterior(EpsilonPrior(), StrengthPrior()))
            spent.append(time.process_time() - begun)
        found, other = both
        exact, safe = found.interval(), other.interval()
        near_zero, other_zero = (
            float(np.interp(NEAR_ZERO, p.epsilon.x, p.epsilon.cdf)) for p in (found, other)
        )
        low, high = found.quantile([near_zero + q * (1.0 - near_zero) for q in (0.05, 0.95)])
        rest = float(low), float(high)
        print(f"{name}: {spent[0]:.1f} s and {spent[1]:.1f} s of computing", file=sys.stderr)
        plain = posterior(counts, DELTA).interval()
        chain, size = "", ""
        if args.chain:
            runs = [run_chain(counts, start, args) for start in args.start or [None]]
            chain, size = ("\n".join(column) for column in zip(*runs, strict=True))
        weighted = describe_weighted(counts, args.importance) if args.importance else ""
        published = PUBLISHED.get(name)
        given = "" if published is None else f"{published[0]:.2f} - {published[1]:.2f}"
        shown = [f"{a:.2f} - {b:.2f}" for a, b in (exact, rest, safe, plain)]
        middle = [shown[0], f"{near_zero:.3f}", shown[1], share(rest, published)]
        table.add_row(
            name,
            f"{counts[:, 0].sum() / counts[:, 1].sum():.3f}",
            given,
            *middle,
            shown[2],
            f"{other_zero:.3f}",
            shown[3],
            weighted,
            chain,
            size,
        )
    Console(width=200).print(table)


if __name__ == "__main__":
    main()
