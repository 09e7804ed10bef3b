"""Gradient canaries: directions that do not hide each other, and scores that see no coin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from divulge.attacks.gradient import GradientSteps, mixture
from divulge.attacks.gradient_canaries import (
    KINDS,
    GradientCanaries,
    GradientCanaryRecorder,
    GradientCanaryScores,
    takes_part,
)
from divulge.errors import InputError

KNOWN = GradientSteps(rate=0.2, batch=40.0, clip=0.5, noise_multiplier=0.7)


def some(strategy: str, count: int = 40, size: int = 301, seed: int = 0) -> GradientCanaries:
    rng = np.random.default_rng(seed)
    places = rng.choice(size, count, replace=False)
    return GradientCanaries(strategy, size, places, rng.random(count) < 0.5, signs=5)


@pytest.mark.parametrize("strategy", KINDS)
def test_directions_are_orthonormal_and_projections_are_inner_products(strategy, rng):
    made = some(strategy)
    rows = made.directions(np.ones(40, dtype=bool))
    assert np.allclose(rows @ rows.T, np.eye(40), atol=1e-12)
    vector, weights = rng.normal(size=301), rng.normal(size=40)
    assert np.allclose(made.project(vector), rows @ vector)
    assert np.allclose(made.combined(weights), weights @ rows)
    assert made.directions(np.zeros(40, dtype=bool)).shape == (0, 301)


def test_orthogonal_directions_spread_over_all_parameters():
    rows = some("orthogonal").directions(np.ones(40, dtype=bool))
    assert np.abs(rows).max() < 2.0 / np.sqrt(301)


def test_an_included_canary_takes_part_at_the_rate_and_no_other_ever(rng):
    made = some("one-hot")
    seen = np.mean([takes_part(made, 0.2, rng) for _ in range(2000)], axis=0)
    assert np.all(seen[~made.included] == 0.0)
    assert abs(seen[made.included].mean() - 0.2) < 0.01


@pytest.mark.parametrize("strategy", KINDS)
def test_the_score_is_the_likelihood_ratio_of_the_projections(strategy, rng):
    made = some(strategy)
    scores = GradientCanaryScores(made, replace(KNOWN, rate=0.9))
    updates = rng.normal(size=(3, 301))
    for update in updates:
        scores.add(update)
    y = np.array([made.project(u) for u in updates]) * 40.0 / 0.5
    assert np.allclose(scores.total, mixture((y - 0.5) / 0.49, 0.9).sum(axis=0))
    assert np.allclose(scores.maximum, ((y - 0.5) / 0.49).max(axis=0))
    assert np.array_equal(scores.columns()["row"], made.places)


@pytest.mark.parametrize("strategy", KINDS)
def test_a_plain_loop_with_canaries_in_it(strategy, rng):
    size, steps = 2000, 60
    made = some(strategy, 800, size)
    recorder = GradientCanaryRecorder(made, KNOWN, 0.1, seed=1)
    shared, theta, best = rng.normal(size=size) / 50.0, np.zeros(size), 0.0
    for _ in range(steps):
        total = recorder.insert(shared)
        noisy = total + 0.35 * rng.normal(size=size)
        recorder.step(theta, theta - 0.1 * noisy / 40.0)
        theta = theta - 0.1 * noisy / 40.0
        taken = made.included & (rng.random(800) < 0.2)
        y = taken + 0.7 * rng.normal(size=800)
        best = best + mixture((y - 0.5) / 0.49, 0.2)
    found = roc_auc_score(made.included, recorder.columns()["white_box"])
    assert found > roc_auc_score(made.included, best) - 0.04
    blind = replace(made, included=~made.included)
    assert roc_auc_score(blind.included, recorder.columns()["white_box"]) < 0.5


@pytest.mark.parametrize("strategy", KINDS)
def test_with_the_others_known_loud_records_hide_nothing(strategy, rng):
    made = some(strategy, 200, 400)
    found = {}
    for complete in (False, True):
        recorder = GradientCanaryRecorder(made, KNOWN, 0.1, complete=complete, seed=1)
        for _ in range(40):
            total = recorder.insert(3.0 * rng.normal(size=400))
            recorder.step(np.zeros(400), -0.1 * (total + 0.35 * rng.normal(size=400)) / 40.0)
        found[complete] = roc_auc_score(made.included, recorder.columns()["white_box"])
    assert found[True] > 0.8 > 0.7 > found[False]
    with pytest.raises(InputError, match="insert before"):
        recorder.step(np.zeros(400), np.zeros(400))


def test_scores_do_not_depend_on_the_coins(rng):
    made = some("orthogonal")
    update = rng.normal(size=301)
    one, two = (
        GradientCanaryScores(given, KNOWN).add(update)
        for given in (made, replace(made, included=~made.included))
    )
    assert np.array_equal(one, two)


def test_a_run_without_noise_is_scored(rng):
    quiet = GradientCanaryScores(some("one-hot"), replace(KNOWN, noise_multiplier=0.0))
    assert np.isfinite(quiet.add(np.zeros(301))).all()


def test_what_is_wrong_is_said(rng):
    made = some("one-hot")
    with pytest.raises(InputError, match="fewer gradient canaries than parameters"):
        replace(made, parameters=40)
    with pytest.raises(InputError, match="place of its own"):
        replace(made, places=np.zeros(40, dtype=np.intp))
    with pytest.raises(InputError, match="for 301 parameters"):
        made.project(np.zeros(300))
    with pytest.raises(InputError, match="diverged"):
        GradientCanaryScores(made, KNOWN).add(np.full(301, np.nan))
    with pytest.raises(InputError, match="No step"):
        GradientCanaryScores(made, KNOWN).columns()
    with pytest.raises(InputError, match="kind of gradient canary"):
        replace(made, strategy="two-hot")
