"""Bounds of divulge beside those of peer packages from PyPI, on the same scores, in one run.

    make peers        installs jax-privacy 2.0.0 and privacy-estimates into .venv-peers
    python benchmarks/peers.py [--seeds 10] [--sizes 1000 10000 100000] [--peers fast]
    python benchmarks/peers.py --seeds 2 --sizes 10000 --only null response mu=1 --methods estimates

Epsilon at delta 1e-5, everybody asked for 95%. A false claim is a bound above the true epsilon.
Who assumes what: *nothing* is what a one-run audit may assume, *independent* that scores of
different records are, *Gaussian* that epsilon follows from mu as for the Gaussian mechanism, which
is no bound for others. CPU is that of the process, as a multiple of divulge with its headline
named. PrivacyGuard is not on PyPI under its name, and is left out.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from divulge.data.features import Features
from divulge.games.membership.play import Pools, audit_pools
from divulge.mechanisms import (
    GaussianMechanism,
    LaplaceMechanism,
    Mechanism,
    MixedExposure,
    Null,
    RandomisedResponse,
)
from divulge.proof.rule import Named, Rule

DELTA, ERROR = 1e-5, 0.05
MECHANISMS: tuple[Mechanism, ...] = (
    Null(),
    RandomisedResponse(1.0),
    LaplaceMechanism(1.0),
    GaussianMechanism(0.5),
    GaussianMechanism(1.0),
    GaussianMechanism(2.0),
    MixedExposure(),
)
TOP = 0.1
OURS = "divulge, headline"
SLOW = "privacy-estimates"


@dataclass(frozen=True)
class Scores:
    """As many members as non-members."""

    members: np.ndarray
    others: np.ndarray
    seed: int


Method = Callable[[Scores], float]


def drawn(mechanism: Mechanism, size: int, seed: int) -> Scores:
    """Exactly ``size`` scores of either kind."""
    rng = np.random.default_rng([seed, size])
    trials = mechanism.sample(2 * size + 40 * int(size**0.5) + 100, rng)
    inside, outside = trials.score[trials.truth > 0], trials.score[trials.truth < 0]
    return Scores(inside[:size], outside[:size], seed)


def audited(name: str | None) -> Method:
    """The membership audit, all bounds together or one named."""

    def run(scores: Scores) -> float:
        score = np.concatenate([scores.members, scores.others])
        truth = np.repeat([1.0, -1.0], [scores.members.size, scores.others.size])
        nothing = Features(np.zeros((truth.size, 0)), ())
        corrections = ("balanced", "prior") if name is None else ("balanced",)
        rule = Rule((DELTA,), ERROR, corrections, headline=Named.of(name))
        pools = Pools(truth, score[:, None], nothing, None, None, ("score",), ())
        found = audit_pools(pools, rule, seed=scores.seed)
        return next(b.value for b in found.headline() if b.delta == DELTA)

    return run


def jax_privacy(method: str, splits: int = 0) -> Method:
    def run(scores: Scores) -> float:
        from jax_privacy import auditing

        auditor = auditing.CanaryScoreAuditor(scores.members, scores.others)
        if not splits:
            return float(getattr(auditor, method)(ERROR, DELTA))
        strategy = auditing.MultiSplit(num_samples=splits, seed=scores.seed)
        return float(getattr(auditor, method)(ERROR, DELTA, threshold_strategy=strategy))

    return run


def privacy_estimates(scores: Scores) -> float:
    """The joint Bayesian bound, members guessed among the top tenth of all scores.

    Where its search for a root fails, as on some null scores, it claims nothing.
    """
    import privacy_estimates as package

    score = np.concatenate([scores.members, scores.others])
    score = score + 1e-9 * np.random.default_rng(scores.seed).random(score.size)
    top = np.sort(score)[-round(TOP * score.size)]
    n = scores.members.size
    caught, accused = int((score[:n] >= top).sum()), int((score[n:] >= top).sum())
    counts = package.AttackResults(FN=n - caught, FP=accused, TN=n - accused, TP=caught)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = package.compute_eps_lo(counts, DELTA, ERROR, "joint-beta")
        except ValueError:
            return 0.0
    return max(0.0, float(found))


METHODS: dict[str, tuple[str, Method]] = {
    "divulge, all together": ("nothing", audited(None)),
    OURS: ("nothing", audited(f"epsilon@{DELTA:g}")),
    "divulge, independent": ("independent", audited(f"independent:epsilon@{DELTA:g}")),
    "jax-privacy one-run": ("nothing", jax_privacy("epsilon_one_run")),
    "jax-privacy one-run f-DP": ("Gaussian", jax_privacy("epsilon_one_run_fdp")),
    "jax-privacy Clopper-Pearson": ("independent", jax_privacy("epsilon_clopper_pearson")),
    "jax-privacy multi-split": ("independent", jax_privacy("epsilon_clopper_pearson", 20)),
    "jax-privacy Gaussian fit": ("Gaussian", jax_privacy("epsilon_from_gdp")),
    "privacy-estimates, top 10%": ("independent", privacy_estimates),
}


def available(wanted: str) -> dict[str, tuple[str, Method]]:
    """The methods whose packages are installed; what is missing is said, or refused if named."""
    out = {}
    for name, (assumes, run) in METHODS.items():
        package = name.partition(",")[0].split()[0]
        if package != "divulge":
            if wanted == "none" or (wanted == "fast" and package == SLOW):
                continue
            try:
                __import__(package.replace("-", "_"))
            except ImportError:
                if wanted != "installed":
                    raise SystemExit(f"{package} is not installed: make peers") from None
                print(f"{name}: {package} is not installed.", flush=True)
                continue
        out[name] = (assumes, run)
    return out


@dataclass(frozen=True)
class Played:
    """What a method claimed of so many draws of one size, and the CPU it took."""

    values: np.ndarray
    spent: float

    def mean(self) -> str:
        return f"{self.values.mean():.3f} ({standard_error(self.values):.3f})"

    def false(self, truth: float) -> str:
        return f"{int((self.values > truth + 1e-9).sum())} of {self.values.size}"


def standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / values.size**0.5) if values.size > 1 else 0.0


def played(
    mechanism: Mechanism, size: int, seeds: int, methods: dict[str, tuple[str, Method]]
) -> dict[str, Played]:
    """Every method on the same draws."""
    data = [drawn(mechanism, size, seed) for seed in range(seeds)]
    found = {}
    for name, (_, run) in methods.items():
        start = time.process_time()
        values = np.array([run(scores) for scores in data])
        found[name] = Played(values, time.process_time() - start)
    return found


def leads(found: dict[str, Played], name: str, assumes: str) -> str:
    """By how much a valid peer leads, if by more than the standard error of the difference."""
    if assumes == "Gaussian" or name.startswith("divulge"):
        return ""
    ours = found[OURS if assumes == "nothing" else "divulge, independent"]
    apart = found[name].values - ours.values
    beyond = apart.mean() - standard_error(apart)
    return f"{apart.mean():.3f}" if beyond > 0.0 and found[name].values.mean() > 0.0 else ""


def rows(
    mechanism: Mechanism, sizes: list[int], seeds: int, methods: dict[str, tuple[str, Method]]
) -> int:
    """Print a row per method; in how many cells a valid peer leads."""
    truth = mechanism.curve.epsilon(DELTA)
    found = [played(mechanism, size, seeds, methods) for size in sizes]
    count = 0
    for name, (assumes, _) in methods.items():
        own = [f[name] for f in found]
        led = [leads(f, name, assumes) for f in found]
        count += sum(map(bool, led))
        cells = (
            *(each.mean() for each in own),
            "; ".join(each.false(truth) for each in own),
            " / ".join(f"{f[name].spent / f[OURS].spent:.2f}" for f in found),
            " / ".join(each or "-" for each in led) if any(led) else "",
        )
        start = f"| {mechanism.name} | {truth:.2f} | {name} | {assumes} |"
        print(f"{start} {' | '.join(cells)} |", flush=True)
    return count


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    options.add_argument(
        "--peers",
        choices=("installed", "all", "fast", "none"),
        default="installed",
        help="all and fast must be installed",
    )
    options.add_argument("--only", nargs="+", default=[""], help="mechanisms with this in a name")
    options.add_argument("--methods", nargs="+", default=[""], help="peers with this in a name")
    chosen = options.parse_args()
    methods = {
        name: method
        for name, method in available(chosen.peers).items()
        if name.startswith("divulge") or any(part in name for part in chosen.methods)
    }
    warm = drawn(GaussianMechanism(1.0), 500, 0)
    for _, run in methods.values():
        run(warm)  # compile
    print(f"epsilon at delta {DELTA:g}, error {ERROR:g}, {chosen.seeds} seeds, so many a side:")
    heads = [
        *("mechanism", "truth", "method", "assumes"),
        *(f"{size:,}" for size in chosen.sizes),
        *("false claims", "CPU", "leads by"),
    ]
    print(f"| {' | '.join(heads)} |")
    print("|" + "---|" * len(heads), flush=True)
    count = 0
    for mechanism in (m for m in MECHANISMS if any(part in m.name for part in chosen.only)):
        count += rows(mechanism, chosen.sizes, chosen.seeds, methods)
    print(
        "Cells where a peer with the same assumption leads by more than the standard error of the "
        f"difference: {count}"
    )


if __name__ == "__main__":
    main()
