"""What a game yields: trials with a score, a truth and what the record alone gives away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.errors import InputError, require

Array = npt.NDArray[np.float64]
AT_ONCE = 1 << 22
"""Most trials that are worked on at once: bounds the memory of everything in between."""


def slices(start: int, stop: int | None = None) -> Iterator[slice]:
    """``range(start)`` or ``range(start, stop)``, cut into slices of at most AT_ONCE."""
    first, last = (0, start) if stop is None else (start, stop)
    for at in range(first, last, AT_ONCE):
        yield slice(at, min(at + AT_ONCE, last))


def index_type(rows: int) -> type[np.unsignedinteger[Any]]:
    """The smallest type that numbers this many rows: half the memory below 2**32 of them."""
    return np.uint32 if rows <= 2**32 else np.uint64


def permutation(trials: int, rng: np.random.Generator) -> npt.NDArray[np.integer[Any]]:
    """What ``rng.permutation(trials)`` gives, in half the memory."""
    order = np.arange(trials, dtype=index_type(trials))
    rng.shuffle(order)
    return order


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
