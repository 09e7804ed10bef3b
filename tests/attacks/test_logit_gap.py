from __future__ import annotations

import numpy as np
import pytest
from planted import classes
from scipy.special import logit

from divulge.attacks.base import Observed
from divulge.attacks.logit_gap import ATTACK, signal
from divulge.models.base import Answers, log_softmax


def test_the_gap_is_the_logit_of_the_true_label(rng):
    p, y = rng.dirichlet([1.0, 1.0, 1.0], size=10), rng.integers(3, size=10)
    found = ATTACK(Observed(classes(*p.tolist()), labels=y))
    assert found == pytest.approx(logit(p[np.arange(10), y]))


def test_the_gap_stays_exact_where_the_probability_rounds_to_one():
    logits = np.array([[60.0, 0.0, 0.0], [90.0, 0.0, 0.0]])
    found = ATTACK(
        Observed(Answers(log_probabilities=log_softmax(logits)), labels=np.zeros(2, int))
    )
    assert found == pytest.approx([60.0 - np.log(2), 90.0 - np.log(2)])


def test_the_signal_without_classes_is_minus_the_loss():
    assert signal(Answers(losses=np.array([2.0, 3.0])), None) == pytest.approx([-2.0, -3.0])
    tokens = Answers(tokens=np.array([[-1.0, -2.0]]))
    assert signal(tokens, None) == pytest.approx([-1.5])
