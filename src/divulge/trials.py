"""What a game yields: trials with a score, a truth and what the record alone gives away."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.errors import InputError, require
from divulge.types import Array, slices


@dataclass(frozen=True)
class Trials:
    """What a game yields, one entry per trial: scores, a truth, and what is known of it beforehand.

    What the record alone gives away is known (``log_odds``), to be estimated (``features``), or
    nothing but the coin.
    """

    score: npt.NDArray[Any] = field(repr=False)
    """Larger speaks for +1. One per trial, or one column per score."""
    truth: npt.NDArray[Any] = field(repr=False)
    """+1 (member, included, the own value) or -1."""
    log_odds: Array | None = field(default=None, repr=False)
    """Prior log-odds of +1, known by design or vouched for."""
    features: Array | None = field(default=None, repr=False)
    """What the record shows."""
    levels: npt.NDArray[np.int32] | None = field(default=None, repr=False)
    """Levels of categories that the features do not hold, one column each."""
    coin: float = 0.0
    """Log-odds of the coin that chose between the two pools."""
    heldout: tuple[Array, Array] | None = field(default=None, repr=False)
    """Features and truths of further records, on which propensities are fitted."""
    heldout_levels: npt.NDArray[np.int32] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_scores(self.score)
        check_truths(self.truth)
        parts = [self.score, self.truth, self.log_odds, self.features]
        sizes = {part.shape[0] for part in parts if part is not None}
        require(len(sizes) == 1, "score, truth and log_odds must have the same length.")
        if self.log_odds is not None:
            require(bool(np.isfinite(self.log_odds).all()), "log_odds must be finite.")

    def __len__(self) -> int:
        return int(self.truth.size)

    @property
    def prior(self) -> Array:
        """The known log-odds, or the coin's for every trial."""
        if self.log_odds is not None:
            return self.log_odds
        return np.full(len(self), self.coin)

    @property
    def columns(self) -> npt.NDArray[Any]:
        """The scores as columns."""
        return self.score if self.score.ndim == 2 else self.score[:, None]

    @property
    def shown(self) -> Array | None:
        """The features, if there are any columns of them."""
        return self.features if self.features is not None and self.features.shape[1] else None

    def select(self, keep: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Trials:
        """The trials at a mask or at indices."""
        return replace(
            self,
            score=self.score[keep],
            truth=self.truth[keep],
            log_odds=None if self.log_odds is None else self.log_odds[keep],
            features=None if self.features is None else self.features[keep],
            levels=None if self.levels is None else self.levels[keep],
        )


def check_scores(score: npt.NDArray[np.floating[Any]], name: str = "score") -> None:
    """Raise InputError, naming the first bad row, unless every score is a finite number."""
    require(score.shape[0] > 0, f"There are no trials: {name} is empty.")
    total, row = 0, -1
    for part in slices(score.shape[0]):
        bad = ~np.isfinite(score[part])
        bad = bad if bad.ndim == 1 else bad.reshape(bad.shape[0], -1).any(axis=1)
        if bad.any():
            row = part.start + int(np.argmax(bad)) if row < 0 else row
            total += int(bad.sum())
    if total:
        raise InputError(
            f"{name} must be finite. Found {score[row]} in row {row} "
            f"({total} of {score.shape[0]} rows). Remove or repair these rows."
        )


def check_truths(truth: npt.NDArray[Any], name: str = "truth") -> None:
    """Raise InputError unless every truth is +1 or -1."""
    for part in slices(truth.size):
        if not (np.abs(truth[part]) == 1).all():
            values = np.unique(truth)
            raise InputError(
                f"{name} must be +1 (member) or -1 (non-member). Found {values[:5].tolist()}."
            )


def check_both_kinds(truth: npt.NDArray[Any], name: str = "truth") -> None:
    """Raise InputError unless members and non-members both occur."""
    for value, kind in ((1.0, "member"), (-1.0, "non-member")):
        require(bool((truth == value).any()), f"{name} holds no {kind}: an audit needs both kinds.")
