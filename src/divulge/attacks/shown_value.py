"""Scores of a value shown with a record: larger speaks for the true value.

Both compare what the target says of the value with what it was expected to say: the proxy's
probability as published, or the student's where the proxy is corrected.
"""

from __future__ import annotations

import numpy as np

from divulge.errors import require
from divulge.types import Array

LIKELIHOOD_RATIO = "llr"
PUBLISHED = "published"
SCORES = (LIKELIHOOD_RATIO, PUBLISHED)


def log_likelihood_ratio(log_target: Array, log_expected: Array) -> Array:
    """``log M(x)[y] - log M'(x)[y]``: the estimated privacy loss itself."""
    return log_target - log_expected


def weighted_difference(
    log_target: Array, log_expected: Array, log_proxy: Array, power: float = 2.0
) -> Array:
    """``(M(x)[y] - M'(x)[y]) (1 - M'(x)[y])^t``: Observational auditing, section 6.2."""
    require(power >= 0.0, f"The power t must be at least 0. Found {power!r}.")
    difference = np.exp(log_target) - np.exp(log_expected)
    return np.asarray(difference * (-np.expm1(log_proxy)) ** power)


def value_score(
    name: str, log_target: Array, log_expected: Array, log_proxy: Array, power: float = 2.0
) -> Array:
    """The named score for every record and value."""
    require(name in SCORES, f"Unknown score {name!r}. Choose from {', '.join(SCORES)}.")
    if name == PUBLISHED:
        return weighted_difference(log_target, log_expected, log_proxy, power)
    return log_likelihood_ratio(log_target, log_expected)
