"""Mu proved by a count whose number of guesses the model had a say in.

The recursion (``recursion.py``) is a theorem for a number r of guesses that is fixed beforehand.
For (epsilon, delta) the price of a chosen number is derived (``choice.py``), since that guarantee
is a line; the Gaussian curve is not one, but it is bounded by its tangents.

Fix epsilons ``e_1 .. e_L``, and let ``d_l = delta(e_l)`` of ``G_mu``. The outputs that choose r
have a probability ``w_r``. In the mean over trials and directions, let ``d_r,l`` be the largest
excess of any event among these outputs over ``e^e_l`` times what it has for the other truth; so one
``d_r,l`` serves every tail of the recursion. The ``w_r`` sum to 1 and the ``d_r,l`` to at most
``d_l``, for every l, since events among outputs that choose different numbers are disjoint, and
together one event. Let ``G_r(w, d_1 .. d_L)`` be the largest probability of a false claim at r that
the recursion allows under the least of the lines ``e^e_l x + d_l``. Its constraints are
homogeneous, and it grows with each argument, so for every ``b > 0``
``G_r(w_r, d_r) <= max(w_r, max_l d_r,l / (b d_l)) G_r(1, b d)``, and the sum over r is at most
``(1 + L / b) max_r G_r(1, b d)``. So: run the recursion against the lines
``e^e_l x + b d_l``, at ``error / (1 + L / b)``. Nothing is asked of r: no fewest number either.

The lines touch ``G_mu`` where its true-positive rate has fixed values below one half. There slope
and delta grow with mu, so larger mu promise less, and bisection is right. Which lines they are is a
matter of power, never of validity: four, at rates from 0.3 down to what ``trials`` can tell, and
b = 0.3 (``experiments/choosing_guesses.py`` has what they keep of a mu that takes the number for
fixed). A mu that is proved so is never above that one
(whatever these lines refute at the smaller error ``G_mu`` is refuted for at the larger), so it
holds together with it.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from divulge.bounds.checks import check_counts
from divulge.curves.families import gaussian_delta
from divulge.types import Array

LINES = 4
WIDER = 0.3
"""b: the deltas of the lines are tested at so many times their size."""
THEOREM = (
    "Mahloujifar, Melis, Chaudhuri 2024, Theorem 9 (f-DP recursion), against tangents of G_mu, "
    "the choice of the number of guesses paid for"
)
_HIGHEST, _LOWEST = 0.3, 1e-5
_ROUNDED_UP, _CANCELLED = 1.0 + 1e-9, 1e-15
_TOLERANCE = 1e-6


def lines(mu: float, trials: int) -> tuple[Array, Array]:
    """Epsilons and deltas of tangents of ``G_mu``, by its mu and the number of trials alone."""
    lowest = min(1e-3, max(_LOWEST, 0.03 / math.sqrt(max(1, trials))))
    at = ndtri(np.geomspace(lowest, _HIGHEST, LINES))
    epsilons = mu * (0.5 * mu - at)
    deltas = [gaussian_delta(mu, float(e)) * _ROUNDED_UP + _CANCELLED for e in epsilons]
    return np.asarray(epsilons, dtype=float), np.array(deltas)


def price(error: float) -> float:
    """The error to test at."""
    return error / (1.0 + LINES / WIDER)


def rejects(mu: float, trials: int, guesses: int, correct: int, error: float) -> bool:
    """Whether the counts refute mu-GDP at this error, whatever chose the number of guesses."""
    from divulge.bounds import compiled

    epsilons, deltas = lines(mu, trials)
    at = price(error)
    return bool(compiled.rejects_lines(epsilons, WIDER * deltas, trials, guesses, correct, at))


def mu_lower_bound(trials: int, guesses: int, correct: int, error: float = 0.05) -> float:
    """The largest mu that is refuted, 0 if none is; bisection keeps its lower end refuted."""
    m, r, c = check_counts(trials, guesses, correct, error)
    if 2 * c <= r or not rejects(0.0, m, r, c, error):
        return 0.0
    low, high = 0.0, 1.0
    while high < 32.0 and rejects(high, m, r, c, error):
        low, high = high, 2.0 * high
    while high - low > _TOLERANCE:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rejects(middle, m, r, c, error) else (low, middle)
    return low
