from __future__ import annotations

import numpy as np
import pytest
from planted import classes

from divulge.attacks.base import Observed
from divulge.attacks.difficulty import ATTACK
from divulge.errors import InputError
from divulge.models.base import Answers


def test_difficulty_is_the_references_mean_loss_less_the_targets():
    seen = Observed(
        classes([0.9, 0.1]), labels=np.array([0]),
        references=(classes([0.3, 0.7]), classes([0.6, 0.4])),
    )  # fmt: skip
    assert ATTACK(seen) == pytest.approx([np.log(0.9) - 0.5 * (np.log(0.3) + np.log(0.6))])


def test_equal_difficulty_on_both_sides_cancels():
    own, other = np.array([1.0, 2.0]), np.array([1.5, 2.5])
    base = ATTACK(Observed(Answers(losses=own), references=(Answers(losses=other),)))
    harder = np.array([10.0, 0.3])
    moved = Observed(Answers(losses=own + harder), references=(Answers(losses=other + harder),))
    assert ATTACK(moved) == pytest.approx(base)


def test_without_a_reference_the_error_names_it():
    with pytest.raises(
        InputError, match=r"'difficulty' also needs: a reference model.*--reference"
    ):
        ATTACK(Observed(Answers(losses=np.zeros(2))))
