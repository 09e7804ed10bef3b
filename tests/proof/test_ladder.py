"""The ladder: what is deducted, what is never extrapolated, and that it proves nothing."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.proof import ladder, learning_curve
from divulge.proof.learning_curve import LearningCurve
from divulge.proof.rule import Rule
from divulge.result import Bound
from divulge.trials import Trials
from divulge.work import SERIAL

BET = Bound("epsilon", 2.0, 0.975, "betting", "", (), "prior", 0.0, headline=True)
MU = Bound("mu", 0.8, 0.975, "recursion", "", (), "balanced", None, headline=True)
RULE = Rule((), 0.05, ("balanced", "prior"))


def raw(bias: float, rng: np.random.Generator, trials: int = 2000) -> ladder.Raw:
    """Bets of 0.6 on members that are ``bias`` likelier than the propensities say."""
    p = 1.0 / (1.0 + np.exp(-bias))
    truth = np.where(rng.random(trials) < p, 1.0, -1.0)
    counts = ladder.Counts(trials, 200, int(200 * p))
    return ladder.Raw(np.full(trials, 0.6), truth, np.zeros(trials), counts)


def curve(*steps: float, target: float | None = None, ignorance: float | None = 0.7):
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.standard_normal((len(steps) + 1, 400))
    losses = tuple(level + own for level, own in zip(steps, noise, strict=False))
    known = None if target is None else target + noise[-1]
    return LearningCurve(losses, losses, known, ignorance)


def climbed(low: float, high: float, size: int | None = 4000, curves=None):
    rng = np.random.default_rng(3)
    rungs = [ladder.Rung(250, 500, ()), ladder.Rung(500, 1000, ())]
    found = [[raw(bias, rng) for _ in range(3)] for bias in (low, high)]
    curves = curves or curve(0.5, 0.4, 0.33, target=0.3)
    return ladder.ladder(
        rungs, found, (BET, MU), RULE, helpers=1000, training_size=size, curves=curves
    )


def test_growth_is_that_of_the_bet():
    one = ladder.Raw(np.array([1.0, -1.0, 0.1]), np.array([1.0, 1.0, -1.0]), np.zeros(3), None)
    q, u = 1.0 / (1.0 + np.exp(-1.0)), 1.0 / (1.0 + np.exp(-0.5))
    np.testing.assert_allclose(one.growth(0.5), [np.log(q / u), np.log((1 - q) / (1 - u)), 0.0])


def test_the_upper_limit_lies_above_the_bias_and_falls_with_more_trials():
    rng = np.random.default_rng(0)
    limits = []
    for trials in (300, 30_000):
        found = [[raw(0.35, rng, trials) for _ in range(3)] for _ in range(2)]
        bias, upper, each = ladder.upper_limits(found, BET, (), 0.05)[1]
        assert bias <= upper
        assert len(each) == 3
        limits.append(upper)
    assert limits[1] < limits[0]


def test_every_doubling_is_deducted_from_the_bound():
    found = climbed(0.3, 0.2)
    assert found.extrapolable
    assert found.doublings == pytest.approx(2.0)
    assert found.within_two_doublings
    step = found.adjusted[0].bias_per_doubling
    assert step == max(r.upper for r in found.rungs if r.parameter == "epsilon")
    assert found.adjusted_epsilon == pytest.approx(max(0.0, 2.0 - 2.0 * step))
    assert "not a lower bound" in found.sentence
    assert not climbed(0.3, 0.2, size=5000).within_two_doublings


def test_a_target_no_larger_than_the_helpers_is_one_doubling_away():
    assert climbed(0.3, 0.2, size=100).doublings == 1.0


def test_without_a_training_size_there_is_no_adjusted_epsilon():
    found = climbed(0.3, 0.2, size=None)
    assert found.extrapolable
    assert found.adjusted_epsilon is None
    assert not found.within_two_doublings
    assert "--training-size" in found.sentence


def test_a_growing_bias_is_not_extrapolated():
    found = climbed(0.0, 0.9)
    assert not found.extrapolable
    assert found.reason == ladder.GROWS
    assert found.adjusted_epsilon is None
    assert "not extrapolable" in found.sentence


@pytest.mark.parametrize(
    ("curves", "reason"),
    [
        (curve(0.6, 0.58, 0.4, target=0.35), learning_curve.STEEPER),
        (curve(0.9, 0.8, 0.75, target=0.74), learning_curve.IGNORANT),
        (curve(0.5, 0.45, 0.42, target=0.1), learning_curve.KNOWS_MORE),
        (curve(0.5, 0.45, 0.42), learning_curve.NO_LOSS),
        (curve(0.5, 0.45, 0.42, target=0.38), ""),
        (curve(0.9, 0.8, 0.75, target=0.74, ignorance=None), ""),
    ],
)
def test_a_learning_curve_may_forbid_it(curves, reason):
    found = climbed(0.3, 0.2, curves=curves)
    assert found.reason == reason
    assert found.extrapolable == (not reason)


@pytest.mark.slow
def test_a_rung_where_nothing_differs_finds_little():
    """Score, features and truth are independent: the whole way through the nuisance models."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((1200, 3))
    truth = np.where(rng.random(1200) < 0.5, 1.0, -1.0)
    every = tuple(Trials(rng.standard_normal(1200), truth, features=x) for _ in range(2))
    rungs = [ladder.Rung(1, 2, every)]
    found = ladder.climb(rungs, RULE, 0, engine=SERIAL)
    assert [len(rung) for rung in found] == [2]
    assert ladder.upper_limits(found, BET, (), 0.05)[0][0] < 0.3
