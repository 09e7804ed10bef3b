"""Teachers that vote: who sees which label, how much noise, and what it proves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from divulge import curves
from divulge.errors import InputError
from divulge.mechanisms.labels import TeacherLabels, vote_guarantee, vote_scale


class FirstLabel(ClassifierMixin, BaseEstimator):
    """The most exposed learner there is: the label of its smallest record decides every vote."""

    def fit(self, x, y):
        self.classes_ = np.unique(y)
        self.hot_ = (self.classes_ == y[np.argmin(x[:, 0])]).astype(float)
        return self

    def predict_proba(self, x):
        return np.tile(self.hot_, (len(x), 1))


def data(rng, n=400):
    x = rng.normal(size=(n, 2))
    return x, (x[:, 0] + 0.3 * rng.normal(size=n) > 0.0).astype(int)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 8.0, 50.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01])
@pytest.mark.parametrize("queries", [1, 100, 5_000])
def test_the_scale_solves_the_equation_on_the_safe_side(epsilon, delta, queries):
    found = vote_guarantee(vote_scale(epsilon, delta, queries), queries)
    assert epsilon - 1e-6 <= found.epsilon(delta) <= epsilon
    assert found.epsilon() == math.inf  # Gaussian noise is never pure
    pure = vote_guarantee(vote_scale(epsilon, 0.0, queries, "laplace"), queries, "laplace")
    assert epsilon - 1e-6 <= pure.epsilon() <= epsilon


def test_the_curve_is_gaussian_with_the_norm_of_all_votes():
    assert vote_guarantee(4.0, 50).curve == curves.Gaussian(math.sqrt(100.0) / 4.0)
    one = vote_guarantee(4.0, 1).curve
    composed = one
    for _ in range(9):
        composed = composed.compose(one)
    assert composed.mu() == pytest.approx(vote_guarantee(4.0, 10).curve.mu())
    assert vote_guarantee(10.0, 5, "laplace").epsilon() == 1.0


def test_teachers_are_disjoint_and_no_label_moves_a_record(rng):
    x, y = data(rng, 103)
    private = TeacherLabels(GaussianNB(), 1.0, teachers=7, queries=20, random_state=0).fit(x, y)
    sizes = np.bincount(private.teacher_, minlength=7)
    assert sizes.sum() == 103
    assert sizes.max() - sizes.min() <= 1
    again = clone(private).fit(x, 1 - y)
    np.testing.assert_array_equal(again.teacher_, private.teacher_)
    np.testing.assert_array_equal(again.queries_, private.queries_)


@pytest.mark.slow
def test_one_label_moves_one_teacher(rng):
    """Noiseless votes of neighbours: each query moves by at most sqrt(2), and one does."""
    x, y = data(rng, 60)
    learner = DecisionTreeClassifier(random_state=0)
    base = TeacherLabels(learner, scale=0.0, teachers=6, queries=60, random_state=0).fit(x, y)
    moved = []
    for i in range(60):
        other = y.copy()
        other[i] = 1 - other[i]
        change = clone(base).fit(x, other).noisy_votes_ - base.noisy_votes_
        np.testing.assert_array_equal(change.sum(axis=1), 0.0)
        assert np.abs(change).max() <= 1.0
        moved.append(np.linalg.norm(change))
    assert 1.0 < max(moved) <= math.sqrt(2 * 60)


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_exact_attack_on_the_worst_neighbours_keeps_to_the_curve(noise):
    """End to end, many fits: the likelihood ratio of the noisy votes for one replaced label."""
    queries, runs = 4, 1_500
    x = np.arange(12.0)[:, None]
    scale = math.sqrt(2.0 * queries) / 1.2 if noise == "gaussian" else 2.0 * queries / 1.5
    worlds = [np.zeros(12, dtype=int), np.eye(12, dtype=int)[0]]  # record 0 decides its teacher
    scores, truths = [], []
    for seed in range(runs):
        truth = seed % 2
        private = TeacherLabels(
            FirstLabel(), scale=scale, teachers=3, queries=queries, noise=noise,
            classes=[0, 1], random_state=seed,
        ).fit(x, worlds[truth])  # fmt: skip
        z = private.noisy_votes_
        here, there = np.array([3.0, 0.0]), np.array([2.0, 1.0])
        power = 2 if noise == "gaussian" else 1
        loss = (np.abs(z - here) ** power - np.abs(z - there) ** power).sum() / power
        scores.append(loss / scale**power)
        truths.append(truth)
    sampled = curves.from_scores(scores, truths)
    at = np.linspace(0.05, 0.95, 19)
    error = 4.0 * math.sqrt(0.25 / (runs / 2))
    assert np.all(sampled(at) >= private.guarantee_.curve(at) - error)
    if noise == "gaussian":  # the curve is reached
        np.testing.assert_allclose(sampled(at), private.guarantee_.curve(at), atol=error)
        assert np.min(sampled(at) - curves.Gaussian(0.6)(at)) < -error  # half of it is refuted
    else:
        assert np.abs(scores).max() <= private.guarantee_.epsilon() + 1e-9


def test_noise_has_the_stated_scale(rng):
    x, y = data(rng, 400)
    quiet = TeacherLabels(GaussianNB(), scale=0.0, queries=400, random_state=0).fit(x, y)
    for noise, spread in (("gaussian", 1.0), ("laplace", math.sqrt(2.0))):
        loud = clone(quiet).set_params(scale=3.0, noise=noise).fit(x, y)
        added = loud.noisy_votes_ - quiet.noisy_votes_
        assert added.std() == pytest.approx(3.0 * spread, rel=4.0 * 1.6 / math.sqrt(added.size))


def test_without_noise_the_student_learns_the_majority(rng):
    x, y = data(rng)
    private = TeacherLabels(LogisticRegression(), math.inf, teachers=5, random_state=0).fit(x, y)
    assert private.scale_ == 0.0
    np.testing.assert_array_equal(private.noisy_votes_.sum(axis=1), 5.0)
    winners = private.noisy_votes_.argmax(axis=1)
    np.testing.assert_array_equal(private.noisy_labels_, winners)
    plain = LogisticRegression().fit(x[private.queries_], winners)
    np.testing.assert_array_equal(private.predict_proba(x), plain.predict_proba(x))
    assert private.guarantee_.epsilon(0.5) == math.inf


def test_queries_may_be_a_table(rng):
    x, y = data(rng)
    asked = rng.normal(size=(30, 2))
    private = TeacherLabels(GaussianNB(), scale=1.0, queries=asked, random_state=0)
    assert private.guarantee.curve == curves.Gaussian(math.sqrt(60.0))
    private.fit(x, y)
    assert private.noisy_votes_.shape == (30, 2)
    assert private.queries_ is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either epsilon or scale"),
        ({"epsilon": 1.0, "scale": 1.0}, "either epsilon or scale"),
        ({"scale": -1.0}, "scale must be at least 0"),
        ({"scale": math.nan}, "scale must be at least 0"),
        ({"epsilon": 1.0, "delta": 0.0}, "delta must lie in"),
        ({"epsilon": 1.0, "noise": "uniform"}, "Unknown noise"),
        ({"epsilon": 1.0, "teachers": 41}, "teachers must lie between 1 and"),
        ({"epsilon": 1.0, "teachers": 0}, "teachers must lie between 1 and"),
        ({"epsilon": 1.0, "queries": 41}, "fewer than the 41 queries"),
        ({"epsilon": 1.0, "queries": 0}, "queries must be at least 1"),
    ],
)
def test_bad_input_is_refused(options, message, rng):
    x, y = data(rng, 40)
    with pytest.raises(InputError, match=message):
        TeacherLabels(GaussianNB(), **{"queries": 10, "teachers": 4, **options}).fit(x, y)
