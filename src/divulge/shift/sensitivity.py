"""How much unmeasured shift would explain the finding away?

If the true log-odds may differ from the assumed ones by at most gamma, an epsilon bound falls by at
most gamma: ``eps-DP with log-odds within gamma`` is ``(eps + gamma)-DP with the assumed log-odds``
as far as bets and guesses can see. So ``Gamma* = e^{eps_lb}`` is the odds ratio of unmeasured shift
that would be needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from divulge.result import shared
from divulge.types import Array


@dataclass(frozen=True)
class Sensitivity:
    """The bound on epsilon as a function of the allowed error gamma of the log-odds."""

    gamma: Array = field(repr=False)
    epsilon: Array = field(repr=False)
    gamma_star: float

    def drawn(self) -> shared.SensitivityRecord:
        """As the report draws it."""
        return shared.SensitivityRecord(
            gamma=self.gamma.tolist(), epsilon=self.epsilon.tolist(), gamma_star=self.gamma_star
        )


def sensitivity(epsilon: float, points: int = 41) -> Sensitivity:
    """The curve from no error to where nothing is left."""
    gamma = np.linspace(0.0, max(1.0, 1.25 * epsilon), points)
    return Sensitivity(gamma, np.maximum(0.0, epsilon - gamma), math.exp(epsilon))
