"""Entropy that knows the label (Song and Mittal, 2021): sure and wrong is largest.

``- (1 - p_y) log p_y - sum over i != y of p_i log(1 - p_i)``. Needs probabilities and the label.
Smaller speaks for membership.
"""

from __future__ import annotations

import numpy as np

from divulge.attacks.base import Attack, Observed, label_log_probabilities
from divulge.models.base import SMALLEST
from divulge.types import Array


def modified_entropy(observed: Observed) -> Array:
    """The modified entropy of every record."""
    logs, labels = observed.target.log_probabilities, observed.labels
    assert logs is not None
    assert labels is not None
    own = label_log_probabilities(observed.target, labels)
    complement = -np.expm1(logs)  # 1 - p
    terms = np.exp(logs) * np.log(np.maximum(complement, SMALLEST))
    terms[np.arange(labels.size), labels] = -np.expm1(own) * own
    return np.asarray(-terms.sum(axis=1))


ATTACK = Attack(
    name="modified_entropy",
    title="entropy that knows the label",
    paper="Song and Mittal 2021, modified entropy",
    lower_is_member=True,
    needs=("probabilities", "label"),
    score=modified_entropy,
)
