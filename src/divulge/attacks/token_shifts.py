"""How far training moved every token of a text: its log-probability under target and references."""

from __future__ import annotations

import numpy as np

from divulge.attacks.base import Observed
from divulge.errors import require
from divulge.types import Array


def token_shifts(observed: Observed) -> Array:
    """Log-probability of each token under the target, less the mean over the references.

    NaN beyond the end of a text. All models must cut a text into the same tokens.
    """
    own = observed.target.tokens
    assert own is not None
    there = np.isfinite(own)
    total = np.zeros(own.shape)
    for answers in observed.references:
        tokens = answers.tokens
        require(tokens is not None, "The reference models must give token log-probabilities.")
        assert tokens is not None
        wide = np.full(own.shape, np.nan)
        width = min(own.shape[1], tokens.shape[1])
        wide[:, :width] = tokens[:, :width]
        same = np.array_equal(np.isfinite(wide), there) and not np.isfinite(tokens[:, width:]).any()
        require(
            same,
            "This attack compares models token by token: target and references must cut the texts "
            "into the same tokens.",
        )
        total += wide
    return np.asarray(own - total / len(observed.references))
