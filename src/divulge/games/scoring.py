"""From a table, or a model and its records, to scores that speak for membership when larger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge import tables
from divulge.errors import InputError, require
from divulge.models import base
from divulge.models.estimator import adapt
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
) -> tuple[npt.NDArray[np.floating[Any]], tuple[str, ...]]:
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
    columns = [tables.compact_numbers(frame, name, where) for name in names]
    if len({column.dtype for column in columns}) > 1:
        columns = [column.astype(float) for column in columns]
    for name, column in zip(names, columns, strict=True):
        column *= direction(name, lower_is_member)
    return columns[0][:, None] if len(columns) == 1 else np.column_stack(columns), tuple(names)


def losses(
    model: Any,
    frame: Frame,
    features: Sequence[str],
    label: str | None,
    where: str,
    text: str | None = None,
) -> Array:
    """The model's loss per record: at its label, per token of its text, or as a callable says."""
    asked = adapt(model)
    if asked.gives == "probabilities" and label is None:
        raise InputError("A model with predict_proba needs the label column it predicts.")
    answers = base.ask(asked, base.shown(asked, frame, features, text, where))
    if asked.gives == "losses":
        assert answers.losses is not None
        return answers.losses
    if asked.gives == "tokens":
        assert answers.tokens is not None
        return np.asarray(-np.nanmean(answers.tokens, axis=1))
    assert label is not None
    assert answers.log_probabilities is not None
    tables.require_columns(frame, [label], where)
    at = base.codes(asked, answers, frame[label], label)
    return np.asarray(-answers.log_probabilities[np.arange(at.size), at])


def probabilities(model: Any, frame: Frame, features: Sequence[str]) -> tuple[Array, list[Any]]:
    """A classifier's probabilities of the records, one column per class, and the classes."""
    asked = adapt(model)
    found = base.ask(asked, base.shown(asked, frame, features, None, "the table"))
    if found.log_probabilities is None:
        raise InputError(f"{asked.name} gives no probability per class, but {asked.gives}.")
    width = found.log_probabilities.shape[1]
    classes = list(range(width)) if asked.classes is None else list(asked.classes)
    return np.exp(found.log_probabilities), classes
