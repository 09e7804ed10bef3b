"""Shallow, shrunk gradient boosting on binned columns, as all nuisance models use it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from divulge.bounds.tree_boosting import LOGISTIC, SQUARED, Boosted, Trees, boosted
from divulge.shift.design import BINS, Bytes
from divulge.types import Array

TREES = Trees(rounds=50, rate=0.12, leaves=8, least=20, penalty=5.0)


@dataclass(frozen=True)
class BoostedMargin:
    """One margin of trees: the mean of a target, or the log-odds of an outcome."""

    trees: Boosted = field(repr=False)

    def predict(self, bins: Bytes) -> Array:
        """Of every row."""
        return self.trees.margins(bins)[:, 0]


def boosted_regressor(bins: Bytes, target: Array, rounds: int = TREES.rounds) -> BoostedMargin:
    """The mean of a target given binned columns."""
    trees = replace(TREES, rounds=rounds)
    return BoostedMargin(boosted(bins, target, None, SQUARED, trees, BINS))


def boosted_log_odds(bins: Bytes, outcome: Array) -> BoostedMargin:
    """The log-odds of an outcome of 0 and 1, of which both occur, given binned columns."""
    return BoostedMargin(boosted(bins, outcome, None, LOGISTIC, TREES, BINS))
