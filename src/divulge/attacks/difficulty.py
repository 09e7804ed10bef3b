"""Difficulty calibration (Watson et al., 2022): the loss less that of a reference model.

Needs per-record log-probabilities of the true label under target and reference. Larger speaks for
membership.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def difficulty_calibration(log_target: Array, log_reference: Array) -> Array:
    """Reference loss less target loss."""
    return np.asarray(log_target - log_reference)
