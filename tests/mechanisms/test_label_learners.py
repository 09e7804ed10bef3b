"""Learners on randomised labels: what they promise, what they use, what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone, is_classifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from divulge.errors import InputError
from divulge.mechanisms.labels import (
    LaplaceChannel,
    LaplaceLabels,
    PriorLabels,
    RandomisedLabels,
    ResponseChannel,
    StagedLabels,
    TeacherLabels,
    label_channel,
)
from divulge.mechanisms.labels import learner as learner_module
from divulge.mechanisms.labels import prior as prior_module

SINGLE = [RandomisedLabels, PriorLabels, StagedLabels, LaplaceLabels]
EVERY = [*SINGLE, TeacherLabels]


def data(rng, n=300, classes=3):
    x = rng.normal(size=(n, 3))
    y = np.digitize(x[:, 0] + 0.5 * rng.normal(size=n), np.linspace(-1, 1, classes - 1))
    return x, np.array(["red", "green", "blue", "white"])[y]


@pytest.mark.parametrize("mechanism", EVERY)
@pytest.mark.parametrize(
    "learner",
    [
        LogisticRegression(),
        RandomForestClassifier(2),
        KNeighborsClassifier(),
        make_pipeline(StandardScaler(), GaussianNB()),
    ],
    ids=["logistic", "forest", "neighbours", "pipeline"],
)
def test_any_learner_in_a_data_frame_or_an_array(mechanism, learner, rng):
    x, y = data(rng)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    private = mechanism(learner, epsilon=2.0, random_state=1)
    assert is_classifier(private)
    first = private.fit(frame, pd.Series(y)).predict_proba(frame)
    assert list(private.classes_) == ["blue", "green", "red"]
    np.testing.assert_allclose(first.sum(axis=1), 1.0)
    assert set(private.predict(frame)) <= set(y)
    again = clone(private).fit(frame, y).predict_proba(frame)
    np.testing.assert_array_equal(first, again)  # a seed makes it repeatable
    other = clone(private).set_params(random_state=2).fit(x, y)
    assert np.any(other.predict_proba(x) != first)
    assert not hasattr(learner, "classes_")  # the given learner is not touched


@pytest.mark.parametrize("mechanism", SINGLE)
@pytest.mark.parametrize("learner", [LogisticRegression(), KNeighborsClassifier()])
def test_without_noise_it_is_plain_training(mechanism, learner, rng):
    x, y = data(rng)
    plain = clone(learner).fit(x, y)
    variants = [{}]
    if mechanism is not LaplaceLabels:
        variants.append({"noise_correction": True})
    for options in variants:
        private = mechanism(learner, epsilon=math.inf, random_state=0, **options).fit(x, y)
        np.testing.assert_array_equal(private.predict_proba(x), plain.predict_proba(x))
        assert private.guarantee_.epsilon(0.5) == math.inf


@pytest.mark.parametrize("mechanism", SINGLE)
def test_the_guarantee_before_fit_covers_the_one_after(mechanism, rng):
    x, y = data(rng)
    private = mechanism(LogisticRegression(), 1.5, random_state=0)
    before, after = private.guarantee, private.fit(x, y).guarantee_
    at = np.linspace(0.0, 1.0, 101)
    assert np.all(before.curve(at) <= after.curve(at) + 1e-12)
    assert before.epsilon() == after.epsilon() == 1.5
    assert after.unit == "one label replaced"
    assert after.theorem


def test_given_classes_make_the_guarantee_before_fit_exact(rng):
    x, y = data(rng)
    known = RandomisedLabels(LogisticRegression(), 1.0, classes=["blue", "green", "red"])
    at = np.linspace(0.0, 1.0, 101)
    np.testing.assert_array_equal(known.guarantee.curve(at), known.fit(x, y).guarantee_.curve(at))


def test_a_class_that_nobody_has_may_still_be_answered(rng):
    x, y = data(rng)
    private = RandomisedLabels(
        LogisticRegression(), 0.5, classes=["red", "green", "blue", "white"], random_state=0
    ).fit(x, y)
    assert list(private.classes_) == ["blue", "green", "red", "white"]
    assert np.mean(private.noisy_labels_ == "white") > 0.1
    silent = clone(private).set_params(epsilon=math.inf).fit(x, y)
    np.testing.assert_array_equal(silent.predict_proba(x)[:, 3], 0.0)


def test_noisy_labels_follow_the_channel(rng):
    x, y = data(rng, 20_000)
    private = RandomisedLabels(GaussianNB(), 1.0, random_state=3).fit(x, y)
    keep = math.e / (math.e + 2.0)
    error = math.sqrt(keep * (1.0 - keep) / y.size)
    assert abs(np.mean(private.noisy_labels_ == y) - keep) <= 4.0 * error


@pytest.mark.slow
def test_noise_correction_recovers_the_posterior(rng):
    """Against the true P(y given x), which is known here."""

    def draw(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = rng.normal(size=(n, 2))
        logits = np.column_stack([np.zeros(n), 2.0 * x[:, 0], 1.5 * x[:, 1] - 0.5])
        true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        return x, true, (true.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)

    x, true, y = draw(20_000)
    known = LogisticRegression().fit(*draw(300)[::2])

    def error(private) -> float:
        return float(np.abs(private.fit(x, y).predict_proba(x) - true).mean())

    forest = RandomForestClassifier(20, min_samples_leaf=200, max_samples=0.5)
    for learner in (forest, LogisticRegression()):
        for private, ratio in (
            (RandomisedLabels(learner, 1.0, random_state=0), 0.5),
            (PriorLabels(learner, 1.0, random_state=0), 0.5),
            (PriorLabels(learner, 1.0, prior=known, random_state=0), 0.8),
            (StagedLabels(learner, 1.0, random_state=0), 0.5),
        ):
            corrected = clone(private).set_params(noise_correction=True)
            assert error(corrected) < ratio * error(private)
        one, several = (LaplaceLabels(learner, 2.0, rounds=r, random_state=0) for r in (1, 6))
        assert error(several) < 0.6 * error(one)


def test_a_good_prior_keeps_more_labels(rng):
    x, y = data(rng, 4_000)
    prior = LogisticRegression().fit(x[:2_000], y[:2_000])
    x, y = x[2_000:], y[2_000:]
    informed = PriorLabels(GaussianNB(), 0.5, prior=prior, random_state=0).fit(x, y)
    uniform = PriorLabels(GaussianNB(), 0.5, random_state=0).fit(x, y)
    assert np.mean(informed.noisy_labels_ == y) > np.mean(uniform.noisy_labels_ == y) + 0.1
    assert set(uniform.channel_.sizes) == {3}
    assert len(set(informed.channel_.sizes)) > 1
    matrix = PriorLabels(GaussianNB(), 0.5, prior=prior.predict_proba(x), random_state=0)
    np.testing.assert_array_equal(matrix.fit(x, y).noisy_labels_, informed.noisy_labels_)


def test_a_certain_prior_gives_nothing_away(rng):
    x, y = data(rng)
    private = PriorLabels(GaussianNB(), 1.0, prior=[1.0, 0.0, 0.0]).fit(x, y)
    assert set(private.noisy_labels_) == {"blue"}
    assert private.guarantee_.epsilon() == 0.0
    np.testing.assert_array_equal(private.predict_proba(x), [[1.0, 0.0, 0.0]] * len(x))


def test_a_clone_keeps_the_fitted_prior(rng):
    x, y = data(rng)
    prior = GaussianNB().fit(x[:100], y[:100])
    copied = clone(PriorLabels(KNeighborsClassifier(), 1.0, prior=prior, rounds=9))
    assert copied.prior is prior
    assert copied.rounds == 9
    scores = cross_val_score(copied, x[100:], y[100:], cv=3)
    assert np.all(np.isfinite(scores))


@pytest.mark.parametrize("stages", [1, 2, 5])
def test_stages_use_each_label_once(stages, rng, monkeypatch):
    """Every label goes through exactly one channel."""
    x, y = data(rng, 103)
    spent = []
    real = prior_module.label_channel

    def watched(epsilon, classes, prior):
        spent.append(len(prior))
        assert epsilon == 0.7
        return real(epsilon, classes, prior)

    monkeypatch.setattr(prior_module, "label_channel", watched)
    private = StagedLabels(GaussianNB(), 0.7, stages=stages, random_state=0).fit(x, y)
    assert sum(spent) == 103
    assert len(spent) == stages
    assert max(spent) - min(spent) <= 1
    np.testing.assert_array_equal(np.bincount(private.stage_), spent)


@pytest.mark.parametrize("correction", [False, True])
@pytest.mark.parametrize("mechanism", SINGLE)
def test_nothing_but_the_channel_sees_the_labels(mechanism, correction, rng, monkeypatch):
    """Cut the channel off from the labels: then nothing that was fitted may depend on them."""
    for channel in (ResponseChannel, LaplaceChannel):

        def deaf(self, codes, rng, real=channel.sample):
            return real(self, np.arange(len(codes)) % 3, rng)

        monkeypatch.setattr(channel, "sample", deaf)
    x, y = data(rng)
    options = {} if mechanism is LaplaceLabels else {"noise_correction": correction}
    private = mechanism(
        GaussianNB(), 1.0, classes=["blue", "green", "red"], random_state=0, **options
    )
    first = clone(private).fit(x, y)
    second = clone(private).fit(x, np.roll(y, 7))
    np.testing.assert_array_equal(first.noisy_labels_, second.noisy_labels_)
    np.testing.assert_array_equal(first.predict_proba(x), second.predict_proba(x))


def test_a_label_leaves_its_own_stage_only_through_its_noisy_version(rng):
    """Change all labels of the last stage: the answers of the first one stay the same."""
    x, y = data(rng, 400)
    private = StagedLabels(GaussianNB(), 1.0, stages=3, random_state=0).fit(x, y)
    for last in range(1, 3):
        changed = np.where(private.stage_ >= last, "red", y)
        again = clone(private).fit(x, changed)
        np.testing.assert_array_equal(again.stage_, private.stage_)
        before = private.stage_ < last
        np.testing.assert_array_equal(again.noisy_labels_[before], private.noisy_labels_[before])
        now = private.stage_ == last
        np.testing.assert_array_equal(again.channel_.allowed[now], private.channel_.allowed[now])
        assert np.any(again.noisy_labels_[now] != private.noisy_labels_[now])


def test_later_stages_profit_from_earlier_ones(rng):
    x, y = data(rng, 6_000)
    private = StagedLabels(GaussianNB(), 1.0, stages=2, random_state=0).fit(x, y)
    right = private.noisy_labels_ == y
    assert right[private.stage_ == 1].mean() > right[private.stage_ == 0].mean() + 0.05


def test_one_stage_is_randomised_response_with_the_same_prior(rng):
    x, y = data(rng, 100)
    private = StagedLabels(GaussianNB(), 1.0, stages=1, prior=[0.6, 0.3, 0.1]).fit(x, y)
    expected = label_channel(1.0, 3, [0.6, 0.3, 0.1]).allowed
    assert np.all(private.channel_.allowed == expected)


def test_soft_labels_are_weights_or_draws(rng):
    """With weights the fit is that of the repeated records; without, labels are drawn."""
    x = rng.normal(size=(4_000, 1))
    soft = np.column_stack([1.0 - expit(x[:, 0]), expit(x[:, 0])])
    classes = np.array(["no", "yes"])
    both = np.repeat([0, 1], 4_000)
    expected = LogisticRegression().fit(np.tile(x, (2, 1)), both, soft.T.ravel())
    weighted = learner_module.fit_soft_labels(LogisticRegression(), x, soft, classes, rng)
    np.testing.assert_allclose(weighted.model.coef_, expected.coef_, rtol=1e-3)
    assert weighted.model.coef_[0, 0] == pytest.approx(1.0, abs=0.05)
    drawn = learner_module.fit_soft_labels(KNeighborsClassifier(200), x, soft, classes, rng)
    assert np.abs(drawn.predict_proba(x) - soft).mean() < 0.05


@pytest.mark.parametrize("mechanism", EVERY)
def test_one_label_in_the_data_is_no_error(mechanism, rng):
    """Which labels occur is private: a learner that refuses one label must not show it."""
    x = rng.normal(size=(120, 2))
    private = mechanism(
        LogisticRegression(), epsilon=math.inf, classes=["a", "b"], random_state=0
    ).fit(x, np.full(120, "b"))
    np.testing.assert_array_equal(private.predict_proba(x), [[0.0, 1.0]] * 120)


LABELS = np.array(["a", "b"] * 10)


@pytest.mark.parametrize(
    ("private", "y", "message"),
    [
        *[(m(GaussianNB(), epsilon=0.0), LABELS, "epsilon must be above 0") for m in EVERY],
        *[(m(GaussianNB(), epsilon=-1.0), LABELS, "epsilon must be above 0") for m in EVERY],
        *[(m(GaussianNB(), epsilon=math.nan), LABELS, "epsilon must be above 0") for m in EVERY],
        (RandomisedLabels(LinearSVC(), 1.0), LABELS, "must have predict_proba.*LinearSVC"),
        (RandomisedLabels(GaussianNB, 1.0), LABELS, "classifier object.*GaussianNB"),
        (RandomisedLabels(GaussianNB(), 1.0, classes=["a", "c"]), LABELS, "outside the classes"),
        (RandomisedLabels(GaussianNB(), 1.0), LABELS[:5], "same number of records"),
        (RandomisedLabels(GaussianNB(), 1.0), np.full(20, "a"), "At least 2 classes"),
        (RandomisedLabels(GaussianNB(), 1.0), [1.0, math.nan] * 10, "missing"),
        (RandomisedLabels(GaussianNB(), 1.0), np.array(["a", None] * 10), "missing"),
        (RandomisedLabels(GaussianNB(), 1.0), LABELS.reshape(-1, 1), "one dimension"),
        (StagedLabels(GaussianNB(), 1.0, stages=21), LABELS, "stages must lie between 1 and"),
        (PriorLabels(GaussianNB(), 1.0, prior=GaussianNB()), LABELS, "must be fitted"),
        (PriorLabels(GaussianNB(), 1.0, prior=[[0.5, 0.5]] * 3), LABELS, "3 rows for 20 records"),
        (LaplaceLabels(GaussianNB(), 1.0, rounds=0), LABELS, "rounds must be at least 1"),
        (LaplaceLabels(GaussianNB(), 1.0, folds=21), LABELS, "folds must lie between 2 and"),
    ],
)
def test_bad_input_is_refused(private, y, message):
    with pytest.raises(InputError, match=message):
        private.fit(np.zeros((20, 2)) + np.arange(20)[:, None], y)


def test_a_prior_that_knows_other_labels_is_refused(rng):
    x, y = data(rng)
    prior = GaussianNB().fit(x, y)
    with pytest.raises(InputError, match="outside the label set"):
        PriorLabels(GaussianNB(), 1.0, prior=prior, classes=["a", "b"]).fit(x, ["a", "b"] * 150)


@pytest.mark.parametrize("mechanism", EVERY)
@pytest.mark.parametrize("kind", [str, bool, int], ids=["text", "bool", "int"])
def test_catboost_is_a_learner(mechanism, kind, rng):
    catboost = pytest.importorskip(
        "catboost", reason="CatBoost is not installed: pip install 'divulge[catboost]'"
    )
    x, _ = data(rng, 200)
    y = {str: np.array(["b", "a"]), bool: np.array([False, True]), int: np.array([3, 9])}[kind][
        (x[:, 0] > 0.0).astype(int)
    ]
    learner = catboost.CatBoostClassifier(
        iterations=10, verbose=False, thread_count=1, allow_writing_files=False
    )
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    private = mechanism(learner, epsilon=math.inf, random_state=0).fit(frame, y)
    assert list(private.classes_) == sorted(set(y.tolist()))
    assert private.score(frame, y) > 0.9
    noisy = clone(private).set_params(epsilon=3.0).fit(frame, y)
    np.testing.assert_allclose(noisy.predict_proba(frame).sum(axis=1), 1.0)
