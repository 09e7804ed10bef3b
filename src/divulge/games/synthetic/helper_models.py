"""Helpers: models of the target's kind that never saw the records that are played."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.attacks import scoring
from divulge.data.tables import Frame
from divulge.errors import require
from divulge.models import base
from divulge.models.untrained import same_kind
from divulge.types import Array
from divulge.work.threads import Sized

__all__ = ["Teach", "same_kind"]

_LEAST_HIT = 1e-3
"""Probabilities below this count as this: a forest's zeros are no certainty."""


@dataclass(frozen=True)
class Teach:
    """Teach a model of the target's kind one set of records; its losses on what is played."""

    fresh: Any
    named: bool
    """Whether it learns from columns with names, as the target did."""
    training_records: tuple[Frame, ...]
    played: Frame
    features: tuple[str, ...]
    label: str | None

    def __call__(self, number: int) -> dict[str, Array]:
        from sklearn.base import clone

        taught, label, features = self.training_records[number], self.label, self.features
        assert label is not None
        x, y = taught.select(*features), np.array(taught[label].to_list())
        require(np.unique(y).size > 1, f"All records for a helper have the same {label!r}.")
        shown = x.to_pandas() if self.named else base.matrix(x)
        fitted = Sized(clone(self.fresh)).fit(shown, y)
        p, classes = scoring.probabilities(fitted.model, self.played, features)
        place = {c: k for k, c in enumerate(classes)}
        at = np.array([place.get(v, -1) for v in self.played[label].to_list()])
        hit = np.where(at >= 0, p[np.arange(at.size), at], 0.0)
        return {"loss": -np.log(np.clip(hit, _LEAST_HIT, 1.0))}
