"""The entropy of the target's prediction (Salem et al., 2019; Song and Mittal, 2021).

Needs probabilities and no label: a sure but wrong answer counts as a member's. Smaller speaks for
membership.
"""

from __future__ import annotations

import numpy as np

from divulge.attacks.base import Attack, Observed
from divulge.types import Array


def entropy(observed: Observed) -> Array:
    """``- sum_i p_i log p_i`` of every record."""
    logs = observed.target.log_probabilities
    assert logs is not None
    return np.asarray(-np.sum(np.exp(logs) * logs, axis=1))


ATTACK = Attack(
    name="entropy",
    title="entropy of the prediction",
    paper="Song and Mittal 2021, prediction entropy",
    lower_is_member=True,
    needs=("probabilities",),
    score=entropy,
)
