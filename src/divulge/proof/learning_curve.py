"""The helpers' learning curve: whether a ladder of two rungs says anything about the target.

Learning curves are flat before they are steep as well as after. Helpers of three sizes show whether
the steep part may still lie ahead: where the last step on audited members, whom no helper saw, is
larger than the one before; where the largest helpers know no more than the shares of the labels;
or where the target is better on non-members, of whom nothing leaks, than as many of the curve's
largest steps as there are doublings would make it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

from scipy.stats import norm

from divulge.types import Array

KNOWS_MORE = (
    "On non-members, of whom nothing leaks, the target is better than the helpers' learning curve "
    "explains: it became steeper beyond the helpers' size, or the target is another kind of model."
)
STEEPER = (
    "The helpers' learning curve is still becoming steeper, so the steps from there to the target "
    "may be larger still: helpers need more members."
)
IGNORANT = (
    "The helpers predict no better than the shares of the labels do, so nothing is known of what a "
    "larger model learns: helpers need more members, or another learner."
)
NO_LOSS = (
    "The target's loss is not among the scores, so that it cannot be compared with the helpers' "
    "learning curve."
)


@dataclass(frozen=True)
class LearningCurve:
    """Mean losses of helpers of growing size, each size twice as large as the one before."""

    members: tuple[Array, ...] = field(repr=False)
    """Of audited members, whom none of them saw."""
    nonmembers: tuple[Array, ...] = field(repr=False)
    target: Array | None = field(repr=False)
    """The target's losses of the same non-members; None: they are not known."""
    ignorance: float | None
    """The loss of whoever knows the shares of the labels only; None: there are none."""

    def doubt(self, doublings: float | None, error: float) -> str:
        """Why the curve cannot be extrapolated to the target; empty if it may be."""
        if self.target is None:
            return NO_LOSS
        if self.ignorance is not None and float(self.members[-1].mean()) >= self.ignorance:
            return IGNORANT
        if self.steeper(error):
            return STEEPER
        return KNOWS_MORE if doublings is not None and self.beyond(doublings, error) else ""

    def steeper(self, error: float) -> bool:
        """Whether the last step is larger than the one before, beyond its error."""
        steps = [lower - upper for lower, upper in pairwise(self.members)]
        return _limit(steps[-1] - steps[-2], error, -1.0) > 0.0

    def beyond(self, doublings: float, error: float) -> bool:
        """Whether the target is better than so many of the curve's largest steps make it."""
        assert self.target is not None
        steps = [_limit(a - b, error, 1.0) for a, b in pairwise(self.nonmembers)]
        gap = _limit(self.nonmembers[-1] - self.target, error, -1.0)
        return gap > doublings * max(0.0, *steps)


def _limit(differences: Array, error: float, sign: float) -> float:
    """Confidence limit of a mean of paired differences, above or below, at half of the error."""
    spread = float(differences.std(ddof=1)) / math.sqrt(differences.size)
    return float(differences.mean()) + sign * float(norm.ppf(1.0 - error / 2.0)) * spread
