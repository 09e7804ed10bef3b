"""A bound is called proved only where nothing was fitted, computed or taken for granted."""

from __future__ import annotations

import numpy as np
import pytest

from divulge import membership
from divulge.bounds.statement import state_bounds
from divulge.games import canaries
from divulge.proof.rule import Named
from divulge.result import Bound


@pytest.fixture(scope="module")
def table() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.random(600) < 0.5
    x = rng.normal(size=600)
    return {"member": truth, "loss": rng.normal(size=600) - truth, "p": np.full(600, 0.5), "x": x}


def standings(result) -> set[tuple[str, str]]:
    return {(b.parameter, b.standing) for b in result.headline()}


def test_without_features_no_shift_is_taken_for_granted(table):
    result = membership(table, truth="member", score="loss")
    assert {b.standing for b in result.bounds} == {"estimated"}


def test_propensities_that_the_user_vouches_for(table):
    result = membership(table, truth="member", score="loss", propensity="p")
    assert standings(result) == {("mu", "numerical"), ("epsilon", "proved")}
    others = {b.correction: b.standing for b in result.bounds if b.parameter == "epsilon"}
    assert others["none"] == others["composition"] == "estimated"
    assert others["signed"] == "proved"


def test_coins_by_design_and_counts_that_a_user_brings(table):
    truth = np.where(table["member"], 1.0, -1.0)
    found = canaries.audit_trials(-table["loss"], truth)
    assert standings(found) == {("mu", "numerical"), ("epsilon", "proved")}
    named = canaries.audit_trials(-table["loss"], truth, headline=Named.of("mu"))
    assert standings(named) == {("mu", "numerical")}
    assert {b.standing for b in state_bounds(1000, 100, 90)} == {"proved"}


def test_nothing_is_more_than_estimated_unless_somebody_says_so():
    assert Bound("mu", 1.0, 0.95, "a method", "a theorem", ()).standing == "estimated"
