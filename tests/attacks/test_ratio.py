from __future__ import annotations

import numpy as np
import pytest
from planted import classes

from divulge.attacks import difficulty
from divulge.attacks.base import Observed
from divulge.attacks.ratio import ATTACK


def test_ratio_is_over_the_mean_probability():
    seen = Observed(
        classes([0.9, 0.1]), labels=np.array([0]),
        references=(classes([0.3, 0.7]), classes([0.6, 0.4])),
    )  # fmt: skip
    assert ATTACK(seen) == pytest.approx([np.log(0.9 / 0.45)])


def test_with_one_reference_it_is_difficulty_calibration(rng):
    target, reference = (rng.dirichlet([1.0, 1.0], size=6).tolist() for _ in range(2))
    labels = rng.integers(2, size=6)
    seen = Observed(classes(*target), labels=labels, references=(classes(*reference),))
    assert ATTACK(seen) == pytest.approx(difficulty.ATTACK(seen))
