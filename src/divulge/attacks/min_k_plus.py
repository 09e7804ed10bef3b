"""Min-K%++ (Zhang et al., 2025): Min-K% of log-probabilities standardised place by place.

Each token's log-probability is compared with that of a token drawn from the model at its place:
less its mean, over its standard deviation. Needs the whole distribution at every place. Smaller
speaks for membership; the paper states the opposite sign.
"""

from __future__ import annotations

import numpy as np

from divulge.attacks.base import Attack, Observed
from divulge.attacks.tokens import min_k
from divulge.types import Array

_LEAST = 1e-9
"""Standard deviation of a place at which the model is certain."""


def standardised(tokens: Array, means: Array, deviations: Array) -> Array:
    """Log-probabilities in standard units of their place; NaN stays NaN."""
    return np.asarray((tokens - means) / np.maximum(deviations, _LEAST))


def _score(observed: Observed) -> Array:
    target = observed.target
    assert target.tokens is not None
    assert target.means is not None
    assert target.deviations is not None
    return min_k(standardised(target.tokens, target.means, target.deviations))


ATTACK = Attack(
    name="min_k_plus",
    title="Min-K% of standardised log-probabilities (Min-K%++)",
    paper="Zhang et al. 2025, Min-K%++",
    lower_is_member=True,
    needs=("tokens", "vocabulary"),
    score=_score,
)
