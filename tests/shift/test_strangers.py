"""What the target says of held-out records bounds what it may know of training records."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.games.attribute import audit_records
from divulge.proof.rule import Rule
from divulge.selftest.populations import Population
from divulge.shift.strangers import compare, likeness, widened
from divulge.shift.value_prior import Edges


def test_a_target_that_speaks_of_strangers_alike_may_know_all():
    rng = np.random.default_rng(0)
    found = compare(rng.random(1000), rng.random(500), 0.05)
    assert found.shares.size == 6  # five, the last of them halved once: there are few strangers
    assert np.all(found.shares > 0.9)
    assert found.strong == pytest.approx(0.99, abs=0.01)
    assert np.array_equal(found.share(np.array([0.0, 2.0])), found.shares[[0, -1]])


def test_the_share_is_an_upper_limit_that_shrinks_with_held_out_records():
    rng = np.random.default_rng(1)
    own = 2.0 + rng.random(1000)
    few, many = (compare(own, rng.random(n), 0.05).shares[-1] for n in (400, 10_000))
    assert 0.0 < many < few < 1.0  # no stranger is spoken of so


def test_forces_that_are_all_the_same_are_no_crash():
    same = np.ones(500)
    assert compare(same, same, 0.05).share(same).min() == 1.0
    assert compare(same, 0.5 * same, 0.05).share(same).max() < 0.05
    assert compare(0.0 * same, 0.0 * same, 0.05).share(same[:1]).max() == 1.0


def test_limits_hold_together():
    rng = np.random.default_rng(2)
    missed = 0
    for _ in range(400):
        inside, outside = rng.exponential(2.0, 1500), rng.exponential(1.0, 500)
        found = compare(inside, outside, 0.05)
        edges = np.array([0.0, *found.edges, np.inf])
        many = np.histogram(inside, edges)[0] / inside.size
        truth = -np.diff(np.exp(-edges)) / many  # shares of the strangers over those of the bins
        missed += bool(np.any(found.shares < np.minimum(truth, 1.0)))
    assert missed / 400 < 0.08


def test_a_few_strong_words_do_not_hide_in_a_wide_bin():
    rng = np.random.default_rng(5)
    strong = rng.random((2, 4000)) < 0.05
    inside = np.where(strong[0], 5.0, 0.9) + 0.1 * rng.random(4000)
    outside = np.where(strong[1], 5.0, 0.0) + 0.1 * rng.random(4000)
    found = compare(inside, outside, 0.05)
    assert found.share(np.array([5.05])).item() > 0.9  # as many strangers are spoken of so
    assert found.share(np.array([0.93])).item() < 0.1
    assert found.strong > 5.0


@pytest.mark.parametrize("values", [2, 4])
def test_every_mixture_with_known_records_lies_between_the_edges(values):
    rng = np.random.default_rng(3)
    one, two = (rng.dirichlet(np.ones(values), 300) for _ in range(2))
    edges = Edges(one, np.minimum(one, two), np.maximum(one, two), np.ones(300))
    share = rng.random(300)
    found = widened(edges, share)
    for known in np.eye(values):
        for w in (one, two, 0.5 * (one + two)):
            p = (1.0 - share)[:, None] * w + share[:, None] * known
            t = (p / found.high).max(axis=1)  # the smallest t with p <= t high
            assert np.all(t[:, None] * found.low <= p + 1e-12)


def test_a_share_of_known_records_widens_the_prior():
    """For two values: log-odds of log((e^l + r) / (1 - r))."""
    w = np.array([[0.3, 0.7], [0.6, 0.4]])
    r = np.array([0.2, 0.5])
    found = widened(Edges(w, w, w, np.ones(2)), r)
    odds = w[:, 1] / w[:, 0]
    assert found.high[:, 1] / found.low[:, 0] == pytest.approx((odds + r) / (1 - r))
    assert found.high[:, 0] / found.low[:, 1] == pytest.approx((1 / odds + r) / (1 - r))
    same = widened(Edges(w, w, w, np.ones(2)), np.zeros(2))
    assert same.low == pytest.approx(w)
    assert same.high == pytest.approx(w)
    part = widened(Edges(w, w, w, np.full(2, 0.5)), r)
    assert np.all(part.low < found.low)  # among few values the known may be a larger share


def test_strangers_that_lie_elsewhere_are_weighed():
    rng = np.random.default_rng(4)
    inside, outside = rng.standard_normal((2000, 3)), rng.standard_normal((2000, 3))
    outside[:, 0] = np.where(rng.random(2000) < 0.8, -np.abs(outside[:, 0]), outside[:, 0])
    weight = likeness(inside, outside, rng)
    far = outside[:, 0] > 0.3
    assert weight[far].mean() > 2.5 * weight[~far].mean()
    force, strange = (x[:, 0] > 0.3 for x in (inside, outside))
    plain = compare(force.astype(float), strange.astype(float), 0.05)
    fair = compare(force.astype(float), strange.astype(float), 0.05, weight)
    assert plain.shares[-1] < 0.5
    assert fair.shares[-1] > 0.85
    alike = likeness(inside, rng.standard_normal((2000, 3)), rng)
    assert alike.std() < 0.5


@pytest.mark.parametrize(
    ("kind", "seed"), [pytest.param("product of three", 0, marks=pytest.mark.slow), ("corner", 4)]
)
def test_a_difference_that_no_learner_finds_is_no_leak(kind, seed):
    """The target knows the training records' population, which is not the held-out records'."""
    records = Population(kind).sample(2000, 2000, np.random.default_rng(seed))
    result = audit_records(records, Rule(), seed=seed, compare=False)
    assert result.verdict.status in ("no evidence", "cannot conclude")
    if result.verdict.status == "no evidence":
        assert result.diagnostics.nuisance["known_share"] > 0.8
