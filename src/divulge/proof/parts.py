"""Two audits that exchange roles: members that taught the helpers of one are audited in the other.

A helper's loss on a record that it learned from gives that record away, so members that taught a
helper are not audited with it. The known members are split in two by coins of the seed. Audit 1
takes part A as given (its records, and that they are members, are known to everybody) and plays
part B against the non-members with the helpers of A; audit 2 exchanges A and B.

*Validity.* In audit 1 every helper is a function of A and of seeds. Given A, the losses of helpers
are features of the record like any other: no truth of a trial of audit 1 has touched them. So audit
1 alone is a valid audit at whatever error it has, and so is audit 2. The non-members are in both,
and the helpers of 2 learned from trials of 1: the two depend on each other, and nothing is assumed
of how. Each is played at half of the error, so by the union bound all statements of both hold
together with the whole error, and so does the larger of the two for every parameter (which is
implied by one of them). For several draws the mean of the two stopped wealths is an e-value, being
a mean of e-values (Vovk and Wang, 2021). Pooling all trials in one audit would not do: the features
of B's records would know the truths of A's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from divulge.proof.adjust import TOO_FEW
from divulge.proof.corrections import Proof
from divulge.result import Bound
from divulge.types import Array

PARTS = 2


def error_of_each(error: float) -> float:
    """At which error each of the two audits is played."""
    return error / PARTS


def exchanged(proofs: Sequence[Proof | None], error: float) -> Proof | None:
    """What both audits prove; None unless both conclude. ``error`` is that of both together.

    One would suffice for the union bound, but what refuses one of them (overlap, allowance) speaks
    of the same records. Guards are the stricter ones.
    """
    sound = [p for p in proofs if p is not None]
    if len(sound) < len(proofs):
        return None
    first = sound[0]
    bounds = tuple(_larger(b, [p.bounds for p in sound], error / 2.0) for b in first.bounds)
    smaller = tuple(_larger(b, [p.smaller for p in sound], error / 2.0) for b in first.smaller)
    known = [p.prepared.c_lb for p in sound]
    found = [c for c in known if c is not None]
    c_lb = max(found) if len(found) == len(known) else None  # one unchecked: all unchecked
    unchecked = TOO_FEW if c_lb is None and first.prepared.c_lb is not None else ""
    prepared = replace(
        first.prepared,
        c_lb=c_lb,
        unchecked=unchecked or first.prepared.unchecked,
        allowance=max(p.prepared.allowance for p in sound),
        allowance_mu=max(p.prepared.allowance_mu for p in sound),
    )
    bet = first.bet
    if bet is not None and bet.e_values is not None:
        curves = [p.bet.e_values for p in sound if p.bet is not None and p.bet.e_values is not None]
        bet = replace(bet, e_values=mean_curve(curves, len(proofs)))
    return replace(first, bounds=bounds, smaller=smaller, prepared=prepared, bet=bet)


def mean_curve(curves: Sequence[Array], games: int) -> Array:
    """The mean of e-values at every epsilon; one that ends, or is missing, counts as 0."""
    total = np.zeros(max(c.size for c in curves))
    for curve in curves:
        total[: curve.size] += curve
    return total / games


def _larger(bound: Bound, audits: Sequence[Sequence[Bound]], half: float) -> Bound:
    """The larger of the same bound in both audits, each of which had half of the error."""
    key = key_of(bound)
    values = [b.value for own in audits for b in own if key_of(b) == key]
    return replace(
        bound,
        value=max(values),
        confidence=1.0 - half,
        theorem=f"{bound.theorem}; the larger of two exchanged parts, each at half the error",
    )


def key_of(bound: Bound) -> tuple[str, float | None, str, str]:
    """What makes two bounds the same bound of two audits."""
    return bound.parameter, bound.delta, bound.correction, bound.method
