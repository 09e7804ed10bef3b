"""LiRA, online (Carlini et al., 2022): two normals per record, from shadow models with and without.

The score is the log-likelihood ratio of the target's signal (the logit of the true label, or minus
the loss of a model without classes) under the normals fitted to the shadow models that trained on
the record and to those that did not. With fewer than 64 shadow models every record has the same
deviation on each side, as the paper advises; it is pooled about the records' own means. One query
per record: no augmentations. Larger speaks for membership.
"""

from __future__ import annotations

import numpy as np

from divulge.attacks import parametric
from divulge.attacks.base import Attack, Mask, Observed
from divulge.attacks.logit_gap import signal
from divulge.types import Array

ENOUGH = 64
"""Shadow models from which on every record has deviations of its own."""


def online_lira(own: Array, shadows: Array, inside: Mask, *, per_record: bool) -> Array:
    """Log-likelihood ratio of ``own``, given signals of shadow models (columns) and their sets."""
    mean0, sd0 = parametric.moments(shadows, ~inside, per_record=per_record)
    mean1, sd1 = parametric.moments(shadows, inside, per_record=per_record)
    return parametric.log_ratio(own, mean0, sd0, mean1, sd1)


def signals(observed: Observed) -> tuple[Array, Array, Mask]:
    """The target's signal, the shadow models' (one column each), and who trained on the record."""
    assert observed.inside is not None
    found = [signal(answers, observed.labels) for answers in observed.shadows]
    return signal(observed.target, observed.labels), np.column_stack(found), observed.inside


def _score(observed: Observed) -> Array:
    own, shadows, inside = signals(observed)
    return online_lira(own, shadows, inside, per_record=shadows.shape[1] >= ENOUGH)


ATTACK = Attack(
    name="lira",
    title="LiRA, online: shadow models with and without the record",
    paper="Carlini et al. 2022, Algorithm 1",
    lower_is_member=False,
    needs=("losses", "shadows out", "shadows in"),
    score=_score,
    pooled=True,
)
