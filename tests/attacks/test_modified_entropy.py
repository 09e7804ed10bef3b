from __future__ import annotations

import numpy as np
import pytest
from planted import classes

from divulge.attacks.base import Observed
from divulge.attacks.modified_entropy import ATTACK
from divulge.models.base import Answers, logarithms


def by_the_formula(p: list[float], y: int) -> float:
    own = -(1 - p[y]) * np.log(p[y])
    return own - sum(p[i] * np.log(1 - p[i]) for i in range(len(p)) if i != y)


def test_modified_entropy_by_the_formula(rng):
    p, y = rng.dirichlet([1.0, 1.0, 1.0], size=10).tolist(), rng.integers(3, size=10)
    expected = [by_the_formula(row, int(label)) for row, label in zip(p, y, strict=True)]
    assert ATTACK(Observed(classes(*p), labels=y)) == pytest.approx(expected)


def test_sure_and_right_is_smallest_sure_and_wrong_largest():
    said = Answers(
        log_probabilities=logarithms([[1.0, 0.0], [0.6, 0.4], [0.4, 0.6], [0.0, 1.0]], "m")
    )
    score = ATTACK(Observed(said, labels=np.zeros(4, dtype=int)))
    assert np.isfinite(score).all()
    assert score[0] == pytest.approx(0.0)
    assert (np.diff(score) > 0).all()
