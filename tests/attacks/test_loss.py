from __future__ import annotations

import numpy as np
import pytest
from planted import classes

from divulge.attacks.base import Observed
from divulge.attacks.loss import ATTACK
from divulge.errors import InputError
from divulge.models.base import Answers


def test_loss_is_that_of_the_label_the_mean_token_or_as_given():
    said = classes([0.7, 0.3], [0.2, 0.8])
    assert ATTACK(Observed(said, labels=np.array([0, 0]))) == pytest.approx(-np.log([0.7, 0.2]))
    padded = Answers(tokens=np.array([[-1.0, -3.0, np.nan], [-2.0, np.nan, np.nan]]))
    assert ATTACK(Observed(padded)) == pytest.approx([2.0, 2.0])
    assert ATTACK(Observed(Answers(losses=np.array([4.0, 1.0])))) == pytest.approx([4.0, 1.0])


def test_probabilities_without_a_label_are_no_loss():
    with pytest.raises(InputError, match="'loss' also needs: the model's loss"):
        ATTACK(Observed(classes([0.7, 0.3])))
