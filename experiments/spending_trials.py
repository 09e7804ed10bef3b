"""Three ways to get more out of the same scores, each beside what divulge does.

    python experiments/spending_trials.py draw halves number [--games 40]

*draw*: two pools of fixed size allow fewer independent coins than records, lest a pool runs dry. A
draw that may run dry with probability p proves the same at an error less by p. Larger p, more
trials, less error.

*halves*: weights are learned from a tenth to a fifth of the trials, and the rest is counted. With
two halves that exchange their roles every trial does both; each half then has half of the error,
and the larger bound holds.

*number*: the recursion's number of guesses is the best for mu, among those that are fair to
epsilon at delta. It could be the best for epsilon itself; both pay for the choice alike.

All bounds are for an error of 0.05, epsilon at delta 1e-5 unless it says mu; the same games for
every way, and the standard error of the difference to what divulge does.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from divulge.bounds import guessing, learning, weighted
from divulge.mechanisms import GaussianMechanism, LaplaceMechanism, Mechanism, MixedExposure
from divulge.proof.draw import DRY, number_of_trials
from divulge.proof.prove import prove
from divulge.proof.rule import Named, Rule
from divulge.trials import Trials

DELTA, ERROR = 1e-5, 0.05
MECHANISMS: tuple[Mechanism, ...] = (LaplaceMechanism(1.0), GaussianMechanism(1.0), MixedExposure())
DRIES = (DRY, 1e-3, 5e-3, 1e-2)
Way = Callable[[Trials, np.random.Generator], float]


@dataclass(frozen=True)
class Drawn:
    """The audit of a draw from two pools of ``side`` records that may run dry."""

    side: int
    dry: float
    name: str

    def __call__(self, trials: Trials, rng: np.random.Generator) -> float:
        m = number_of_trials(self.side, self.side, 0.5, self.dry)
        rule = Rule((), ERROR - self.dry, ("balanced",), headline=Named.of(self.name))
        some = trials.select(np.arange(m))
        return prove(Trials(some.score, some.truth), rule, rng).bounds[0].value


def learned_on(head: Trials, rest: Trials, error: float) -> float:
    """Weighted guesses of the rest, learned from the head."""
    teach, out = learning.stacked_and_held(
        head.score.reshape(len(head), -1), head.truth, np.zeros(len(head))
    )
    evidence = teach(rest.score.reshape(len(rest), -1))
    target = weighted.choose_target(evidence, DELTA, error, (out, head.truth))
    return weighted.epsilon_lower_bound(weighted.weigh(evidence, rest.truth, target), DELTA, error)


def once(trials: Trials, rng: np.random.Generator) -> float:
    """As divulge does: some teach, the others count, once."""
    return weighted.calibrated(trials, rng, delta=DELTA, error=ERROR)


def exchanged(trials: Trials, rng: np.random.Generator) -> float:
    """Two halves with exchanged roles, the larger bound at half of the error each."""
    order = rng.permutation(len(trials))
    halves = [trials.select(part) for part in np.array_split(order, 2)]
    return max(learned_on(a, b, ERROR / 2.0) for a, b in (halves, halves[::-1]))


@dataclass(frozen=True)
class Chosen:
    """The recursion, its number of guesses chosen for mu, for both, or for epsilon."""

    aim: str

    def __call__(self, trials: Trials, rng: np.random.Generator) -> float:
        order = rng.permutation(len(trials))
        head, rest = np.split(order, [max(100, len(trials) // 10)])
        known, counted = trials.select(head), trials.select(rest)
        teach = learning.stacked(known.score.reshape(len(known), -1), known.truth, known.prior)
        evidence = teach(counted.score.reshape(len(counted), -1))
        accuracy = np.sort(1.0 / (1.0 + np.exp(-np.abs(evidence))))[::-1]
        epsilon = guessing.Target(DELTA)
        guesses = guessing.choose_guesses(
            accuracy,
            target=epsilon if self.aim == "epsilon" else guessing.MU,
            error=ERROR,
            deltas=(DELTA,) if self.aim == "both" else (),
        )
        counts = guessing.count_correct(guessing.top_guesses(evidence, guesses, rng), counted.truth)
        return epsilon.bound(counts, ERROR)


def compare(title: str, size: int, ways: dict[str, Way], games: int) -> None:
    """One row per mechanism and way; the first way is what divulge does."""
    for mechanism in MECHANISMS:
        values: dict[str, list[float]] = {name: [] for name in ways}
        for game in range(games):
            trials = mechanism.sample(size, np.random.default_rng([size, game]))
            for name, way in ways.items():
                values[name].append(way(trials, np.random.default_rng([1, game])))
        first = np.array(next(iter(values.values())))
        for name, found in values.items():
            apart = np.array(found) - first
            error = apart.std(ddof=1) / len(apart) ** 0.5
            print(
                f"| {title} | {size:,} | {mechanism.name} | {name} | {np.mean(found):.3f} | "
                f"{apart.mean():+.3f} +- {error:.3f} |",
                flush=True,
            )


def draws(side: int, name: str) -> dict[str, Way]:
    """Every probability that a pool runs dry, and how many trials it allows."""
    out: dict[str, Way] = {}
    for dry in DRIES:
        m = number_of_trials(side, side, 0.5, dry)
        out[f"dry {dry:g}: {m} trials, error {ERROR - dry:g}"] = Drawn(side, dry, name)
    return out


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="+", choices=["draw", "halves", "number"])
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--side", type=int, default=500, help="draw: records of each pool")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    options = parser.parse_args(arguments)
    print("| what | trials | mechanism | way | mean bound | over the first |")
    print("|---|---|---|---|---|---|", flush=True)
    if "draw" in options.parts:
        for name in (f"epsilon@{DELTA:g}", "mu"):
            ways = draws(options.side, name)
            compare(f"draw, {name}", 2 * options.side, ways, options.games)
    for size in options.sizes:
        if "halves" in options.parts:
            ways = {"learned once": once, "halves exchanged": exchanged}
            compare("halves", size, ways, options.games)
        if "number" in options.parts:
            aims = {"mu, fair to epsilon": "both", "mu": "mu", "epsilon": "epsilon"}
            compare("number", size, {k: Chosen(v) for k, v in aims.items()}, options.games)


if __name__ == "__main__":
    main()
