"""What the target says of held-out records bounds what it may know of training records."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from divulge.games.attribute import audit_records
from divulge.proof.rule import Rule
from divulge.selftest.populations import Population
from divulge.shift.strangers import BINS, compare, unexplained


def evidence(force):
    return np.column_stack([-force, force])


def test_a_target_that_speaks_of_strangers_alike_may_know_all():
    rng = np.random.default_rng(0)
    found = compare(evidence(rng.random(1000)), evidence(rng.random(500)))
    assert found.shares.size == BINS
    assert np.all(found.shares > 0.9)
    assert np.array_equal(found.share(evidence(np.array([0.0, 2.0]))), found.shares[[0, -1]])


def test_the_share_is_an_upper_limit_that_shrinks_with_held_out_records():
    rng = np.random.default_rng(1)
    own = evidence(2.0 + rng.random(1000))
    few, many = (compare(own, evidence(rng.random(n))).shares[-1] for n in (400, 10_000))
    assert 0.0 < many < few < 0.1  # no stranger is spoken of so


def test_forces_that_are_all_the_same_are_no_crash():
    same = evidence(np.ones(500))
    assert compare(same, same).share(same).min() == 1.0
    assert compare(same, 0.5 * same).share(same).max() < 0.05
    assert compare(0.0 * same, 0.0 * same).share(same[:1]).max() == 1.0


def test_limits_hold_together():
    rng = np.random.default_rng(2)
    missed = 0
    for _ in range(400):
        inside, outside = rng.exponential(2.0, 1500), rng.exponential(1.0, 500)
        found = compare(evidence(inside), evidence(outside))
        edges = np.array([0.0, *found.edges, np.inf])
        truth = -np.diff(np.exp(-edges)) * BINS  # shares of the strangers over those of the bins
        missed += bool(np.any(found.shares < np.minimum(truth, 1.0)))
    assert missed / 400 < 0.08


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_the_new_prior_gives_at_least_what_a_mixture_gives(epsilon):
    rng = np.random.default_rng(3)
    size = 2000
    odds, share = rng.normal(size=size), rng.random(size)
    for side in (1.0, -1.0):
        _, prior = unexplained(np.full((size, 1), 9.0 * side), odds[:, None], share)
        mixture = (1.0 - share) * expit(side * odds + epsilon) + share
        assert np.all(expit(side * prior[:, 0] + epsilon) >= mixture - 1e-12)
        at_none = (1.0 - share) * expit(side * odds) + share
        assert np.allclose(side * prior[:, 0], logit(at_none))


def test_all_or_nothing():
    bets, odds = evidence(np.array([0.3, 1.0, 3.0])), evidence(np.array([0.2, -0.4, 0.0]))
    left, prior = unexplained(bets, odds, np.zeros(3))
    assert np.allclose(left, bets)
    assert np.allclose(prior, odds)
    assert np.all(unexplained(bets, odds, np.ones(3))[0] == 0.0)
    assert np.all(unexplained(0.0 * bets, odds, np.full(3, 0.5))[1] == odds)


@pytest.mark.parametrize(("kind", "seed"), [("product of three", 0), ("corner", 4)])
def test_a_difference_that_no_learner_finds_is_no_leak(kind, seed):
    """The target knows the training records' population, which is not the held-out records'."""
    records = Population(kind).sample(2000, 2000, np.random.default_rng(seed))
    result = audit_records(records, Rule(repetitions=3), seed=seed, compare=False)
    assert result.verdict.status == "no evidence"
    assert result.diagnostics["nuisance"]["known_share"] > 0.8
