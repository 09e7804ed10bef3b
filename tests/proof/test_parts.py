"""Two audits that exchange roles: half of the error each, the larger bound, the stricter guard."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from divulge.proof.parts import error_of_each, exchanged, mean_curve
from divulge.proof.prove import prove
from divulge.proof.rule import Rule
from divulge.trials import Trials

RULE = Rule((), 0.025, ("balanced", "prior"))


@pytest.fixture(scope="module")
def proofs():
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(2000) < 0.5, 1.0, -1.0)
    return [
        prove(Trials(leak * truth + rng.standard_normal(2000), truth), RULE, rng)
        for leak in (0.5, 1.0)
    ]


def test_the_larger_bound_at_the_whole_error(proofs):
    both = exchanged(proofs, 0.05)
    assert error_of_each(0.05) == 0.025
    for k, bound in enumerate(both.bounds):
        assert bound.value == max(p.bounds[k].value for p in proofs)
        assert bound.confidence == pytest.approx(0.975)
        assert "half the error" in bound.theorem


def test_one_that_refuses_refuses_for_both(proofs):
    assert exchanged([proofs[0], None], 0.05) is None


def test_guards_are_the_stricter_ones(proofs):
    first, second = (
        replace(p, prepared=replace(p.prepared, c_lb=c, allowance=a))
        for p, c, a in zip(proofs, (0.0, 0.2), (0.3, 0.1), strict=True)
    )
    both = exchanged([first, second], 0.05)
    assert both.prepared.c_lb == 0.2
    assert both.prepared.allowance == 0.3
    unchecked = replace(second, prepared=replace(second.prepared, c_lb=None))
    assert exchanged([first, unchecked], 0.05).prepared.c_lb is None


def test_a_missing_e_value_counts_as_nothing():
    np.testing.assert_allclose(mean_curve([np.array([4.0, 2.0]), np.array([2.0])], 2), [3.0, 1.0])
