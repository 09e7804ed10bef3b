"""Another model like a given one, trained anew: what shadow models are made by.

A trainer is made of a model that is already there (its parameters, never its training records) or
of code that makes a fresh one. It is sent to other processes and trains on whatever it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from divulge.data import tables
from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models import callables, code
from divulge.models.base import SMALLEST, Answers, Model, Reads
from divulge.models.handed import handed
from divulge.models.source import Source
from divulge.types import Index

Settings = Mapping[str, Any]
FACTORY = (
    "Give code that makes a fresh one instead, as module:name: it is called with a seed and "
    "returns an estimator with fit and predict_proba, or a torch module."
)


@dataclass(frozen=True)
class Labels:
    """The classes of records: numbers, and what they stand for."""

    codes: Index = field(repr=False)
    classes: tuple[Any, ...]

    @property
    def values(self) -> npt.NDArray[Any]:
        """The classes by their names, one per record."""
        return np.asarray(self.classes)[self.codes]


def labelled(records: Frame, label: str, classes: tuple[Any, ...] | None) -> Labels:
    """The classes as numbers: the model's own where it says them, else those of the column."""
    column = records[label]
    require(column.null_count() == 0, f"The label {label!r} has no value in some rows.")
    values, codes = tables.levels(column)
    used = np.unique(codes)
    if classes is None:
        try:
            classes = tuple(sorted(values[k] for k in used))
        except TypeError:
            raise InputError(f"The label {label!r} has values of several kinds.") from None
    require(len(classes) >= 2, f"The label {label!r} has one value only.")
    index = {c: j for j, c in enumerate(classes)}
    by_word = {str(c): j for c, j in index.items()}
    found = np.array([index.get(v, by_word.get(str(v), -1)) for v in values], dtype=np.intp)
    strange = [values[k] for k in used if found[k] < 0]
    require(
        not strange,
        f"The label {label!r} has a class that the model does not know: {strange[:1]}. It knows "
        f"{', '.join(map(repr, classes[:8]))}.",
    )
    return Labels(found[codes], tuple(classes))


class Trainer(Protocol):
    """How a further model of one kind is trained and written down."""

    @property
    def name(self) -> str:
        """What is trained, in words."""

    @property
    def reads(self) -> Reads:
        """What it is shown of a record: features or text."""

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The classes that the given model tells apart, where it says so."""

    @property
    def note(self) -> str | None:
        """What the given model does not say of its training, as a sentence."""

    def identity(self) -> str | None:
        """What names the training in a kept piece; None where nothing does."""

    def train(self, records: Frame, labels: Labels | None, seed: int) -> Model:
        """A model trained on these records, as they stand, and on nothing else."""

    def files(self, model: Model) -> dict[str, bytes]:
        """A trained model in a format that cannot run code: one file, or those of a folder."""


def trainer(model: Any, settings: Settings | None = None) -> Trainer:
    """What trains further models like this one; InputError where it cannot be known how."""
    given = dict(settings or {})
    found = handed(model)
    if not isinstance(found, Source):
        return _of_object(found, given, None)
    kind = found.recognised
    if kind == "callable":
        return _of_object(callables.named(found.where), given, found.where)
    if kind in ("skops", "pickle"):
        return _of_object(found.raw(), given, None)
    if kind in _MAKERS:
        module, function = _MAKERS[kind]
        made: Trainer = getattr(import_module(f"divulge.models.{module}"), function)(found, given)
        return made
    raise InputError(f"A model of the kind {kind!r} does not say how to train another. {FACTORY}")


_MAKERS = {
    "xgboost": ("train_booster", "like_xgboost"),
    "lightgbm": ("train_booster", "like_lightgbm"),
    "safetensors": ("train_network", "like_weights"),
    "hub": ("train_language", "like_folder"),
}


def _of_object(found: Any, settings: dict[str, Any], where: str | None) -> Trainer:
    """An estimator is cloned; code is called with a seed, and its first answer says what it is."""
    from divulge.models import train_estimator, train_network

    if hasattr(found, "fit") and not isinstance(found, type):
        return train_estimator.like_estimator(found, settings)
    require(callable(found), f"A {type(found).__name__} cannot be trained again. {FACTORY}")
    factory = Factory(where, None if where is not None else found)
    if train_network.is_network(first := factory(0)):
        return train_network.from_factory(factory, settings)
    require(
        hasattr(first, "fit") and hasattr(first, "predict_proba"),
        f"{factory.name} returned {type(first).__name__}, which has no fit and predict_proba and "
        "is no torch module.",
    )
    return train_estimator.from_factory(factory, settings, getattr(first, "classes", None))


@dataclass(frozen=True)
class Factory:
    """The user's code that makes a fresh model; by its name where it has one, so that it travels.

    Every process imports it from the same folder.
    """

    where: str | None
    function: Callable[..., Any] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """What a person calls it."""
        return self.where or str(getattr(self.function, "__qualname__", type(self.function)))

    def __call__(self, seed: int, **settings: Any) -> Any:
        """A fresh model; InputError that names the code and its error."""
        found = self.function if self.where is None else callables.named(self.where)
        assert found is not None
        try:
            return found(seed, **settings)
        except (Exception, SystemExit) as error:  # the user's own code
            raise InputError(
                f"{self.name} failed to make a model: {type(error).__name__}: {error}"
            ) from error

    def identity(self) -> str | None:
        """The digest of its source, or None without one."""
        found = self.function if self.where is None else callables.named(self.where)
        own = code.of(found)[0]
        return None if own is None else f"{self.name} {own}"


def aligned(answers: Answers, model: Model, classes: tuple[Any, ...] | None) -> Answers:
    """Answers with one column per class, in their order: what a model never saw is impossible."""
    logs = answers.log_probabilities
    if logs is None or classes is None:
        return answers
    known = model.classes
    if known is None and logs.shape[1] == len(classes):
        return answers  # it was taught numbers, and counts
    known = tuple(range(logs.shape[1])) if known is None else known
    place = {str(c): j for j, c in enumerate(classes)}
    strange = [c for c in known if str(c) not in place]
    require(
        not strange and len(known) == logs.shape[1],
        f"A shadow model tells {logs.shape[1]} classes apart, the records have {len(classes)}.",
    )
    out = np.full((len(logs), len(classes)), np.log(SMALLEST))
    out[:, [place[str(c)] for c in known]] = logs
    return Answers(log_probabilities=out)


def numbers(settings: Settings, defaults: Mapping[str, float]) -> dict[str, Any]:
    """Settings that are positive numbers, by name; InputError for any other."""
    unknown = [name for name in settings if name not in defaults]
    require(
        not unknown,
        f"Unknown setting of the training: {', '.join(unknown)}. There are {', '.join(defaults)}.",
    )
    found = {**defaults, **settings}
    for name, value in found.items():
        whole = isinstance(defaults[name], int)
        fits = isinstance(value, int | float) and not isinstance(value, bool) and value >= whole
        require(
            fits and (not whole or float(value).is_integer()),
            f"The setting {name} must be a {'whole number of at least 1' if whole else 'number'}. "
            f"Found {value!r}.",
        )
    return {n: int(v) if isinstance(defaults[n], int) else float(v) for n, v in found.items()}
