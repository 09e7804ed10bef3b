from __future__ import annotations

import numpy as np
import pytest
from planted import classes
from scipy.stats import entropy

from divulge.attacks.base import Observed
from divulge.attacks.entropy import ATTACK
from divulge.models.base import Answers, logarithms


def test_entropy_is_scipys(rng):
    p = rng.dirichlet([0.5, 1.0, 2.0], size=20)
    assert ATTACK(Observed(classes(*p.tolist()))) == pytest.approx(entropy(p, axis=1))


def test_entropy_of_certainty_is_zero_and_of_ignorance_log_of_the_classes():
    said = Answers(log_probabilities=logarithms([[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]], "m"))
    assert ATTACK(Observed(said)) == pytest.approx([0.0, np.log(3)])
