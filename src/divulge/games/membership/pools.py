"""Known members and known non-members as arrays: what a membership audit draws from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.data.features import Features
from divulge.data.meanings import Codes
from divulge.games.membership.findings import Subset
from divulge.result.of_helpers import DocumentsRecord, HelpersRecord, TextRecord
from divulge.shift.helper_losses import Lessons
from divulge.types import Array, Floats, Index


@dataclass(frozen=True)
class Pools:
    """One entry per row."""

    truth: npt.NDArray[Any] = field(repr=False)
    score: Floats = field(repr=False)
    features: Features
    reference: Array | None = field(repr=False)
    propensity: Array | None = field(repr=False)
    score_names: tuple[str, ...]
    inputs: tuple[dict[str, str], ...]
    heldout: tuple[Array, Array] | None = field(default=None, repr=False)
    """Features and truths of records that serve the propensity only."""
    heldout_levels: Codes | None = field(default=None, repr=False)
    subset: Subset | None = None
    text: bool = False
    """Whether the model reads a text."""
    rows: npt.NDArray[Any] | None = field(default=None, repr=False)
    """Where each row stands in the user's table (with features); two tables count as one."""
    model: Mapping[str, str] | None = None
    """What a result says of the model that was asked."""
    lessons: Lessons | None = field(default=None, repr=False)
    """What helpers are to learn from; None: none are taught."""
    helpers: int = 0
    """How many of them."""
    training_size: int | None = None
    """Records of the members' population that the target learned from, where that is known."""
    reference_size: int | None = None
    """The same of the control."""
    document: Index | None = field(default=None, repr=False)
    """The row that each of the lessons belongs to, where rows are documents."""
    given: HelpersRecord | None = None
    """Helpers whose losses came with the table."""
    texts: TextRecord | None = None
    documents: DocumentsRecord | None = None

    def some(self, rows: Index) -> Pools:
        """Some of the rows; nothing is taught from these alone."""
        return replace(
            self,
            truth=self.truth[rows],
            score=self.score[rows],
            features=self.features.rows(rows),
            reference=None if self.reference is None else self.reference[rows],
            propensity=None if self.propensity is None else self.propensity[rows],
            rows=None if self.rows is None else np.asarray(self.rows)[rows],
            lessons=None,
            document=None,
        )
