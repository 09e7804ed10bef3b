"""The largest probability that the target gives to any class (Salem et al., 2019, adversary 3).

Needs probabilities and no label: the probability of the true label would order records exactly as
the loss does. Larger speaks for membership.
"""

from __future__ import annotations

import numpy as np

from divulge.attacks.base import Attack, Observed
from divulge.types import Array


def confidence(observed: Observed) -> Array:
    """The largest log-probability of every record."""
    assert observed.target.log_probabilities is not None
    return np.asarray(observed.target.log_probabilities.max(axis=1))


ATTACK = Attack(
    name="confidence",
    title="largest log-probability of any class",
    paper="Salem et al. 2019, adversary 3",
    lower_is_member=False,
    needs=("probabilities",),
    score=confidence,
)
