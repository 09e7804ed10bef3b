"""Objects with ``predict_proba``, such as scikit-learn's, and functions of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np

from divulge.errors import InputError, require
from divulge.models.base import BATCH, Answers, Gives, Model, Reads, logarithms, matrix
from divulge.tables import Frame


@dataclass(frozen=True)
class Estimator:
    """A fitted classifier; a data frame is given to one that was fitted on a data frame."""

    model: Any = field(repr=False)
    name: str = "the model"
    reads: Reads = "features"
    gives: Gives = "probabilities"
    batch: int = BATCH

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The classes it was fitted with."""
        found = getattr(self.model, "classes_", None)
        return None if found is None else tuple(np.asarray(found).tolist())

    def ask(self, records: Frame) -> Answers:
        """``predict_proba`` of the records."""
        named = hasattr(self.model, "feature_names_in_")
        given: Any = records.to_pandas() if named else matrix(records)
        return Answers(log_probabilities=logarithms(self.model.predict_proba(given), self.name))


@dataclass(frozen=True)
class Function:
    """A callable that returns a loss per row, given the rows as the user's kind of table."""

    function: Callable[[Any], Any] = field(repr=False)
    name: str = "the model"
    reads: Reads = "rows"
    gives: Gives = "losses"
    classes: None = None
    batch: int = 1 << 62

    def ask(self, records: Frame) -> Answers:
        """What the function returns."""
        out = np.asarray(self.function(nw.to_native(records)), dtype=float).ravel()
        require(
            out.size == len(records),
            f"The model must return one loss per row: {len(records)}. Found {out.size}.",
        )
        return Answers(losses=out)


def adapt(model: Any, name: str = "the model") -> Model:
    """Anything that can be asked, as a Model."""
    if isinstance(model, Model):
        return model
    if hasattr(model, "predict_proba"):
        return Estimator(model, name)
    if callable(model):
        return Function(model, name)
    raise InputError(
        f"A model is an object with predict_proba or a callable. Found {type(model).__name__}."
    )
