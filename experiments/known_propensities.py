"""Known probabilities of membership: trials drawn from two pools, or the table as it stands.

    python experiments/known_propensities.py [--games 2000]

Independent coins of known probability made every record a member or not, and nothing leaks. An
audit that draws trials from members and others by a coin loaded by their numbers, as one must where
two groups of fixed sizes were put together, takes the known probabilities for priors although they
follow how many members there should have been. *As it stands* is what ``--propensity`` does.
False claims of a mu (counts) and of an epsilon (bets), each at an error of 5%.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import expit, logit

from divulge.proof.draw import Draw, by_design, draw
from divulge.proof.prove import prove
from divulge.proof.rule import Rule
from divulge.selftest.row import exact_interval
from divulge.trials import Trials
from divulge.types import Array

SETTINGS = ((400, 0.0), (2000, 0.0), (2000, 1.5))
"""Records, and the standard deviation of their log-odds."""
ERROR = 0.05
WAYS = ("drawn from the pools", "as it stands")


def claims(way: str, records: int, spread: float, seed: int) -> tuple[bool, bool]:
    """Whether one audit where nothing leaks claims a mu, and an epsilon."""
    rng = np.random.default_rng([seed, records])
    log_odds = spread * rng.standard_normal(records)
    probability: Array = expit(log_odds)
    truth = np.where(rng.random(records) < probability, 1.0, -1.0)
    score = rng.standard_normal(records) + log_odds
    trials: Draw = draw(truth, rng) if way == WAYS[0] else by_design(truth, probability)
    rows = trials.rows
    given = Trials(
        score[rows], trials.truth, log_odds=logit(probability[rows]), coin=trials.log_odds
    )
    rule = Rule((), 2.0 * ERROR, ("balanced", "prior"), brief=True)  # half of it goes to bets
    found = {b.parameter: b.value for b in prove(given, rule, rng).bounds if b.headline}
    return found["mu"] > 0.0, found["epsilon"] > 0.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Play and print."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--games", type=int, default=2000)
    games = options.parse_args(arguments).games
    table = Table(
        "records", "sd of log-odds", "trials", "mu: false", "95%", "epsilon: false", "95%"
    )
    for records, spread in SETTINGS:
        for way in WAYS:
            made = np.array([claims(way, records, spread, seed) for seed in range(games)])
            cells = []
            for false in made.sum(axis=0):
                low, high = exact_interval(int(false), games)
                cells += [f"{false / games:.1%}", f"{low:.1%} to {high:.1%}"]
            table.add_row(f"{records:,}", f"{spread:g}", way, *cells)
    Console(width=200).print(table)


if __name__ == "__main__":
    main()
