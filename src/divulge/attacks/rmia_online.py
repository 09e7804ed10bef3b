"""RMIA, online (Zarifzadeh, Liu and Shokri, 2024): shadow models with and without the record.

As offline, but ``p(x)`` is the mean of two means: over the shadow models that trained on x and over
those that did not. A population record that no shadow model trained on has the offline ``p(x)``.
Larger speaks for membership.
"""

from __future__ import annotations

import numpy as np

from divulge.attacks.base import Attack, Mask, Observed, losses
from divulge.attacks.rmia import FINEST, SLOPE, dominated, half_way
from divulge.errors import require
from divulge.types import Array


def evidence(shadows: Array, inside: Mask, slope: float = SLOPE) -> Array:
    """``log p(x)`` from log-probabilities under shadow models (columns) and who trained on x."""
    outside = ~inside
    require(bool(outside.any(axis=1).all()), "Every record needs a shadow model that never saw it.")
    probabilities = np.exp(shadows)
    without = np.mean(probabilities, axis=1, where=outside)
    seen = inside.any(axis=1)
    out = half_way(np.log(without), slope)
    within = np.mean(probabilities[seen], axis=1, where=inside[seen])
    out[seen] = np.log(0.5 * (within + without[seen]))
    return out


def log_ratio(observed: Observed) -> Array:
    """``log p(x | target) - log p(x)`` of every record."""
    own = -losses(observed.target, observed.labels)
    found = np.column_stack([-losses(a, observed.labels) for a in observed.shadows])
    inside = observed.inside
    return own - evidence(found, np.zeros(found.shape, dtype=bool) if inside is None else inside)


def _score(observed: Observed) -> Array:
    others = observed.population
    assert others is not None
    require(
        len(others.shadows) == len(observed.shadows) and others.has("losses"),
        "RMIA needs the answers of the target and of every shadow model to the population.",
    )
    return dominated(log_ratio(observed), log_ratio(others), FINEST)


ATTACK = Attack(
    name="rmia",
    title="RMIA, online: shadow models with and without the record",
    paper="Zarifzadeh et al. 2024, online attack",
    lower_is_member=False,
    needs=("probabilities", "label", "population", "shadows out", "shadows in"),
    score=_score,
)
