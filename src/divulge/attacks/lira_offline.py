"""LiRA, offline (Carlini et al., 2022): one normal per record, from shadow models without it.

The score is the target's signal in standard units of the shadow models that did not train on the
record; its normal tail probability is the paper's score, and orders records alike. Deviations as in
the online attack. Larger speaks for membership.
"""

from __future__ import annotations

import numpy as np

from divulge.attacks import parametric
from divulge.attacks.base import Attack, Mask, Observed
from divulge.attacks.lira_online import ENOUGH, signals
from divulge.types import Array

_LEAST = 1e-12


def offline_lira(own: Array, shadows: Array, outside: Mask, *, per_record: bool) -> Array:
    """Standard score of ``own`` among the shadow models (columns) that did not see the record."""
    mean, sd = parametric.moments(shadows, outside, per_record=per_record)
    return np.asarray((own - mean) / np.maximum(sd, _LEAST))


def _score(observed: Observed) -> Array:
    own, shadows, inside = signals(observed)
    return offline_lira(own, shadows, ~inside, per_record=shadows.shape[1] >= ENOUGH)


ATTACK = Attack(
    name="lira_offline",
    title="LiRA, offline: shadow models without the record",
    paper="Carlini et al. 2022, offline attack",
    lower_is_member=False,
    needs=("losses", "shadows out"),
    score=_score,
    pooled=True,
)
