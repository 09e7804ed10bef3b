"""What a label-private learner promises: the curve between two data sets that differ in one label.

Features are public and fixed; neighbours replace the label of ONE record by any other label of the
public label set. This is label differential privacy (Chaudhuri and Hsu, 2011), replacement sense.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from divulge.curves import ApproximateDP, Curve, PiecewiseLinear
from divulge.errors import require

REPLACED = "one label replaced"


@dataclass(frozen=True)
class Guarantee:
    """A trade-off curve, the unit that it protects, and the theorem that it follows from."""

    curve: Curve
    theorem: str
    pure: float = math.inf
    """The epsilon of pure DP, where there is one; the curve may be tighter at delta above 0."""
    unit: str = REPLACED

    def epsilon(self, delta: float = 0.0) -> float:
        """Least epsilon at this delta."""
        return min(self.pure, self.curve.epsilon(delta))


NO_PRIVACY = Guarantee(
    ApproximateDP(math.inf, 1.0), "No noise was added, so nothing is guaranteed."
)


def check_epsilon(epsilon: float) -> None:
    """Any positive number, infinity included; NaN is refused."""
    require(epsilon > 0.0, f"epsilon must be above 0, or infinite for no noise. Found {epsilon!r}.")


def randomised_response_curve(epsilon: float, values: int) -> Curve:
    """The exact curve of k-ary randomised response between any two of its values.

    A larger k only adds answers that say nothing about the two, so the curves are ordered: two
    values leak most, and theirs is the curve of pure epsilon-DP. One value leaks nothing.
    """
    check_epsilon(epsilon)
    require(values >= 1, f"values must be at least 1. Found {values}.")
    if values == 1:
        return ApproximateDP(0.0)
    if math.isinf(epsilon):
        return NO_PRIVACY.curve
    if values == 2 or epsilon > 700.0:  # beyond 700 the vertices underflow; the curve is a bound
        return ApproximateDP(epsilon)
    other = 1.0 / (math.exp(epsilon) + values - 1)
    lie = (values - 1) * other
    return PiecewiseLinear(np.array([0.0, other, lie, 1.0]), np.array([1.0, lie, other, 0.0]))
