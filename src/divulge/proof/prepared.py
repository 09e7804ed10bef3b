"""Trials ready to be counted and bet on, whatever is known of the shift."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.types import Array, Floats, Places

NO_FEATURES = "no features were given: assumes that the records alone give nothing away"
KNOWN = "the given propensities are right"
CHECKED = (
    "what the given propensities and the fitted prognostic score missed of the shift is within the "
    "allowance that was deducted"
)
HELD_OUT = (
    "what the propensity fitted on held-out records and the prognostic score missed of the shift "
    "is within the allowance that was deducted"
)
PLUGGED_IN = "the propensities are right: nothing is deducted from this line for their error"
ESTIMATED = (
    "what the fitted propensity and prognostic score missed of the shift is within the allowance "
    "that was deducted"
)


@dataclass(frozen=True)
class Prepared:
    """Arrays are per trial. The head of ``order`` is learned from, the tail is counted.

    Where nothing had to be fitted, truths and scores may be in their compact types.
    """

    truth: npt.NDArray[Any] = field(repr=False)
    raw: Floats = field(repr=False)
    """The score as given, larger speaks for membership."""
    score: Floats = field(repr=False)
    """The score used under correction: what is left after the prognostic score."""
    log_odds: Array = field(repr=False)
    """Predicted out of fold on the learned trials, by them on the counted ones."""
    coin: float
    """Log-odds of the coin of the draw."""
    order: Places = field(repr=False)
    """The order of revelation; its head are the learned trials."""
    learned: int
    bet_score: Floats = field(repr=False)
    """The score for betting, predicted from the trials revealed before."""
    bet_log_odds: Array = field(repr=False)
    trim: float | None = None
    """Guess and bet only where ``|log_odds - coin|`` is at most this."""
    allowance: float = 0.0
    """What is deducted from epsilon for residual shift."""
    allowance_mu: float = 0.0
    assumption: str = KNOWN
    only_coin: bool = False
    """Whether nothing but the coin is known of any trial: its log-odds are those of all."""
    overlap: float = 1.0
    """Share of the counted trials inside the trim."""
    quality: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """How good the fitted models are."""
    c_lb: float | None = None
    """What a blind baseline proves against the propensities; None: there was none."""
    unchecked: str = ""
    """Why no baseline was tried: a missing one is not a silent one."""

    @property
    def plug_in(self) -> str:
        """What a correction assumes that deducts no allowance."""
        return self.assumption if self.trim is None else PLUGGED_IN

    @property
    def head(self) -> Places:
        """The learned trials."""
        return self.order[: self.learned]

    @property
    def tail(self) -> Places:
        """The counted trials."""
        return self.order[self.learned :]

    def log_odds_of(self, rows: Places) -> Array:
        """Log-odds of some trials; nothing is copied where the coin is all that is known."""
        if self.only_coin:
            return np.broadcast_to(np.float64(self.coin), rows.shape)
        return self.log_odds[rows]

    def inside(self, log_odds: Array) -> npt.NDArray[np.bool_]:
        """Where there is overlap, by x alone."""
        if self.trim is None:
            return np.ones(log_odds.size, dtype=bool)
        return np.asarray(np.abs(log_odds - self.coin) <= self.trim)
