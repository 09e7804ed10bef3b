"""What one count states: mu, epsilon at every delta, and the bounds with their theorem."""

from __future__ import annotations

from collections.abc import Sequence

from divulge.bounds import choice, guessing
from divulge.bounds.guessing import Counts
from divulge.bounds.statement import HONEST_GUESSES, THEOREMS
from divulge.proof.prepared import KNOWN
from divulge.result import Bound

_SOURCE = {
    "none": "no correction",
    "composition": "Zero-Run auditing, Corollary 1",
    "conditional": "Zero-Run auditing, Theorem 5.1 as printed",
    "signed": "Zero-Run auditing, Theorem 5.1 with signed log-odds",
    "balanced": "balancing: kept truths are fair coins",
}


def mu(counts: Counts, error: float) -> float:
    """Mu, by the recursion."""
    return guessing.MU.bound(counts, error)


def epsilons(counts: Counts, deltas: Sequence[float], error: float) -> dict[float, float]:
    """Epsilon at delta 0 and at every delta, those at a delta so that they hold together."""
    every = tuple(deltas)
    return {d: guessing.Target(d, beside=every).bound(counts, error) for d in (0.0, *every)}


def bound(
    parameter: str,
    delta: float | None,
    value: float,
    error: float,
    correction: str,
    assumptions: tuple[str, ...],
    *,
    headline: bool = False,
) -> Bound:
    """One bound from a count, by the binomial tail or the recursion."""
    method = "binomial" if delta == 0.0 and correction != "composition" else "recursion"
    return Bound(
        parameter=parameter,
        delta=delta,
        value=value,
        confidence=1.0 - error,
        method=method,
        theorem=f"{THEOREMS[method]}; {_SOURCE[correction]}",
        assumptions=(*assumptions, HONEST_GUESSES),
        correction=correction,
        headline=headline,
        standing=standing(assumptions, choice.standing(delta)),
    )


def standing(assumptions: tuple[str, ...], most: str = "proved") -> str:
    """At most this, if the user vouches for propensities; fitted ones, and none, are estimates."""
    return most if KNOWN in assumptions else "estimated"
