from __future__ import annotations

import numpy as np
import pytest
from planted import classes

from divulge.attacks.base import Observed
from divulge.attacks.confidence import ATTACK


def test_confidence_is_the_largest_probability_whatever_the_label():
    said = classes([0.7, 0.2, 0.1], [0.1, 0.3, 0.6])
    for labels in (None, np.array([2, 0])):
        assert np.exp(ATTACK(Observed(said, labels=labels))) == pytest.approx([0.7, 0.6])


def test_confidence_does_not_depend_on_the_order_of_the_classes():
    said, turned = classes([0.5, 0.4, 0.1]), classes([0.1, 0.5, 0.4])
    assert ATTACK(Observed(said)) == ATTACK(Observed(turned))
