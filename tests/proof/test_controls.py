"""A control's score among the features lowers bounds and never raises one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from divulge.proof.controls import SMALLER, lowered
from divulge.proof.corrections import Proof
from divulge.proof.prepared import Prepared
from divulge.result import Bound

ONE, FIRST = np.ones(1), np.zeros(1, dtype=np.intp)
PREPARED = Prepared(ONE, ONE, ONE, ONE, 0.0, FIRST, 1, ONE, ONE, trim=1.5, c_lb=0.0)


def proof_of(mu, epsilon, naive=2.0):
    given = {"confidence": 0.95, "theorem": "", "assumptions": ("a",)}
    bounds = (
        Bound("mu", mu, method="recursion", correction="balanced", headline=True, **given),
        Bound("epsilon", epsilon, method="bets", correction="prior", delta=0.0, **given),
        Bound("mu", naive, method="recursion", correction="none", **given),
    )
    return Proof(PREPARED, bounds, None, None, FIRST)


def test_the_smaller_of_both_counts_bound_by_bound():
    found = lowered(proof_of(0.8, 0.3), proof_of(0.5, 1.4)).bounds
    assert [b.value for b in found] == [0.5, 0.3, 2.0]
    assert found[0].headline
    assert [SMALLER in b.assumptions for b in found] == [True, True, False]


def test_what_the_other_audit_does_not_state_is_not_proved():
    other = proof_of(0.5, 1.4)
    found = lowered(proof_of(0.8, 0.3), replace(other, bounds=other.bounds[:1])).bounds
    assert [b.value for b in found] == [0.5, 0.0, 2.0]
