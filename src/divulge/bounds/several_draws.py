"""One audit drawn by several seeds, combined: nothing is chosen among them.

Every seed draws other trials from the same table, and each draw on its own is a valid audit. They
depend on each other in ways that nobody knows, so only rules that hold under any dependence apply.

*Bets*: the mean of e-values is an e-value (Vovk and Wang, 2021). Each wealth is stopped when it
reaches ``seeds / error``, for then the mean has reached ``1 / error``. A mean of largest wealths
would not do: a running maximum is not an e-value.

*Counts*: a parameter is refuted if more than half of the seeds refute it, ``k`` of ``n``, each at
``k / n`` of the error. By Markov's inequality that many false refutations have probability
``(n / k) (k / n) error`` at most (Rueger, 1978): ``n / k`` times the k-th smallest p-value, that is
twice the median p-value or a little less. So the bound is the k-th largest of the seeds' bounds at
that smaller error, whatever each of them deducts. If the bounds of one seed hold together, so do
those of the combination, for they are false only if k seeds err.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from divulge.bounds.betting import GRID_STEP
from divulge.errors import require, require_probability

_SAFE = 1.0 + 1e-9


def majority(seeds: int) -> int:
    """The fewest seeds that are more than half of them."""
    require(seeds >= 1, f"seeds must be at least 1. Found {seeds}.")
    return seeds // 2 + 1


def error_of_each(error: float, seeds: int) -> float:
    """At which error the counts of each seed are tested."""
    require_probability("error", error)
    return error * majority(seeds) / seeds


def agreed(values: Sequence[float]) -> float:
    """What more than half of the seeds prove; one that proves nothing counts as 0."""
    return float(np.sort(np.asarray(values, dtype=float))[-majority(len(values))])


def goal(error: float, seeds: int) -> float:
    """The wealth at which the bets of one seed stop."""
    require_probability("error", error)
    return _SAFE * seeds / error


def mean_bound(
    curves: Sequence[npt.ArrayLike], error: float, *, seeds: int, step: float = GRID_STEP
) -> float:
    """Lower bound on epsilon from each seed's e-values at 0, step, 2 step, ...

    A curve that ends, or a seed without one, counts as an e-value of 0 from there on. The bound is
    the last point of the grid before the first that is not refuted.
    """
    require(0 < len(curves) <= seeds, "There must be a curve for each seed at most.")
    arrays = [np.asarray(c, dtype=float) for c in curves]
    total = np.zeros(max(c.size for c in arrays) + 1)
    for curve in arrays:
        total[: curve.size] += curve
    refuted = int(np.argmax(total / seeds < _SAFE / error))
    return max(0, refuted - 1) * step
