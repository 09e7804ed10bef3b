"""Helpers of every kind learn the task, are told apart by their seeds, and are kept."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.errors import InputError
from divulge.shift.helper_losses import Lesson, table_lessons, taught
from divulge.work import SERIAL
from divulge.work.pieces import Pieces

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int).tolist()
FIRST = np.arange(200)


@pytest.mark.parametrize("learner", ["auto", "boosting", "forest", "network"])
def test_they_learn_the_task(learner):
    lessons = table_lessons(None, X, Y, learner)
    loss = lessons.losses(FIRST, 1)
    assert loss.shape == (400,)
    assert loss[200:].mean() < lessons.ignorance == pytest.approx(0.693, abs=0.01)
    assert not np.array_equal(loss, lessons.losses(FIRST, 2))
    np.testing.assert_array_equal(loss, lessons.losses(FIRST, 1))


def test_numbers_are_predicted_too():
    lessons = table_lessons(None, X, (X[:, 0] + 0.1 * X[:, 2]).tolist(), "forest")
    assert not lessons.classes
    assert lessons.losses(FIRST, 0)[200:].mean() < lessons.ignorance
    with pytest.raises(InputError, match="is a number"):
        table_lessons(None, X, X[:, 0].tolist(), "network")


def test_a_class_that_no_lesson_shows_is_improbable_not_an_error():
    label = ["a", "b"] * 199 + ["c", "c"]
    loss = table_lessons(None, X, label, "boosting").losses(FIRST, 0)
    assert loss[-1] == loss.max()
    assert np.isfinite(loss).all()


def test_one_class_teaches_nothing():
    label = [0] * 200 + [1] * 200
    with pytest.raises(InputError, match="same label"):
        table_lessons(None, X, label, "boosting").losses(FIRST, 0)


def test_finished_helpers_are_found_again(tmp_path, monkeypatch):
    lessons = table_lessons(None, X, Y, "forest")
    every = [Lesson(FIRST, seed) for seed in (1, 2)]
    pieces = Pieces(tmp_path)
    first = taught(lessons, every, engine=SERIAL, pieces=pieces)

    def refuse(*_):
        raise AssertionError("taught again")

    monkeypatch.setattr(type(lessons), "losses", refuse)
    again = taught(lessons, every, engine=SERIAL, pieces=pieces)
    np.testing.assert_array_equal(first, again)
    with pytest.raises(AssertionError, match="taught again"):
        taught(lessons, [Lesson(FIRST[1:], 1)], engine=SERIAL, pieces=pieces)
