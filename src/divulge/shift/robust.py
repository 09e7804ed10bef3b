"""Placeholder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
MOST_ALLOWANCE = 1.0


@dataclass(frozen=True)
class Fitted:
    """Nuisance predictions per trial, and the allowance for what they missed."""

    log_odds: Array = field(repr=False)
    score: Array = field(repr=False)
    bet_log_odds: Array = field(repr=False)
    bet_score: Array = field(repr=False)
    quality: Mapping[str, Any] = field(default_factory=dict)
    allowance: float = 0.0
    allowance_mu: float = 0.0
    c_lb: float | None = None


def fit(*a, **k):
    raise NotImplementedError
