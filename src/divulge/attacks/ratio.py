"""Likelihood ratio against reference models: ``log p(x | target) - log mean_k p(x | reference_k)``.

The likelihood-ratio test of Ye et al. (2022) with ``p(x)`` as the mean probability under models
that never saw x, as Zarifzadeh et al. (2024) estimate it. With one reference it is difficulty
calibration; with several, the mean is over probabilities and not over losses. A language model's
probability is per token. Larger speaks for membership.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from divulge.attacks.base import Attack, Observed, losses
from divulge.types import Array


def reference_log_probability(observed: Observed) -> Array:
    """Logarithm of the mean probability of every record under the reference models."""
    logs = [-losses(answers, observed.labels) for answers in observed.references]
    return np.asarray(logsumexp(logs, axis=0)) - float(np.log(len(logs)))


def _score(observed: Observed) -> Array:
    return -losses(observed.target, observed.labels) - reference_log_probability(observed)


ATTACK = Attack(
    name="ratio",
    title="likelihood ratio against the references",
    paper="Ye et al. 2022, attack R; Zarifzadeh et al. 2024",
    lower_is_member=False,
    needs=("losses", "reference"),
    score=_score,
)
