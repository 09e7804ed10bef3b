"""The error-token attack: by hand, at its edges, and on tiny language models."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.attacks import error_tokens
from divulge.attacks.base import Observed
from divulge.errors import InputError
from divulge.models.base import Answers

NAN = np.nan


def score(target, best, *references) -> np.ndarray:
    observed = Observed(
        Answers(tokens=np.array(target), best=np.array(best)),
        references=tuple(Answers(tokens=np.array(r)) for r in references),
    )
    return error_tokens.ATTACK(observed)


def test_only_tokens_that_the_target_gets_wrong_count():
    # Shifts +1, -1, +8 (right, not counted), +2; the second text ends after two tokens.
    target = [[-1.0, -2.0, -0.1, -4.0], [-3.0, -1.0, NAN, NAN]]
    best = [[-0.5, -0.5, -0.1, -0.2], [-0.1, -0.1, NAN, NAN]]
    reference = [[-2.0, -1.0, -8.1, -6.0], [-2.0, -4.0, NAN, NAN]]
    assert score(target, best, reference) == pytest.approx([3.0 / 4.0, 3.0 / 4.0])
    other = [[-2.0, -5.0, -8.1, -6.0], [-2.0, -4.0, NAN, NAN]]
    # The mean of both references at the second token is -3: a rise of 1.
    assert score(target, best, reference, other)[0] == pytest.approx(1.0)


def test_it_orders_texts_as_the_ratio_of_the_paper(rng):
    shifts = rng.normal(size=(50, 20))
    wrong = rng.random(shifts.shape) < 0.6
    up = np.where(wrong, np.maximum(shifts, 0.0), 0.0).sum(axis=1)
    down = np.where(wrong, np.maximum(-shifts, 0.0), 0.0).sum(axis=1)
    found = error_tokens.upward_share(shifts, wrong)
    assert np.array_equal(np.argsort(found), np.argsort(up / down))


def test_edges():
    wrong = np.array([[True, True], [False, False], [True, True], [True, False]])
    shifts = np.array([[1.0, 2.0], [-1.0, -2.0], [0.0, 0.0], [-1.0, 5.0]])
    # Nothing falls, no error at all, nothing moves, only falls.
    assert error_tokens.upward_share(shifts, wrong).tolist() == [1.0, 1.0, 0.5, 0.0]


def test_other_tokens_are_an_error():
    with pytest.raises(InputError, match="cut the texts into the same tokens"):
        score([[-1.0, -1.0]], [[-0.5, -0.5]], [[-1.0, NAN]])
    with pytest.raises(InputError, match="cut the texts into the same tokens"):
        score([[-1.0, -1.0]], [[-0.5, -0.5]], [[-1.0, -1.0, -1.0]])
    assert score([[-1.0, NAN]], [[-0.5, NAN]], [[-2.0]]) == pytest.approx([1.0])  # less padding
