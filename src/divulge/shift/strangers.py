"""What of a target's evidence could be knowledge: it speaks of strangers just so.

A target that learned no value of its training records speaks of them as of records that it never
saw. So among training records of which it speaks with a certain force, the share that it would
speak of so without their values is at most ``r``: how often it does among held-out records, over
how often among training records. Of this share nothing is assumed. The target may know another
population than that of the held-out records, in any form, also one that no learner finds; then
its word is right, and the prior wrong. So a hypothesis that gives a value the probability u is made
to give it ``(1 - r) u + r``: a mixture with a share r that is won for certain. With ``r = 1``
nothing is staked; if the target speaks of strangers with little force next to nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.stats import beta

from divulge.types import Array

ERROR = 0.05
"""The shares are upper limits that hold together but for this probability."""
BINS = 5
_CERTAIN = 1.0 - 1e-9


@dataclass(frozen=True)
class Strangers:
    """The largest share of knowledge among the training records, by the force of the evidence."""

    edges: Array = field(repr=False)
    shares: Array
    """One more than edges."""

    def share(self, evidence: Array) -> Array:
        """Per row of evidence (a column per value)."""
        return np.asarray(self.shares[np.searchsorted(self.edges, _force(evidence), "right")])


def compare(training: Array, beyond: Array) -> Strangers:
    """From what is staked on training and on held-out records; no value of theirs is read.

    Bins hold equal numbers of training records; each limit is that of Clopper and Pearson.
    """
    inside, outside = _force(training), _force(beyond)
    edges = np.unique(np.quantile(inside, np.arange(1, BINS) / BINS))
    many = np.bincount(np.searchsorted(edges, inside, "right"), minlength=edges.size + 1)
    seen = np.bincount(np.searchsorted(edges, outside, "right"), minlength=edges.size + 1)
    most = beta.ppf(1.0 - ERROR / many.size, seen + 1.0, np.maximum(outside.size - seen, 1e-9))
    share = most * inside.size / np.maximum(many, 1)
    return Strangers(edges, np.asarray(np.minimum(share, 1.0)))


def unexplained(evidence: Array, log_odds: Array, share: Array) -> tuple[Array, Array]:
    """Evidence and prior with which to bet, if a share of the records may be known.

    ``(1 - r) sigma(l) + r = sigma(l')`` with ``e^l' = (e^l + r) / (1 - r)``. Then
    ``(1 - r) sigma(l + epsilon) + r <= sigma(l' + epsilon)`` for every epsilon, so that a bet
    against l' is valid; against a value likewise, with both signs turned.
    """
    r = np.minimum(share, _CERTAIN)[:, None]
    side = np.sign(evidence)
    prior = side * np.log((np.exp(side * log_odds) + r) / (1.0 - r))
    prior = np.where(side == 0.0, log_odds, prior)
    left = side * np.maximum(side * (log_odds + evidence - prior), 0.0)
    return left, prior


def _force(evidence: Array) -> Array:
    return np.asarray(np.abs(evidence).max(axis=1, initial=0.0))
