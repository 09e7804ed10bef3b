"""The small classifier of images: it learns, stops, repeats itself, and moves images about."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.errors import InputError
from divulge.models.convolution import ImageClassifier, moved, side_of

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")


def crosses(rng, n):
    """Bars that stand or lie, somewhere, in noise."""
    x, y = rng.normal(size=(n, 8, 8)), rng.integers(0, 2, n)
    for i, at in enumerate(rng.integers(0, 8, n)):
        x[i, at if y[i] else slice(None), slice(None) if y[i] else at] += 2.5
    return x.reshape(n, -1), np.array(["lies", "stands"])[1 - y]


def test_it_learns_shapes_and_repeats_itself(rng):
    x, y = crosses(rng, 900)
    one, two = (ImageClassifier(64, seed=3, epochs=12).fit(x[:600], y[:600]) for _ in range(2))
    assert np.mean(one.predict(x[600:]) == y[600:]) > 0.85
    np.testing.assert_array_equal(one.predict_proba(x), two.predict_proba(x))
    np.testing.assert_allclose(one.predict_proba(x).sum(axis=1), 1.0)
    assert len(one.history_) <= 12


def test_columns_beside_the_image_are_used(rng):
    x, truth = rng.normal(size=(400, 65)), rng.integers(0, 2, 400)
    x[:, 64] += 4.0 * truth
    found = ImageClassifier(64).fit(x, truth)
    assert np.mean(found.predict(x) == truth) > 0.9


def test_images_are_moved_whole():
    one = np.zeros((1, 1, 8, 8), np.float32)
    one[0, 0, 4, 4] = 1.0
    shown = torch.from_numpy(np.repeat(one, 200, axis=0))
    assert moved(torch, shown, 0, np.random.default_rng(0)) is shown
    found = moved(torch, shown, 2, np.random.default_rng(0))
    assert found.shape == shown.shape
    assert (found.sum((1, 2, 3)) == 1.0).all()
    rows, columns = (found.amax(d)[:, 0].argmax(1) for d in (3, 2))
    assert set(rows.tolist()) == set(columns.tolist()) == {2, 3, 4, 5, 6}


def test_refusals(rng):
    assert side_of(784) == 28
    with pytest.raises(InputError, match="must be square"):
        side_of(783)
    with pytest.raises(InputError, match="at least 8 pixels"):
        side_of(49)
    with pytest.raises(InputError, match="has not been fitted"):
        ImageClassifier(64).predict_proba(rng.normal(size=(3, 64)))
    with pytest.raises(InputError, match="at least two"):
        ImageClassifier(64).fit(rng.normal(size=(1, 64)), [1])
