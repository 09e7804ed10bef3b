"""From a table, or a model and its records, to scores that speak for membership when larger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.attacks import registry
from divulge.attacks.base import losses as of_answers
from divulge.attacks.observe import Question
from divulge.attacks.table import attacked
from divulge.data import tables
from divulge.data.arranged import arranged
from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models import base
from divulge.models.handed import open_model
from divulge.types import Array

DEFAULT = "loss"
"""The score column, or the attack, where none is named."""
LOWER_WORDS = ("loss", "perplexity", "ppl", "nll", "entropy", "error", "surprise", "distance")


def direction(name: str, lower_is_member: bool | None) -> float:
    """+1 or -1: by what the user said, else by the attack of that name, else by words in it."""
    if lower_is_member is None and name in registry.BY_NAME:
        return registry.direction(name)
    if lower_is_member is None:
        lower_is_member = any(word in name.lower() for word in LOWER_WORDS)
    return -1.0 if lower_is_member else 1.0


def score_columns(score: str | Sequence[str] | None) -> list[str]:
    """The names of score columns as a list; the loss where none is named."""
    wanted = DEFAULT if score is None else score
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    require(len(names) > 0, "Name at least one score column.")
    return names


def scores(
    frame: Frame,
    *,
    score: str | Sequence[str] | None,
    model: Any,
    label: str | None,
    features: Sequence[str],
    lower_is_member: bool | None,
    where: str,
    attack: str | Sequence[str] | None = None,
    text: str | None = None,
    given: npt.NDArray[Any] | None = None,
) -> tuple[npt.NDArray[np.floating[Any]], tuple[str, ...]]:
    """A matrix of scores, one column each, and their names: columns, or attacks on a model.

    ``given`` says where the rows stood in the table as it was given.
    """
    if model is not None:
        require(score is None, "With a model, attacks compute the scores: name them as attack.")
        asked = DEFAULT if attack is None else attack
        attacks = [asked] if isinstance(asked, str) else list(asked)
        return _attacked(frame, attacks, model, label, features, text, given)
    require(attack is None, "An attack needs a model: give one, or name score columns instead.")
    names = tables.expand(frame, score_columns(score), where)
    columns = [tables.compact_numbers(frame, name, where) for name in names]
    if len({column.dtype for column in columns}) > 1:
        columns = [column.astype(float) for column in columns]
    for name, column in zip(names, columns, strict=True):
        column *= direction(name, lower_is_member)
    return columns[0][:, None] if len(columns) == 1 else np.column_stack(columns), tuple(names)


def _attacked(
    frame: Frame,
    attacks: Sequence[str],
    model: Any,
    label: str | None,
    features: Sequence[str],
    text: str | None,
    given: npt.NDArray[Any] | None,
) -> tuple[Array, tuple[str, ...]]:
    target = open_model(model, "the model")
    if target.gives == "probabilities" and label is None:
        raise InputError("A model with predict_proba needs the label column it predicts.")
    question = Question(target, tuple(features), label, text)
    if given is None or target.reads != "rows":
        found = attacked(question, frame, attacks)
    else:  # a function of a whole table may know its rows by their place
        as_given = attacked(question, arranged(frame, np.argsort(given)), attacks)
        found = {name: values[given] for name, values in as_given.items()}
    columns = [registry.direction(name) * values for name, values in found.items()]
    return np.column_stack(columns), tuple(f"{name} of the model" for name in found)


def losses(
    model: Any,
    frame: Frame,
    features: Sequence[str],
    label: str | None,
    where: str,
    text: str | None = None,
) -> Array:
    """The model's loss per record: at its label, per token of its text, or as a callable says."""
    asked = open_model(model, "the model")
    if asked.gives == "probabilities" and label is None:
        raise InputError("A model with predict_proba needs the label column it predicts.")
    found = np.empty(len(frame))
    for some, answers in base.batches(asked, base.shown(asked, frame, features, text, where)):
        at = None
        if answers.log_probabilities is not None:
            require(label is not None, f"{asked.name} gives probabilities: name the label column.")
            assert label is not None
            tables.require_columns(frame, [label], where)
            at = base.codes(asked, answers, frame[label][some], label, some.start)
        found[some] = of_answers(answers, at)
    return found


def probabilities(model: Any, frame: Frame, features: Sequence[str]) -> tuple[Array, list[Any]]:
    """A classifier's probabilities of the records, one column per class, and the classes."""
    asked = open_model(model, "the model")
    found = base.ask(asked, base.shown(asked, frame, features, None, "the table"))
    if found.log_probabilities is None:
        raise InputError(f"{asked.name} does not give a probability per class but {asked.gives}.")
    width = found.log_probabilities.shape[1]
    classes = list(range(width)) if asked.classes is None else list(asked.classes)
    return np.exp(found.log_probabilities), classes
