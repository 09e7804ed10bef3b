from __future__ import annotations

import numpy as np
import pytest
from planted import classes

from divulge.attacks.base import Observed, label_log_probabilities
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


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_label_is_found_in_its_own_row(order):
    rng = np.random.default_rng(0)
    logs, labels = np.asarray(rng.normal(size=(50, 4)), order=order), rng.integers(0, 4, 50)
    found = label_log_probabilities(Answers(log_probabilities=logs), labels)
    np.testing.assert_array_equal(
        found, [row[label] for row, label in zip(logs, labels, strict=True)]
    )


@pytest.mark.parametrize("label", [-1, 2])
def test_a_label_that_is_no_column_is_refused(label):
    with pytest.raises(InputError, match="a column of the probabilities, 0 to 1"):
        ATTACK(Observed(classes([0.7, 0.3], [0.2, 0.8]), labels=np.array([label, 0])))
