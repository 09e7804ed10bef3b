"""Real non-members: what they veto, what they confirm, and how far a silent control has seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from divulge.bounds import betting
from divulge.games.synthetic import play as synthetic
from divulge.games.synthetic.answers import Work
from divulge.games.synthetic.control import ALIKE, Control, sight
from divulge.result import Bound, Result, Verdict
from divulge.selftest.real_nonmembers import RealPopulation


def found(epsilon: float, *, mu: float = 0.0, status: str = "leak", **more) -> Result:
    bounds = (
        Bound("epsilon", epsilon, 0.95, "bet", "t", (), "prior", 0.0, True),
        Bound("mu", mu, 0.95, "recursion", "t", (), "balanced", None, True),
    )
    given = {"measurements": {"allowance_epsilon": 0.2}, "trials": {"revealed": 1000}, **more}
    return Result("synthetic", Verdict(status, False, ""), bounds, **given)


def test_a_control_that_speaks_vetoes_whatever_the_direct_comparison_says():
    for control in (found(0.27), found(0.0, mu=0.01)):
        both = Control(control, found(0.5), 0.05)
        assert both.speaks
        assert "mistakes knowledge of the population" in both.refusal()


def test_a_finding_that_real_nonmembers_do_not_confirm_is_refused():
    silent = found(0.0)
    assert Control(silent, found(0.1), 0.05).refusal() is None
    assert "cannot be told from" in Control(silent, found(0.0004), 0.05).refusal()
    blind = found(0.0, status="cannot conclude")
    assert "could not be compared" in Control(silent, blind, 0.05).refusal()


def test_sight_grows_with_the_control():
    seen = [sight(n, 0.2, 0.025, power=0.95) for n in (100, 300, 1000, 10_000)]
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] > 0.2
    assert sight(0, 0.2, 0.025, power=0.95) == math.inf
    assert sight(3, 0.2, 0.025, power=0.95) == math.inf
    assert sight(1000, 0.5, 0.025, power=0.95) > seen[2]
    nothing = Result("synthetic", Verdict("cannot conclude", False, ""), (), {}, {}, {}, {})
    assert Control(nothing, found(1.0), 0.05).sight == math.inf


def test_sight_is_what_the_best_bet_sees():
    """Randomised response at the sight: the wealth at the allowance reaches its goal 95 times."""
    trials, allowance, error = 600, 0.15, 0.025
    epsilon = sight(trials, allowance, error, power=0.95)
    rng = np.random.default_rng(0)
    won = 0
    for _ in range(200):
        truth = np.where(rng.random(trials) < 0.5, 1.0, -1.0)
        honest = rng.random(trials) < 1.0 / (1.0 + np.exp(-epsilon))
        stakes = expit(np.where(honest, truth, -truth) * epsilon)
        won += betting.bet_given(stakes, truth, error=error).epsilon > allowance
    assert 0.9 < won / 200 < 1.0


def test_the_sight_is_deducted_unless_the_direct_comparison_proves_more():
    control = Control(found(0.0), found(0.5, mu=0.3), 0.05)
    lost = control.sight
    assert lost == pytest.approx(sight(500, 0.2, 0.025, power=0.9875))
    left = control.less_sight(found(2.0, mu=0.1))
    assert left.bounds[0].value == pytest.approx(2.0 - lost)
    assert left.bounds[1].value == 0.3
    assert left.measurements["gamma_star"] == pytest.approx(math.exp(2.0 - lost))
    assert control.less_sight(found(0.6)).bounds[0].value == 0.5
    assert all(b.confidence == 0.95 and ALIKE in b.assumptions for b in left.bounds)


@pytest.mark.slow
def test_a_target_that_knows_the_population_is_not_said_to_remember():
    """500 real non-members: the control is often silent where the finding is false."""
    material = RealPopulation(1000, 500, knows=1.0).material(np.random.default_rng(0))
    result = synthetic.play(material, work=Work({}, seed=1))
    assert result.verdict.status == "cannot conclude"
    assert not result.verdict.robust
    assert result.headline() == ()
    assert max(b.value for b in result.bounds) > 0.3


@pytest.mark.slow
def test_a_target_that_remembers_is_found_and_the_control_stays_silent():
    material = RealPopulation(1000, 1000, remembers=2.0).material(np.random.default_rng(0))
    result = synthetic.play(material, work=Work({}, seed=1))
    assert result.verdict.status == "leak"
    assert result.verdict.robust, result.verdict.reasons
    numbers = result.measurements
    assert numbers["negative_control_epsilon"] == 0.0
    assert 0.0 < numbers["negative_control_sight"] < numbers["direct_epsilon"]
