"""From a table, or a model and its records, to scores that speak for membership when larger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge import tables
from divulge.errors import InputError, require
from divulge.tables import Frame

Array = npt.NDArray[np.float64]
LOWER_WORDS = ("loss", "perplexity", "ppl", "nll", "entropy", "error", "surprise", "distance")


def direction(name: str, lower_is_member: bool | None) -> float:
    """+1 or -1: by what the user said, else by name (a loss is lower for members)."""
    if lower_is_member is None:
        lower_is_member = any(word in name.lower() for word in LOWER_WORDS)
    return -1.0 if lower_is_member else 1.0


def scores(
    frame: Frame,
    *,
    score: str | Sequence[str] | None,
    model: Any,
    label: str | None,
    features: Sequence[str],
    lower_is_member: bool | None,
    where: str,
) -> tuple[Array, tuple[str, ...]]:
    """A matrix of scores, one column each, and their names."""
    require(
        (score is None) != (model is None),
        "Give the score column (or several), or a model to score with, not both.",
    )
    if model is not None:
        return -losses(model, frame, features, label, where)[:, None], ("loss of the model",)
    assert score is not None
    names = [score] if isinstance(score, str) else list(score)
    require(len(names) > 0, "Name at least one score column.")
    names = tables.expand(frame, names, where)
    columns = [
        direction(name, lower_is_member) * tables.numbers(frame, name, where) for name in names
    ]
    return np.column_stack(columns), tuple(names)


def losses(
    model: Any, frame: Frame, features: Sequence[str], label: str | None, where: str
) -> Array:
    """Cross-entropy of ``predict_proba`` at the label, or what a callable returns per row."""
    if hasattr(model, "predict_proba"):
        if label is None:
            raise InputError("A model with predict_proba needs the label column it predicts.")
        tables.require_columns(frame, [label], where)
        probability, classes = probabilities(model, frame, features)
        values = frame[label].to_list()
        try:
            at = np.array([classes.index(v) for v in values])
        except ValueError as error:
            raise InputError(
                f"Column {label!r} has a class the model does not know: {error}"
            ) from None
        hit = np.clip(probability[np.arange(at.size), at], 1e-300, 1.0)
        return np.asarray(-np.log(hit), dtype=float)
    if callable(model):
        out = np.asarray(model(nw.to_native(frame)), dtype=float).ravel()
        require(
            out.size == len(frame),
            f"The model must return one loss per row: {len(frame)}. Found {out.size}.",
        )
        return out
    raise InputError(
        f"A model is an object with predict_proba or a callable. Found {type(model).__name__}."
    )


def probabilities(model: Any, frame: Frame, features: Sequence[str]) -> tuple[Array, list[Any]]:
    """``predict_proba`` of the records, one column per class, and the classes."""
    require(len(features) > 0, "Name the feature columns that the model was trained on.")
    records = frame.select(*features)
    given: Any = records.to_pandas() if hasattr(model, "feature_names_in_") else matrix(records)
    classes = list(np.asarray(model.classes_).tolist())
    return np.asarray(model.predict_proba(given), dtype=float), classes


def matrix(records: Frame) -> Array:
    """The columns as numbers, for a model that was not fitted on a data frame."""
    return np.column_stack(
        [np.asarray(records[c].to_numpy(), dtype=float) for c in records.columns]
    )
