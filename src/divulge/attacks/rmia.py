"""RMIA with one reference model, offline (Zarifzadeh, Liu and Shokri, 2024).

A record's ratio ``p(x | target) / p(x)`` is compared with those of population records: the score is
the share of them that it dominates by a factor gamma. Offline, the reference never trained on x, so
``p(x)`` is moved half-way between the reference and certainty by the slope ``a``. Needs the
probabilities of the true label under both models, for the records and for a population sample that
neither trained on. Larger speaks for membership.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from divulge.errors import require

Array = npt.NDArray[np.float64]

SLOPE, GAMMA = 0.3, 2.0


def offline_rmia(
    log_target: Array,
    log_reference: Array,
    population_target: Array,
    population_reference: Array,
    *,
    slope: float = SLOPE,
    gamma: float = GAMMA,
) -> Array:
    """Share of the population records whose ratio is below the record's by the factor gamma."""
    require(0.0 <= slope <= 1.0, f"The slope must lie in [0, 1]. Found {slope!r}.")
    require(gamma >= 1.0, f"gamma must be at least 1. Found {gamma!r}.")
    require(population_target.size > 0, "The population sample is empty.")
    own = _log_ratio(log_target, log_reference, slope)
    others = np.sort(_log_ratio(population_target, population_reference, slope))
    below = np.searchsorted(others, own - np.log(gamma), side="right")
    return np.asarray(below / others.size, dtype=float)


def _log_ratio(log_target: Array, log_reference: Array, slope: float) -> Array:
    without = 0.5 * ((1.0 + slope) * np.exp(log_reference) + (1.0 - slope))
    return np.asarray(log_target - np.log(without))
