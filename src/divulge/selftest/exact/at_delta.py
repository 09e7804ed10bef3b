"""Bets and weighted guesses at delta: the worst mechanism, and games that attain what it may do.

For weights that are all the same the linear program of ``tails.py`` applies, also where the
mechanism chooses how many are guessed. For bets it is written down in full for a few trials: the
output names the sides on which a bold gambler stakes, one law for every vector of truths, and
neighbours are (epsilon, delta)-close with slack variables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.special import expit
from scipy.stats import binom

from divulge.bounds import betting, reduction, weighted
from divulge.mechanisms.worst_case import worst_case
from divulge.selftest.case import Check
from divulge.selftest.exact.bets import Edge, bold
from divulge.selftest.exact.counting import all_truths
from divulge.selftest.exact.tails import GAMES, PAIRS, WORST
from divulge.types import Array


def equal_weights(trials: int, guesses: int, correct: int) -> weighted.Weighed:
    """Guesses of one weight: a count."""
    guessed = np.zeros(weighted.LEVELS + 1, dtype=np.int64)
    guessed[[0, -1]] = trials - guesses, guesses
    return weighted.Weighed(trials, guessed, weighted.LEVELS * correct, correct)


def _bound(m: int, r: int, c: int, delta: float, error: float) -> float:
    return weighted.epsilon_lower_bound(equal_weights(m, r, c), delta, error)


def counted(error: float) -> list[float]:
    """If c of r prove theta: the largest probability of c or more at theta."""
    out = []
    for m, r, c in GAMES:
        for delta in PAIRS:
            epsilon = _bound(m, r, c, delta, error)
            if epsilon > 0.0:
                out.append(worst_case(m, {r: c}, [(epsilon, delta)]))
    return out


def chosen(error: float) -> list[float]:
    """The mechanism chooses the number of guesses, at no price."""
    out = []
    for epsilon, delta in ((0.1, 1e-3), (1.0, 1e-4), (2.0, 3e-3)):
        refute = {}
        for r in (12, 24, 60, 120):
            claims = (c for c in range(r // 2, r + 1) if _bound(120, r, c, delta, error) > epsilon)
            refute[r] = next(claims, r + 1)
        out.append(worst_case(120, refute, [(epsilon, delta)]))
    return out


def several_weights(error: float) -> list[float]:
    """Randomised response at the edge, weights of three kinds: the tail by enumeration."""
    out = []
    number, levels = np.array([12, 9, 5]), np.array([3, 17, 32])
    guessed = np.zeros(weighted.LEVELS + 1, dtype=np.int64)
    guessed[levels] = number
    total = np.add.outer(
        np.add.outer(3 * np.arange(13), 17 * np.arange(10)), 32 * np.arange(6)
    ).ravel()
    for right in range(120, int(number @ levels) + 1, 31):
        theta = weighted.epsilon_lower_bound(weighted.Weighed(26, guessed, right), 0.0, error)
        if theta > 0.0:
            pmf = [binom.pmf(np.arange(n + 1), n, expit(theta)) for n in number]
            mass = np.multiply.outer(np.multiply.outer(pmf[0], pmf[1]), pmf[2]).ravel()
            out.append(float(mass[total >= right].sum()))
    return out


@dataclass(frozen=True)
class Gamblers:
    """The largest probability that bold bets refute (epsilon, delta), over all such mechanisms.

    At four times the error, and a fourth of it is told: so four trials are enough to refute.
    """

    trials: int
    epsilon: float
    delta: float
    prior: float = 0.0

    def __call__(self, error: float) -> float:
        return self.probability(4.0 * error) / 4.0

    def probability(self, error: float) -> float:
        """Of a refutation at this error."""
        truths = all_truths(self.trials)
        prior = np.full(self.trials, self.prior)
        goal = math.exp(reduction.Staked(prior).log_goal(self.delta, self.epsilon, error))
        refuted = np.zeros((len(truths), len(truths)))
        for j, side in enumerate(truths.astype(float)):
            edge = Edge(side, prior, self.epsilon, self.epsilon or 0.5)
            for i, truth in enumerate(truths):
                q = bold(edge, truth, goal * (1.0 + 1e-6))
                found = betting.bet_given(
                    q, truth, prior, error=error, step=edge.step, deltas=(self.delta,)
                )
                refuted[i, j] = found.at_delta[0].refuted > round(self.epsilon / edge.step)
        weight = expit(self.prior * truths.astype(float)).prod(axis=1)
        return largest(refuted, weight, truths, self.epsilon, self.delta)


def largest(
    refuted: Array, weight: Array, truths: np.ndarray, epsilon: float, delta: float
) -> float:
    """Max of the probability of refutation: rows are truths, columns outputs."""
    n, outputs = refuted.shape
    places = {tuple(t): i for i, t in enumerate(truths.tolist())}
    pairs = []
    for i, truth in enumerate(truths.tolist()):
        for k in range(len(truth)):
            other = list(truth)
            other[k] = -other[k]
            pairs.append((i, places[tuple(other)]))
    first, second = np.array(pairs).T
    columns = np.arange(outputs)
    slack = n * outputs + np.arange(len(pairs) * outputs).reshape(len(pairs), outputs)
    row = np.arange(len(pairs) * outputs).reshape(len(pairs), outputs)
    ones = np.ones_like(row, dtype=float)
    rows = [row, row, row, np.repeat(row.size + np.arange(len(pairs)), outputs)]
    places_ = [first[:, None] * outputs + columns, second[:, None] * outputs + columns, slack]
    places_.append(slack.ravel())
    values = [ones, -math.exp(epsilon) * ones, -ones, np.ones(slack.size)]
    flat = [np.concatenate([np.ravel(a) for a in kind]) for kind in (values, rows, places_)]
    size = n * outputs + slack.size
    matrix = coo_array((flat[0], (flat[1], flat[2])), shape=(row.size + len(pairs), size)).tocsr()
    limits = np.concatenate([np.zeros(row.size), np.full(len(pairs), delta)])
    whole = coo_array(
        (np.ones(n * outputs), (np.repeat(np.arange(n), outputs), np.arange(n * outputs))),
        shape=(n, size),
    ).tocsr()
    gain = np.zeros(size)
    gain[: n * outputs] = -(weight[:, None] * refuted).ravel()
    found = linprog(gain, matrix, limits, whole, np.ones(n), method="highs")
    return float(-found.fun)


def cases() -> Iterator[Check]:
    """Weighted guesses, then bets."""
    name, where = "weighted guesses", f"{len(GAMES)} games, up to m = 240"
    yield Check(name, "epsilon", None, WORST, where, counted)
    yield Check(name, "epsilon", None, WORST, "four numbers, m = 120", chosen)
    what = "randomised response at the edge"
    yield Check(name, "epsilon", 0.0, what, "three weights", several_weights, attained=0.9)
    name = "betting at delta"
    for game in (
        Gamblers(4, 0.0, 0.005),
        Gamblers(4, 0.0, 0.02),
        Gamblers(4, 0.2, 0.01),
        Gamblers(4, 0.1, 0.01, prior=0.5),
    ):
        where = f"4 trials, epsilon {game.epsilon:g}, delta {game.delta:g}, prior {game.prior:g}"
        yield Check(name, "epsilon", game.delta, WORST, where, game)
