"""Balancing: thin the trials until the record alone gives nothing away.

Keep trial i with probability ``min(1, e^{-S_i l_i})``, before any model is asked. Given the
records, the kept truths are independent fair coins, and the model depends on them only as it did
before: the kept trials are a game without shift, to which every bound for fair coins applies.
"""

from __future__ import annotations

import numpy as np

from divulge.errors import CannotConclude
from divulge.trials import Trials
from divulge.types import Array


def keep_probabilities(truth: Array, log_odds: Array) -> Array:
    """``min(1, e^{-S l})`` per trial."""
    return np.exp(-np.maximum(0.0, truth * log_odds))


def balance(trials: Trials, rng: np.random.Generator) -> Trials:
    """The kept trials, with prior log-odds 0; CannotConclude if none is kept."""
    keep = rng.random(len(trials)) < keep_probabilities(trials.truth, trials.prior)
    if not keep.any():
        raise CannotConclude("Balancing left no trials: the records alone reveal the truths.")
    return Trials(trials.score[keep], trials.truth[keep], np.zeros(int(keep.sum())))
