"""Line-ups at the edge: direct bets over every sequence of truths, counts by linear programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from divulge.bounds import direct, lineups
from divulge.bounds.lineups import LineUpCounts
from divulge.curves import Gaussian
from divulge.mechanisms.worst_case import worst_case
from divulge.selftest.case import Check
from divulge.types import Array

TRIALS = 6
_ALL = 1.0 - 1e-6
_DELTA = 0.01
_COUNTED = (
    *((8, 2, 1.0, 1), (8, 3, 1.0, 1), (12, 5, 0.5, 1), (30, 3, 1.0, 1), (30, 8, 2.0, 1)),
    *((30, 8, 0.5, 3), (40, 32, 0.7, 4)),
)
"""Line-ups, candidates, epsilon and copies."""


def vertices(prior: Array, epsilon: float) -> Iterator[Array]:
    """Every extreme posterior that epsilon allows."""
    for high in product((1.0, float(np.exp(epsilon))), repeat=prior.size):
        p = prior * np.array(high)
        yield p / p.sum()


def expected_factors(error: float) -> list[float]:
    """The mean factor of one bet under the worst posterior, for priors of every kind."""
    rng = np.random.default_rng(17)
    out = []
    for values, epsilon, copies in product((2, 3, 5), (0.0, 0.4, 1.5), (1, 3)):
        prior = rng.dirichlet(np.full(values, 2.0))
        q = rng.dirichlet(np.full(values, 0.7)) * (1.0 - 1e-6) + 1e-6 / values
        gain = np.array([_factor(q, prior, y, epsilon, copies) for y in range(values)])
        out.append(max(float(p @ gain) for p in vertices(prior, copies * epsilon)))
    return out


def _factor(q: Array, prior: Array, y: int, epsilon: float, copies: int) -> float:
    own, many = np.array([y], dtype=np.intp), np.array([copies])
    return float(np.exp(direct.log_factors(q[None], prior[None], own, epsilon, copies=many))[0])


@dataclass(frozen=True)
class Bold:
    """Stakes what brings the wealth to the goal at the edge, in line-ups of three candidates."""

    prior: tuple[float, float, float]
    epsilon: float
    copies: int

    def __call__(self, error: float) -> float:
        prior = np.array(self.prior)
        edge = prior * np.exp([self.copies * self.epsilon, 0.0, 0.0])
        edge /= edge.sum()
        total = 0.0
        for truth in product(range(3), repeat=TRIALS):
            y = np.array(truth, dtype=np.intp)
            found = direct.bet_values(
                self._forecast(edge, y, 1.0 / error),
                np.tile(prior, (TRIALS, 1)),
                y,
                copies=np.full(TRIALS, self.copies),
                error=error,
                step=self.epsilon,
                end=self.epsilon,
            )
            total += float(edge[y].prod()) * (found.epsilon >= self.epsilon)
        return total

    def _forecast(self, edge: Array, y: np.ndarray, goal: float) -> Array:
        """The first candidate is staked on; the others stay in proportion."""
        wealth, out = 1.0, np.empty((TRIALS, 3))
        for i in range(TRIALS):
            stake = edge[0]
            if wealth < goal:
                stake = min(_ALL, edge[0] * max(goal / wealth, 1.0) * (1.0 + 1e-5))
            out[i, 0] = stake
            out[i, 1:] = (1.0 - stake) * edge[1:] / edge[1:].sum()
            wealth *= out[i, y[i]] / edge[y[i]]
        return out


def counts(error: float) -> list[float]:
    """Mechanisms of (epsilon, delta) just at what is tested: the worst of all, with every number.

    The output may choose which of the numbers of guesses errs.
    """
    out = []
    for m, k, epsilon, copies in _COUNTED:
        for delta in (0.0, _DELTA):
            limits = _thresholds(
                m, k, partial(LineUpCounts.epsilon, delta=delta, error=error), epsilon, copies
            )
            group = delta * (np.exp(copies * epsilon) - 1.0) / (np.exp(epsilon) - 1.0)
            if limits:
                privacy = [(copies * epsilon, float(group))]
                out.append(worst_case(m, limits, privacy, candidates=k))
    return out


def gaussian_counts(error: float) -> list[float]:
    """The same for mu, at a grid of points of its curve."""
    out = []
    for m, k, mu in ((12, 3, 0.7), (30, 5, 1.0)):
        curve = Gaussian(mu)
        grid = np.linspace(0.0, 4.0, 25)
        privacy = [(float(e), float(curve.delta(e))) for e in grid]
        limits = _thresholds(m, k, lambda c: c.mu(error), mu)
        out.append(worst_case(m, limits, privacy, candidates=k))
    return out


def all_right(error: float) -> list[float]:
    """One number of guesses, all right: randomised response over K values attains the bound."""
    out = []
    for r, k in ((5, 2), (20, 3), (20, 32), (100, 8)):
        found = LineUpCounts(r, k, (r,), (r,)).epsilon(0.0, error)
        out.append(float((np.exp(found) / (np.exp(found) + k - 1.0)) ** r))
    return out


def _thresholds(
    trials: int,
    candidates: int,
    bound: Callable[[LineUpCounts], float],
    edge: float,
    copies: int = 1,
) -> dict[int, int]:
    """For every number of guesses the fewest right ones that claim more than the edge."""
    guesses = lineups.numbers(trials)
    out: dict[int, int] = {}
    for place, r in enumerate(guesses):
        for c in range(r + 1):
            right = tuple(c if at == place else 0 for at in range(len(guesses)))
            if bound(LineUpCounts(trials, candidates, guesses, right, copies)) > edge:
                out[r] = c
                break
    return out


def cases() -> Iterator[Check]:
    """Bets, then counts."""
    pure = ("epsilon", 0.0)
    yield Check(
        "lineup, direct bets",
        *pure,
        "every vertex",
        "one bet",
        expected_factors,
        quantity="expected factor",
        limit=1.0 + 1e-9,
    )
    for copies, prior in ((1, (1 / 3, 1 / 3, 1 / 3)), (1, (0.15, 0.35, 0.5)), (2, (0.2, 0.3, 0.5))):
        shown = "even" if prior[0] == prior[1] else f"prior {prior[0]:g}"
        group = "" if copies == 1 else f", {copies} copies"
        yield Check(
            "lineup, direct bets",
            *pure,
            f"randomised response, {shown}{group}",
            f"all truths of {TRIALS} line-ups",
            Bold(prior, 0.4, copies),
            attained=0.5,
        )
    name = "lineup, counts"
    yield Check(name, "epsilon", _DELTA, "worst mechanism", "m = 8 to 30", counts)
    yield Check(name, "mu", None, "worst mechanism", "m = 12 and 30", gaussian_counts)
    yield Check(name, *pure, "randomised response", "all guesses right", all_right, attained=0.99)
