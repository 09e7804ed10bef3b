"""Draws of one game, combined: twice the mean p-value.

A draw flips new coins, or draws new pairs, over the same records and values. Twice the mean of
p-values is a p-value whatever their dependence (Rueschendorf, 1982). Draws are exchangeable, which
allows more at no cost: the *largest running mean* of exchangeable e-values reaches ``1 / error``
with probability at most ``error`` (Ramdas and Manole, 2023), and ``(2 - 2 p / error)_+ / error`` is
an e-value for every p-value p, which turns it into twice the mean p-value and a little better
(Gasparin, Wang and Ramdas, 2024). A mean of bounds is no bound.
"""

from __future__ import annotations

from collections.abc import Sequence

from divulge.bounds.choice import price
from divulge.bounds.guessing import Counts
from divulge.bounds.recursion import epsilon_lower_bound as epsilon_from_counts
from divulge.bounds.recursion import mu_lower_bound
from divulge.errors import require, require_probability

_RUNGS = (0.01, 0.05, 0.125, 0.25, 0.375, 0.499999, 0.625, 0.75, 0.875)
"""P-values are rounded up to these multiples of the error; from the error on they count nothing."""
_SAFE = 1.0 + 1e-9


def count_bound(
    counts: Sequence[Counts],
    *,
    delta: float | None = None,
    error: float = 0.05,
    tau: float = 0.0,
    beside: Sequence[float] = (),
) -> float:
    """Lower bound on mu (delta None) or epsilon at delta from the recursion's p-values.

    With one draw it is the recursion itself. The number of guesses may come from scores;
    ``beside`` are the other deltas at which the same counts prove something.
    """
    require_probability("error", error)
    require(len(counts) > 0, "There are no draws.")
    if len(counts) == 1:
        return alone_bound(counts[0], delta=delta, error=error, tau=tau, beside=beside)
    rungs = [r * error for r in _RUNGS]
    priced = [price(c.trials, delta, error, tau, beside) for c in counts]

    def rejected(parameter: float) -> bool:
        total = 0.0
        for seen, (c, (at, against)) in enumerate(zip(counts, priced, strict=True), start=1):
            total += 2.0 - 2.0 * _rung(c, parameter, against, tau, rungs, at / error) / error
            if total >= seen * _SAFE:
                return True
            if 2 * seen - total > len(counts):  # even p-values of 0 from here on would not do
                return False
        return False

    if not rejected(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while high < 600.0 and rejected(high):
        low, high = high, 2.0 * high
    while high - low > 1e-4:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low


def alone_bound(
    counts: Counts,
    *,
    delta: float | None,
    error: float,
    tau: float = 0.0,
    beside: Sequence[float] = (),
) -> float:
    """The bound of one draw."""
    m, r, c = counts.trials, counts.guesses, counts.correct
    at, against = price(m, delta, error, tau, beside)
    if against is None:
        return mu_lower_bound(m, r, c, at, tau=tau)
    return epsilon_from_counts(m, r, c, against, at, tau=tau)


def _rung(
    counts: Counts,
    parameter: float,
    delta: float | None,
    tau: float,
    rungs: list[float],
    share: float,
) -> float:
    """The p-value of ``parameter``, rounded up to a rung, the error at most.

    A rung is reached if the recursion rejects at this ``share`` of it.
    """
    from divulge.bounds import compiled

    m, r, c = counts.trials, counts.guesses, counts.correct
    last = rungs[-1] / _RUNGS[-1]
    if 2 * c <= r:
        return last
    kind, failure = (1, 0.0) if delta is None else (0, delta)
    low, high = 0, len(rungs)  # the answer is rungs[high], or the error beyond the last
    while low < high:
        middle = (low + high) // 2
        if compiled.rejects(kind, parameter, failure, m, r, c, share * rungs[middle], tau):
            high = middle
        else:
            low = middle + 1
    return rungs[high] if high < len(rungs) else last
