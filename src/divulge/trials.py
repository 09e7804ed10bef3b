"""What a game yields: trials with a score, a truth and what the record alone gives away."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.errors import InputError, require
from divulge.types import Array


@dataclass(frozen=True)
class Trials:
    """One score (larger speaks for +1), truth (+1 member, -1 not) and prior log-odds per trial."""

    score: Array = field(repr=False)
    truth: Array = field(repr=False)
    log_odds: Array = field(repr=False)

    def __post_init__(self) -> None:
        check_scores(self.score)
        check_truths(self.truth)
        sizes = {self.score.shape[0], self.truth.size, self.log_odds.size}
        require(len(sizes) == 1, "score, truth and log_odds must have the same length.")
        require(bool(np.isfinite(self.log_odds).all()), "log_odds must be finite.")

    def __len__(self) -> int:
        return int(self.truth.size)

    def select(self, keep: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Trials:
        """The trials at a mask or at indices."""
        return Trials(self.score[keep], self.truth[keep], self.log_odds[keep])


def check_scores(score: npt.NDArray[np.floating[Any]], name: str = "score") -> None:
    """Raise InputError, naming the first bad row, unless every score is a finite number."""
    require(score.shape[0] > 0, f"There are no trials: {name} is empty.")
    bad = ~np.isfinite(score)
    bad = bad if bad.ndim == 1 else bad.reshape(score.shape[0], -1).any(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{name} must be finite. Found {score[row]} in row {row} "
            f"({int(bad.sum())} of {score.shape[0]} rows). Remove or repair these rows."
        )


def check_truths(truth: Array, name: str = "truth") -> None:
    """Raise InputError unless every truth is +1 or -1."""
    values = np.unique(truth)
    require(
        bool(np.isin(values, (-1.0, 1.0)).all()),
        f"{name} must be +1 (member) or -1 (non-member). Found {values[:5].tolist()}.",
    )


def check_both_kinds(truth: npt.NDArray[Any], name: str = "truth") -> None:
    """Raise InputError unless members and non-members both occur."""
    for value, kind in ((1.0, "member"), (-1.0, "non-member")):
        require(bool((truth == value).any()), f"{name} holds no {kind}: an audit needs both kinds.")
