"""Objects with ``predict_proba``, such as scikit-learn's, and functions of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models.base import (
    BATCH,
    Answers,
    Failed,
    Gives,
    Model,
    Reads,
    foreign,
    logarithms,
    matrix,
)


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
        given: Any
        if hasattr(self.model, "feature_names_in_"):
            given = records.to_pandas()
        else:
            given = matrix(records, by="columns" if _multiplies(self.model) else "rows")
        found = _numbers(foreign(self.model.predict_proba, given))
        return Answers(log_probabilities=logarithms(found, self.name))


def _multiplies(model: Any) -> bool:
    """Whether a model, or the last step of a pipeline, has weights to multiply the matrix by.

    The order in memory may then change the last bit of a sum, and nothing else.
    """
    steps = getattr(model, "named_steps", None)
    last = list(steps.values())[-1] if steps else model
    return hasattr(last, "coef_") or hasattr(last, "coefs_")


@dataclass(frozen=True)
class Function:
    """A callable, given the rows as the user's kind of table.

    It returns a loss per row, or a matrix of probabilities with one column per class. Which of the
    two is known from its attribute ``gives``, or else from its first answer; ``classes``, if it has
    such an attribute, names the columns.
    """

    function: Callable[[Any], Any] = field(repr=False)
    name: str = "the model"
    reads: Reads = "rows"
    batch: int = 1 << 62
    _seen: dict[str, Gives] = field(default_factory=dict, repr=False, compare=False)

    @property
    def gives(self) -> Gives:
        """What it says it gives, or was seen to give; losses before the first answer."""
        found = getattr(self.function, "gives", None) or self._seen.get("gives", "losses")
        require(
            found in ("losses", "probabilities"),
            f"A function gives 'losses' or 'probabilities'. Found {found!r}.",
        )
        return found

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """What the columns of its probabilities stand for, if it says so."""
        found = getattr(self.function, "classes", None)
        return None if found is None else tuple(found)

    def ask(self, records: Frame) -> Answers:
        """What the function returns."""
        out = _numbers(foreign(self.function, nw.to_native(records)))
        if out.ndim == 2 and out.shape[1] > 1:
            self._seen["gives"] = "probabilities"
            return Answers(log_probabilities=logarithms(out, self.name))
        require(
            out.size == len(records),
            f"The model must return one loss per row: {len(records)}. Found {out.size}.",
        )
        losses = out.ravel()
        bad = ~np.isfinite(losses)
        require(
            not bad.any(),
            f"{self.name} must return finite losses. Found {losses[np.argmax(bad)]} for record "
            f"{int(np.argmax(bad))} ({int(bad.sum())} of {losses.size}).",
        )
        return Answers(losses=losses)


def _numbers(answer: Any) -> npt.NDArray[np.float64]:
    """An answer as floats; Failed where it holds anything else."""
    try:
        found = np.asarray(answer)
        if found.dtype.kind in "biufO":
            return found.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass
    raise Failed(f"it returned {type(answer).__name__}, which does not hold a number per row")


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
