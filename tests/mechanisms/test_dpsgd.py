"""DP-SGD in numpy does what it says: gradients, batches, noise, guarantee."""

from __future__ import annotations

import math

import numpy as np
import pytest

from divulge.errors import InputError
from divulge.mechanisms import DPSGD


@pytest.fixture
def task(rng):
    x = rng.normal(size=(60, 4))
    return x, rng.integers(0, 3, 60)


def test_gradients_are_those_of_the_loss(task, rng):
    x, y = task
    run = DPSGD(1.0, 0.5, 1, 60, classes=3, clip=1e9)
    theta = rng.normal(size=15)
    gradients = run.gradients(theta, x, y)
    step = 1e-6
    for j in range(theta.size):
        e = np.zeros(15)
        e[j] = step
        slope = (run.losses(theta + e, x, y) - run.losses(theta - e, x, y)) / (2 * step)
        assert np.allclose(gradients[:, j], slope, atol=1e-6)


def test_gradients_are_clipped(task, rng):
    x, y = task
    free = DPSGD(1.0, 0.5, 1, 60, classes=3, clip=1e9)
    tight = DPSGD(1.0, 0.5, 1, 60, classes=3, clip=0.7)
    theta = rng.normal(size=15)
    length = np.linalg.norm(free.gradients(theta, x, y), axis=1)
    clipped = np.linalg.norm(tight.gradients(theta, x, y), axis=1)
    assert (length > 0.7).any()
    assert np.allclose(clipped, np.minimum(length, 0.7))


def test_an_update_has_the_mean_and_the_variance_it_should(task, rng):
    x, y = task
    run = DPSGD(2.0, 0.3, 1, 100, classes=3, clip=0.5, learning_rate=0.2)
    g = run.gradients(run.start(4), x, y)
    updates = []
    for _ in range(4000):
        ((before, after),) = run.train(x, y, rng)
        updates.append((before - after) / run.learning_rate)
    seen = np.array(updates)
    mean = 0.3 * g.sum(axis=0) / 30.0
    variance = (0.3 * 0.7 * (g**2).sum(axis=0) + (2.0 * 0.5) ** 2) / 30.0**2
    assert np.all(np.abs(seen.mean(axis=0) - mean) < 4.5 * np.sqrt(variance / 4000))
    assert np.allclose(seen.var(axis=0), variance, rtol=0.12)


def test_it_learns(rng):
    x = rng.normal(size=(500, 2))
    y = (x[:, 0] > 0).astype(int)
    run = DPSGD(0.5, 0.2, 60, 500, learning_rate=2.0)
    *_, (_, theta) = run.train(x, y, rng)
    assert run.losses(theta, x, y).mean() < 0.5 * math.log(2)


def test_the_guarantee():
    full = DPSGD(3.0, 1.0, 9, 100)
    assert full.curve.mu() == pytest.approx(1.0)
    assert full.epsilon(1e-5) == pytest.approx(4.3770, abs=1e-3)
    pytest.importorskip("dp_accounting", reason="the guarantee of sub-sampling needs dp-accounting")
    sampled = DPSGD(3.0, 0.1, 9, 100)
    assert 0.0 < sampled.epsilon(1e-5) < full.epsilon(1e-5) / 4
    assert sampled.epsilon(1e-5) == pytest.approx(sampled.curve.epsilon(1e-5), rel=0.05)


@pytest.mark.parametrize("bad", [{"rate": 0.0}, {"rate": 1.5}, {"noise_multiplier": 0.0},
                                 {"steps": 0}, {"clip": -1.0}, {"classes": 1}])  # fmt: skip
def test_bad_settings_are_said(bad):
    good = {"noise_multiplier": 1.0, "rate": 0.5, "steps": 3, "records": 10}
    with pytest.raises(InputError, match=next(iter(bad))):
        DPSGD(**{**good, **bad})
