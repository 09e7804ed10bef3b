"""RMIA, offline (Zarifzadeh, Liu and Shokri, 2024): reference models never saw the record.

A record's ratio ``p(x | target) / p(x)`` is compared with those of population records: the score is
the share of them that it dominates by a factor gamma. ``p(x)`` is the mean probability of the true
label over models, half of which trained on x. Offline none did, and the other half is guessed from
their mean: ``a mean + 1 - a``. The slope ``a`` lies in [0, 1]: with 0 a model is certain of what it
trained on, with 1 it is no surer than others; the more the target overfits, the smaller it should
be. The default is 0.3. With one population for all records the share only ranks the ratios: another
gamma reverses no two records, it ties others. The attacks take 1, which spreads those that no model
trained on evenly. Needs the probabilities of the true label under target and references, for the
records and for a population that none trained on. Larger speaks for membership.
"""

from __future__ import annotations

import numpy as np

from divulge.attacks.base import Attack, Observed, losses
from divulge.attacks.ratio import reference_log_probability
from divulge.errors import require
from divulge.types import Array

SLOPE, GAMMA = 0.3, 2.0
FINEST = 1.0
"""The gamma with which records like those of the population score evenly over [0, 1]."""


def offline_rmia(
    log_target: Array,
    log_reference: Array,
    population_target: Array,
    population_reference: Array,
    *,
    slope: float = SLOPE,
    gamma: float = GAMMA,
) -> Array:
    """Share of the population records whose ratio is below the record's by the factor gamma.

    Of several references the logarithm of their mean probability is given.
    """
    require(0.0 <= slope <= 1.0, f"The slope must lie in [0, 1]. Found {slope!r}.")
    return dominated(
        log_target - half_way(log_reference, slope),
        population_target - half_way(population_reference, slope),
        gamma,
    )


def dominated(own: Array, others: Array, gamma: float = GAMMA) -> Array:
    """Share of ``others`` that each of ``own`` exceeds by the factor gamma; both are logarithms."""
    require(gamma >= 1.0, f"gamma must be at least 1. Found {gamma!r}.")
    require(others.size > 0, "The population sample is empty.")
    below = np.searchsorted(np.sort(others), own - np.log(gamma), side="right")
    return np.asarray(below / others.size, dtype=float)


def half_way(log_outside: Array, slope: float = SLOPE) -> Array:
    """``log p(x)`` from the mean probability under models that never saw x."""
    return np.asarray(np.log(0.5 * ((1.0 + slope) * np.exp(log_outside) + (1.0 - slope))))


def _score(observed: Observed) -> Array:
    others = observed.population
    assert others is not None
    require(
        len(others.references) == len(observed.references) and others.has("losses"),
        "RMIA needs the answers of the target and of every reference model to the population.",
    )
    return offline_rmia(
        -losses(observed.target, observed.labels),
        reference_log_probability(observed),
        -losses(others.target, others.labels),
        reference_log_probability(others),
        gamma=FINEST,
    )


ATTACK = Attack(
    name="rmia_offline",
    title="RMIA, offline: references that never saw the record",
    paper="Zarifzadeh et al. 2024, offline attack",
    lower_is_member=False,
    needs=("probabilities", "label", "reference", "population"),
    score=_score,
)
