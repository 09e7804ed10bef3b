"""White-box scores: the formula, what it proves, and when it must prove nothing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from divulge.attacks.gradient import (
    GradientSteps,
    Recorder,
    Scores,
    clipped,
    exposure_of_gradients,
    known_step_scores,
    mixture,
    step_scores,
)
from divulge.errors import InputError
from divulge.exposure.selection import most_exposed
from divulge.games.canaries.play import audit_trials
from divulge.mechanisms import DPSGD
from divulge.selftest.canaries import WhiteBox, white_box
from divulge.selftest.readings import by_name

KNOWN = GradientSteps(rate=0.5, batch=40.0, clip=1.0, noise_multiplier=2.0)


def test_the_score_of_a_step_is_the_printed_formula_with_the_noise_in_it(rng):
    g, others, u = rng.normal(size=(7, 5)), rng.normal(size=(90, 5)), rng.normal(size=5)
    found = step_scores(g, others, u, KNOWN, kind="empirical")
    inverse = np.linalg.inv(np.cov(others, rowvar=False) + 4.0 / 40.0 * np.eye(5))
    mean = others.mean(axis=0)
    for i in range(7):
        c = g[i] - mean
        v = c @ inverse @ (u - mean) - c @ inverse @ c / (2 * 40.0)
        assert found[i] == pytest.approx(v)


@pytest.mark.parametrize("dimension", [5, 200])  # one matrix, and a factor of low rank
def test_with_known_records_the_score_is_the_likelihood_ratio(rng, dimension):
    """The densities of the update, with and without the canary, written out."""
    from scipy.stats import multivariate_normal

    g, rest, u = (rng.normal(size=s) / 9 for s in ((4, dimension), (60, dimension), dimension))
    found = known_step_scores(g, rest, u, KNOWN)
    q, batch = 0.5, 40.0
    spread = q * (1 - q) * rest.T @ rest + q / 2 * (1 - q / 2) * g.T @ g + 4.0 * np.eye(dimension)
    for i in range(4):
        out = q * rest.sum(axis=0) + q / 2 * np.delete(g, i, axis=0).sum(axis=0)
        law = [multivariate_normal(m / batch, spread / batch**2) for m in (out, out + g[i])]
        assert found[i] == pytest.approx(law[1].logpdf(u) - law[0].logpdf(u), abs=1e-8)


def test_the_mixture_is_stable():
    v = np.array([-800.0, -1.0, 0.0, 3.0, 800.0])
    assert np.allclose(mixture(v, 0.2)[1:4], np.log(0.8 + 0.2 * np.exp(v[1:4])))
    assert mixture(v, 0.2)[0] == pytest.approx(np.log(0.8))
    assert mixture(v, 0.2)[4] == pytest.approx(800.0 + np.log(0.2))
    assert np.array_equal(mixture(v, 1.0), v)


def test_steps_are_combined_by_maximum_and_by_mixture(rng):
    scores = Scores(KNOWN)
    steps = [
        scores.add(rng.normal(size=(6, 3)), rng.normal(size=(30, 3)), rng.normal(size=3))
        for _ in range(4)
    ]
    columns = scores.columns()
    assert np.allclose(columns["white_box_max"], np.max(steps, axis=0))
    assert np.allclose(columns["white_box"], sum(mixture(v, 0.5) for v in steps))
    with pytest.raises(InputError, match="same 6 canaries"):
        scores.add(rng.normal(size=(5, 3)), rng.normal(size=(30, 3)), rng.normal(size=3))


def test_a_run_without_noise_and_with_dead_parameters_is_scored(rng):
    quiet = GradientSteps(0.5, 10.0, 1.0, 0.0)
    g, others = rng.normal(size=(5, 4)), rng.normal(size=(50, 4))
    g[:, 2] = others[:, 2] = 0.0
    assert np.isfinite(step_scores(g, others, rng.normal(size=4) * [1, 1, 0, 1], quiet)).all()


def test_clipping(rng):
    g = rng.normal(size=(20, 6)) * rng.uniform(0.01, 3.0, size=(20, 1))
    short = clipped(g, 1.0)
    length = np.linalg.norm(g, axis=1)
    assert np.allclose(np.linalg.norm(short, axis=1), np.minimum(1.0, length))
    assert np.allclose(short[length < 1.0], g[length < 1.0])
    assert not clipped(np.zeros((1, 3)), 1.0).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g, r, u: (g[:, :2], r, u), "same parameters"),
        (lambda g, r, u: (g, r, u * np.inf), "diverged"),
        (lambda g, r, u: (np.where(g > 0, np.nan, g), r, u), "canaries record 0 is not finite"),
        (lambda g, r, u: (g[0], r, u), "one row per record"),
    ],
)
def test_bad_gradients_are_said(rng, change, message):
    words = change(np.ones((4, 3)), rng.normal(size=(30, 3)), np.ones(3))
    with pytest.raises(InputError, match=message):
        step_scores(*words, KNOWN)


def test_bad_settings_are_said():
    for bad in ({"rate": 0.0}, {"batch": 0.0}, {"clip": np.inf}, {"noise_multiplier": -1.0}):
        good = {"rate": 0.5, "batch": 4.0, "clip": 1.0, "noise_multiplier": 1.0}
        with pytest.raises(InputError, match=next(iter(bad))):
            GradientSteps(**{**good, **bad})
    with pytest.raises(InputError, match="learning_rate"):
        Recorder(KNOWN, 0.0, lambda t: t, lambda t: t)
    with pytest.raises(InputError, match="No step"):
        Scores(KNOWN).columns()


def run_once(seed: int, *, sigma: float, canaries: int = 150, others: int = 100):
    """A run whose first records are the canaries: truths, black box, white box, its recorder."""
    rng = np.random.default_rng(seed)
    count = canaries + others
    x = rng.normal(size=(count, 60))
    y = (x[:, 0] + rng.normal(size=count) > 0).astype(int)
    truth = np.where(rng.random(canaries) < 0.5, 1.0, -1.0)
    used = np.ones(count, dtype=bool)
    used[:canaries] = truth > 0
    run = DPSGD(sigma, 0.3, 30, canaries // 2 + others, learning_rate=1.0)
    recorder = white_box(run, x, y, canaries)
    thetas = [run.start(60)]
    for before, after in run.train(x[used], y[used], rng):
        recorder.step(before, after)
        thetas.append(after)
    black = -run.losses(thetas[-1], x[:canaries], y[:canaries])
    return truth, black, recorder, thetas, run, (x, y)


def test_saved_checkpoints_give_the_same_scores_as_a_recorder():
    _, _, recorder, thetas, run, (x, y) = run_once(0, sigma=1.0)
    again = white_box(run, x, y, 150).checkpoints(thetas)
    assert np.allclose(again["white_box"], recorder.scores.total)
    assert np.allclose(again["white_box_max"], recorder.scores.maximum)


def test_at_low_noise_the_white_box_proves_more_than_the_black_box():
    proven = {"black": 0.0, "white": 0.0}
    for seed in range(3):
        truth, black, recorder, *_ = run_once(seed, sigma=0.4)
        for name, score in (("black", black), ("white", recorder.scores.total)):
            result = audit_trials(score, truth, seed=seed)
            proven[name] += by_name(result.headline())["epsilon", 1e-5] / 3
    assert proven["white"] > 1.0
    assert proven["white"] >= 2.0 * proven["black"]


def test_known_others_and_the_mixture_find_more_than_the_published_form():
    auc = {"published": 0.0, "known": 0.0}
    for seed in range(4):
        truth, _, recorder, thetas, run, (x, y) = run_once(seed, sigma=0.7)
        plug_in = Recorder(
            recorder.training,
            run.learning_rate,
            recorder.canaries,
            lambda theta, run=run, x=x, y=y: run.gradients(theta, x[150:], y[150:]),
        ).checkpoints(thetas)
        auc["published"] += roc_auc_score(truth, plug_in["white_box_max"]) / 4
        auc["known"] += roc_auc_score(truth, recorder.scores.total) / 4
    assert auc["published"] > 0.55
    assert auc["known"] > auc["published"] + 0.05


@pytest.mark.slow
def test_the_proven_epsilon_stays_below_the_guarantee():
    pytest.importorskip("dp_accounting", reason="the guarantee of sub-sampling needs dp-accounting")
    for sigma in (0.7, 2.0):
        truth, _, recorder, _, run, _ = run_once(11, sigma=sigma)
        result = audit_trials(recorder.scores.total, truth)
        assert by_name(result.headline())["epsilon", 1e-5] <= run.epsilon(1e-5)


@pytest.mark.slow
def test_canaries_that_were_never_included_prove_nothing():
    """60 games at an error of 5%: more than 9 false claims would have probability 0.001."""
    run = DPSGD(noise_multiplier=0.5, rate=0.5, steps=4, records=80)
    rng = np.random.default_rng(5)
    false = {("mu", None): 0, ("epsilon", 0.0): 0}
    game = WhiteBox(run, 60, 40, True)
    for _ in range(60):
        claims = game(0.05, rng)
        for name in false:
            false[name] += claims[name] > 0.0
    assert max(false.values()) <= 9


def test_algorithm_6_finds_the_records_whose_gradients_stand_out(rng):
    x = rng.normal(size=(300, 20))
    y = (x[:, 0] > 0).astype(int)
    odd = rng.choice(300, 20, replace=False)
    y[odd] = 1 - y[odd]  # mislabelled: their gradients point the other way
    run = DPSGD(0.5, 0.2, 20, 300, learning_rate=2.0)
    training = GradientSteps(run.rate, run.batch, run.clip, run.noise_multiplier)
    steps = (
        (run.gradients(theta, x, y), run.gradients(theta, x, y))
        for theta, _ in run.train(x, y, rng)
    )
    chosen = most_exposed(exposure_of_gradients(steps, training), 40, rng)
    assert np.isin(odd, chosen).mean() > 0.6
