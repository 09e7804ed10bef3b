"""What of a target's evidence could be knowledge: it speaks of strangers just so.

A target that learned no value of its training records speaks of them as of records that it never
saw. So among training records of which it speaks with a certain force, the share that it would
speak of so without their values is at most ``r``: how often it does among held-out records, over
how often among training records. Of this share nothing is assumed. The target may know another
population than that of the held-out records, in any form, also one that no learner finds; then its
word is right, and the prior wrong. So the prior is any mixture ``(1 - r) w + r d``, d whatever it
likes: at least ``(1 - r) w``, and at most ``(1 - r) w + r``, value by value. With ``r = 1`` nothing
is staked; if the target speaks of strangers with little force next to nothing is lost.

The share is one of records with similar force, so bins are narrow where the force is large: a few
records that the target knows must not hide among many that it remembers a little. Knowledge and
memory of one record add up, though, and may lift it above all strangers. Hence no finding is
called robust that is smaller than the force with which the target speaks of strangers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.stats import beta

from divulge.shift.value_prior import Edges
from divulge.types import Array
from divulge.work.threads import Sized

PART = 0.2
"""Of the error of an audit: the shares are upper limits that hold together but for this part."""
SHARES = (0.2, 0.4, 0.6, 0.8)
"""Where bins begin, as shares of the training records; the last is halved again and again."""
FEWEST = 20
"""Training records in a bin, at least."""
ROOM = 10.0
"""So many times as many records as a limit allows where no stranger was seen: a bin that is
narrower would be open to strangers only because there are few of them."""
STRONG = 0.99
"""Quantile of the force with which the target speaks of strangers, which a robust finding beats."""
_CERTAIN = 1.0 - 1e-9
_HEAVIEST = 30.0


@dataclass(frozen=True)
class Strangers:
    """The largest share of knowledge among the training records, by the force of the evidence."""

    edges: Array = field(repr=False)
    shares: Array
    """One more than edges."""
    strong: float
    """How strongly the target speaks of strangers."""

    def share(self, force: Array) -> Array:
        """Of each record, by the force of the evidence."""
        return np.asarray(self.shares[np.searchsorted(self.edges, force, "right")])


def compare(inside: Array, outside: Array, error: float, weight: Array | None = None) -> Strangers:
    """From the force of what is staked on training and on held-out records; no value is read.

    Each limit is that of Clopper and Pearson, all together at ``error``. Where held-out records lie
    elsewhere than training records, they have a ``weight`` each (``likeness``), and count as many
    as have the same variance together.
    """
    weight = np.ones(outside.size) if weight is None else weight
    many_outside = float(weight.sum() ** 2 / max(float((weight**2).sum()), 1e-300))
    narrow = max(FEWEST / inside.size, -ROOM * math.log(error) / max(many_outside, 1.0))
    edges = np.unique(np.quantile(inside, _begins(narrow)))
    many = np.bincount(np.searchsorted(edges, inside, "right"), minlength=edges.size + 1)
    weighed = np.bincount(
        np.searchsorted(edges, outside, "right"), weights=weight, minlength=edges.size + 1
    )
    seen = weighed * (many_outside / max(float(weight.sum()), 1e-300))
    left = np.maximum(many_outside - seen, 1e-9)
    most = beta.ppf(1.0 - error / many.size, seen + 1.0, left)
    share = np.minimum(most * inside.size / np.maximum(many, 1), 1.0)
    share[:-1] = np.maximum(share[:-1], share[1:])  # an edge may cut through those that are known
    by_force = np.argsort(outside)
    reached = np.cumsum(weight[by_force]) / max(float(weight.sum()), 1e-300)
    strong = float(outside[by_force[np.searchsorted(reached, STRONG).clip(max=outside.size - 1)]])
    return Strangers(edges, share, strong)


def _begins(narrow: float) -> list[float]:
    """Where bins begin, none of them of a smaller share."""
    out = list(SHARES)
    while 0.5 * (1.0 - out[-1]) >= narrow:
        out.append(0.5 * (1.0 + out[-1]))
    return out


def likeness(inside: Array, outside: Array, rng: np.random.Generator) -> Array:
    """How much more often training records look like each held-out record, by what they show.

    The odds of a training record, from boosting that is fitted on one half of all records and asked
    about the other; 1 for all where it tells nothing. The target plays no part.
    """
    shown = np.concatenate([inside, outside])
    truth = np.repeat([1.0, 0.0], [len(inside), len(outside)])
    if shown.shape[1] == 0:
        return np.ones(len(outside))
    half = rng.permutation(truth.size) % 2 == 0
    odds = np.zeros(truth.size)
    for fit, ask in ((half, ~half), (~half, half)):
        model = Sized(_boosting(int(rng.integers(2**31)))).fit(shown[fit], truth[fit])
        odds[ask] = model.decision_function(shown[ask])
    share = float(truth.mean())
    constant = -(share * np.log(share) + (1.0 - share) * np.log1p(-share))
    if float(np.logaddexp(0.0, (1.0 - 2.0 * truth) * odds).mean()) >= constant:
        return np.ones(len(outside))
    weight = np.minimum(np.exp(odds[len(inside) :]), _HEAVIEST)
    return np.asarray(weight / weight.mean())


def _boosting(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=40,
        learning_rate=0.1,
        max_leaf_nodes=8,
        min_samples_leaf=30,
        l2_regularization=5.0,
        early_stopping=False,
        random_state=seed,
    )


def widened(edges: Edges, share: Array) -> Edges:
    """The edges of the prior if a share of the records may be known.

    A prior between ``t L`` and ``t H`` sums to 1, so that ``1 <= t sum H``. The mixture therefore
    lies between ``t (1 - r) L`` and ``t ((1 - r) H + r sum H)``. For two values that is the
    log-odds ``log((e^l + r) / (1 - r))``. Among the values that are there the known may be a larger
    share than among all: ``r / ((1 - r) mass + r)`` at most.
    """
    r = np.minimum(share, _CERTAIN)
    r = (r / np.maximum((1.0 - r) * edges.mass + r, 1e-300))[:, None]
    r = np.minimum(r, _CERTAIN)
    low, high = (1.0 - r) * edges.low, (1.0 - r) * edges.high
    high = high + r * edges.high.sum(axis=1, keepdims=True)
    return replace(edges, low=low, high=np.where(edges.prior > 0.0, high, 0.0))
