"""Bets at the edge: every sequence of truths of a short game, weighed by its probability.

Under epsilon and a prior l the worst posterior puts the log-odds of each truth at the edge,
``l + epsilon`` or ``l - epsilon``. A bold gambler (stake what brings the wealth exactly to the
goal, or nearly all) reaches ``1 / error`` with a probability as near to ``error`` as can be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from divulge.bounds import betting
from divulge.selftest.case import Check
from divulge.selftest.exact.counting import all_truths
from divulge.shift.blind import proved_shift
from divulge.types import Array

TRIALS = 10
_ALL = 1.0 - 1e-6


@dataclass(frozen=True)
class Edge:
    """A game: on which side each trial is betted, the priors, and the epsilon at whose edge."""

    side: Array
    prior: Array
    epsilon: float
    step: float

    @property
    def likely(self) -> Array:
        """Probability of +1 under the worst posterior."""
        return np.asarray(expit(self.prior + self.side * self.epsilon))


def games() -> Iterator[tuple[str, Edge]]:
    """Fair coins and priors, bets on members, on non-members and on both."""
    rng = np.random.default_rng(5)
    both = np.where(np.arange(TRIALS) % 2 == 0, 1.0, -1.0)
    shift = 0.8 * rng.standard_normal(TRIALS)
    yield "null", Edge(np.ones(TRIALS), np.zeros(TRIALS), 0.0, 0.5)
    yield "randomised response", Edge(both, np.zeros(TRIALS), 0.5, 0.5)
    yield "randomised response under shift", Edge(both, shift, 0.3, 0.1)
    yield "60% members", Edge(np.ones(TRIALS), np.full(TRIALS, 0.4), 0.2, 0.2)


def bold(edge: Edge, truth: npt.NDArray[np.int8], goal: float) -> Array:
    """The probabilities that a bold gambler names, trial after trial."""
    wealth, named = 1.0, np.empty(truth.size)
    for i, (side, likely) in enumerate(zip(edge.side, edge.likely, strict=True)):
        u = likely if side > 0.0 else 1.0 - likely
        stake = min(_ALL, u * max(goal / wealth, 1.0) * (1.0 + 1e-6)) if wealth < goal else u
        named[i] = stake if side > 0.0 else 1.0 - stake
        won = truth[i] == side
        wealth *= stake / u if won else (1.0 - stake) / (1.0 - u)
    return named


@dataclass(frozen=True)
class Reached:
    """The probability that the bound reaches the grid point at whose edge the truth lies.

    One bettor for each edge, all of the same epsilon and priors; their mean wealth counts.
    """

    edges: tuple[Edge, ...]

    @property
    def edge(self) -> Edge:
        """The one by which the truths fall."""
        return self.edges[0]

    def __call__(self, error: float) -> float:
        truths = all_truths(TRIALS)
        likely = self.edge.likely
        weight = np.where(truths > 0, likely, 1.0 - likely).prod(axis=1)
        total = 0.0
        for truth, mass in zip(truths, weight, strict=True):
            q = [bold(edge, truth, len(self.edges) / error) for edge in self.edges]
            found = betting.bet_given(
                np.stack(q), truth.astype(float), self.edge.prior, error=error, step=self.edge.step
            )
            rejected = found.leak and found.epsilon >= self.edge.epsilon - 1e-9
            total += mass * rejected
        return float(total)


def expected_factors(error: float) -> list[float]:
    """The mean factor of one bet under both edges, by the wealth after a single trial."""
    out = []
    for prior in (-2.0, -0.3, 0.0, 0.7, 3.0):
        for epsilon in (0.0, 0.5, 2.0):
            for evidence in (-4.0, -0.6, 0.2, 0.6, 3.0):
                for edge in (prior - epsilon, prior + epsilon):
                    p = float(expit(edge))
                    wealth = [_factor(evidence, s, prior, epsilon, error) for s in (1.0, -1.0)]
                    out.append(p * wealth[0] + (1.0 - p) * wealth[1])
    return out


def _factor(evidence: float, truth: float, prior: float, epsilon: float, error: float) -> float:
    """The wealth after one bet against ``epsilon``."""
    from divulge.bounds import compiled

    game = betting._Game(1, 1, error, step=0.5, end=-1.0)  # an empty grid: nothing is settled yet
    game.reveal(np.array([[evidence]]), np.array([truth]), np.array([prior]))
    wealth = np.ones(1)
    compiled.ruin_or_reach(
        game.odds, game.direction, game.size, game.denominator, epsilon, math.inf, wealth, 0, 1
    )
    return float(wealth[0])


def named_probability(error: float) -> list[float]:
    """The factor is ``q / u``: a forecast that is right wins what it should, never more."""
    out = []
    for prior, evidence in ((0.0, 1.0), (1.0, 2.0), (-1.5, -1.0)):
        q = float(expit(prior + evidence))
        u = float(expit(prior))
        gain = [_factor(evidence, s, prior, 0.0, error) for s in (1.0, -1.0)]
        out += [gain[0] * u / q, gain[1] * (1.0 - u) / (1.0 - q)]
    return out


def blind_baseline(error: float) -> float:
    """What a baseline that sees x alone proves where the log-odds are right: c_lb above 0."""
    (_, null), *_ = games()
    claims = []
    for truth in all_truths(TRIALS):
        q = bold(null, truth, 1.1 / error)
        evidence = np.log(q) - np.log1p(-q)
        claims.append(proved_shift(evidence[None], truth.astype(float), null.prior, error) > 0.0)
    return float(np.mean(claims))


def cases() -> Iterator[Check]:
    """The wealth, one bet at a time and over whole games."""
    pure = ("epsilon", 0.0)
    where = f"all truths of {TRIALS} trials"
    for name, edge in games():
        yield Check("betting", *pure, name, where, Reached((edge,)), attained=0.75)
    null = Edge(np.ones(TRIALS), np.zeros(TRIALS), 0.0, 0.5)
    against = Reached((null, replace(null, side=-null.side)))
    name = "betting, averaged wealth"
    yield Check(name, *pure, "null, bets on either side", where, against, attained=0.75)
    yield Check("blind baseline, c_lb", "c_lb", None, "null", where, blind_baseline, attained=0.5)
    yield Check(
        "betting",
        *pure,
        "both edges of the band",
        "one bet",
        expected_factors,
        quantity="expected factor",
        limit=1.0,
    )
    yield Check(
        "betting",
        *pure,
        "a given forecast",
        "one bet",
        named_probability,
        quantity="factor over q / u",
        limit=1.0 + 1e-6,
        attained=1.0 - 1e-5,
    )
