"""Difficulty calibration (Watson et al., 2022): the loss less that of reference models.

Needs the losses of target and references; of several references the mean loss counts. Larger speaks
for membership.
"""

from __future__ import annotations

import numpy as np

from divulge.attacks.base import Attack, Observed, losses
from divulge.types import Array


def difficulty_calibration(log_target: Array, log_reference: Array) -> Array:
    """Reference loss less target loss."""
    return np.asarray(log_target - log_reference)


def reference_loss(observed: Observed) -> Array:
    """Mean loss of the reference models on every record."""
    found = [losses(answers, observed.labels) for answers in observed.references]
    return np.asarray(np.mean(found, axis=0))


def _score(observed: Observed) -> Array:
    own = losses(observed.target, observed.labels)
    return difficulty_calibration(-own, -reference_loss(observed))


ATTACK = Attack(
    name="difficulty",
    title="mean loss of the references less the target's",
    paper="Watson et al. 2022, calibrated score",
    lower_is_member=False,
    needs=("losses", "reference"),
    score=_score,
)
