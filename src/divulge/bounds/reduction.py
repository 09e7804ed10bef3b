"""What a delta costs: from tests of epsilon-DP to tests of (epsilon, delta)-DP.

*Reduction.* Truths are independent given the records, with prior log-odds ``l_i``; the mechanism is
(epsilon, delta)-DP in each of them. Reveal the truths one by one. Given the truths before i, and
averaged over those after it, let ``p+`` and ``p-`` be the laws of the output theta for either value
of ``S_i``. The excess ``(p+ - e^eps p-)^+`` has mass delta at most, and so has the other one. If
``S_i = +1``, let trial i *fail* with probability ``(p+ - e^eps p-)^+ / p+`` at theta, if
``S_i = -1`` likewise, by coins of their own. Where a trial fails, draw a substitute ``S'_i``, +1
with the largest probability of what is failing for, ``sigma(l_i + eps)`` (or -1 with
``sigma(eps - l_i)``); else ``S'_i = S_i``. Then

1. given theta and the past, the log-odds of ``S'_i`` lie within ``l_i +- eps``: of what did not
   fail the odds do, by construction, and what is substituted stands at the edge;
2. ``S'_i`` differs from ``S_i`` with probability at most ``delta kappa_i``,
   ``kappa = w (1 - sigma(l + eps)) + (1 - w) (1 - sigma(eps - l))`` with ``w = sigma(l)``.

So S' is a game of an epsilon-DP mechanism, given every theta, that differs from the real game in N
trials, ``E N <= delta sum kappa_i``. kappa is largest for even coins, ``1 / (1 + e^eps)``. Trials
on which nothing can be staked for any theta (those learned from) do not count; those on which
nothing *was* staked do, since theta may stake where it fails.

*Any test* of epsilon-DP that is false with probability at most a given every theta, adaptive in
whatever way, is false with probability at most ``a + delta sum kappa_i`` under (epsilon, delta)-DP:
but for ``N >= 1`` both games are the same. And a test whose region, enlarged by all outcomes that j
other truths would make, has probability at most a, at most
``a + delta sum kappa_i / (j + 1)`` (Markov). j may depend on epsilon and on the number of trials,
not on theta. That theta chooses the test costs nothing.

*Bets.* For the wealth of bets there is a second form: let ``B_i`` say that trial i fails, so that
the number of failures has expectation ``m delta`` at most. One factor is at most
``1 / u <= M = 1 + e^(L - eps)``, L the largest ``|l_i|``, and where nothing fails its mean is at
most the probability of that. So the wealth with the factors of failing trials divided by M is a
supermartingale, and ``P(wealth ever >= 1/a) <= a M^j + m delta / (j + 1)`` for every j.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from divulge.types import Array, slices

SPENT = 1.0 / 3.0
"""At most this share of the error goes to failures of weighted guesses."""
_CELLS = 20.0
_FARTHEST_GOAL = 600.0


def kappa(log_odds: npt.ArrayLike, epsilon: float) -> Array:
    """The largest probability, over delta, that one failure changes a truth."""
    prior = np.asarray(log_odds, dtype=float)
    member = expit(prior) * expit(-(prior + epsilon))
    other = expit(-prior) * expit(prior - epsilon)
    return np.asarray(member + other, dtype=float)


class Staked:
    """Trials on which something may be staked: how many, and their priors (rounded to even)."""

    def __init__(self, log_odds: Array) -> None:
        self.trials = int(log_odds.size)
        found: dict[float, int] = {}
        for part in slices(self.trials):
            cells, many = np.unique(np.floor(np.abs(log_odds[part]) * _CELLS), return_counts=True)
            for cell, n in zip(cells.tolist(), many.tolist(), strict=True):
                found[cell] = found.get(cell, 0) + n
        self._prior = np.array(sorted(found)) / _CELLS
        self._number = np.array([found[c] for c in sorted(found)], dtype=float)
        even = all(not np.any(log_odds[part]) for part in slices(self.trials))
        self._largest = 0.0 if even else (max(found) + 1.0) / _CELLS

    def expected(self, delta: float, epsilon: float) -> float:
        """The expected number of truths that failures change: delta times the sum of kappa."""
        return delta * float(self._number @ kappa(self._prior, epsilon))

    def log_goal(self, delta: float, epsilon: float, error: float) -> float:
        """The logarithm of the wealth that refutes (epsilon, delta); infinite if none does."""
        plain = error - self.expected(delta, epsilon)
        first = -math.log(plain) if plain > 0.0 else math.inf
        mean = self.trials * delta
        fewest = math.floor(mean / error)
        j = fewest + np.unique(np.round(np.geomspace(1.0, 20.0 * (fewest + 5.0), 200)))
        left = error - mean / (j + 1.0)
        sound = left > 0.0
        each = math.log1p(math.exp(self._largest - epsilon))
        second = float(np.min(j[sound] * each - np.log(left[sound]), initial=math.inf))
        return min(first, second)

    def start(self, delta: float, error: float, step: float, end: float) -> int:
        """The first point of the grid at which a wealth that a computer holds would do."""
        points = range(math.ceil(end / step) + 1)
        sound = (n for n in points if self.log_goal(delta, n * step, error) <= _FARTHEST_GOAL)
        return next(sound, len(points))


def segments(expected: float, error: float) -> list[tuple[float, int]]:
    """From which epsilon on how many changed truths are allowed for, even coins.

    ``expected`` is the number of trials times delta. With j changed truths
    ``expected / ((1 + e^eps) (j + 1))`` of the error is spent, a third of it at most; j + 1 are
    powers of 2, fewer the larger epsilon is.
    """
    j = 1
    while expected / (2.0 * j) > SPENT * error:
        j *= 2
    out = [(0.0, j - 1)]
    while j > 1:
        j //= 2
        start = math.log(expected / (j * SPENT * error) - 1.0)
        out.append((max(start, 0.0), j - 1))
    return out
