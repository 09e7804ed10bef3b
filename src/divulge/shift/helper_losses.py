"""Helpers: small models of the target's task, taught by known members, and their losses.

A target that knows the members' population better than the features do gives members a lower loss
whether or not it saw them. So do helpers that learned from other members: their mean loss on a
record is what knowledge of the population alone makes of it. Several seeds are averaged, because
one helper is a noisy proxy, and regression on a noisy proxy leaves bias.

Each helper is one task of the engine, named by its lessons, its records and its seed, and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from divulge.errors import InputError, require, require_choice
from divulge.models.untrained import same_kind
from divulge.types import Array, Index
from divulge.work import Engine
from divulge.work.pieces import Pieces, digest
from divulge.work.threads import Sized

LEARNERS = ("auto", "clone", "boosting", "forest", "network")
FEWEST = 3
"""Helpers whose mean loss is used, at least."""
LEAST_HIT = 1e-4
"""Probabilities below this count as this: a forest's zeros are no certainty."""
MOST_CLASSES = 50
"""A number with more values than this is not a class."""


class Lessons(Protocol):
    """What helpers learn from: one entry per row of the audit's table."""

    @property
    def learner(self) -> str:
        """What is trained, in words."""

    @property
    def ignorance(self) -> float | None:
        """The loss of whoever knows the shares of the labels only; None: there are none."""

    def identity(self) -> str:
        """What names these lessons in a kept piece."""

    def losses(self, taught: Index, seed: int) -> Array:
        """Teach one helper these rows; its loss on every row."""


@dataclass(frozen=True)
class Lesson:
    """One helper: the rows that it learns from, and its seed."""

    taught: Index = field(repr=False)
    seed: int


@dataclass(frozen=True)
class TableLessons:
    """Records and their labels, for an estimator with ``fit`` and ``predict_proba``."""

    shown: Any = field(repr=False)
    """The columns as the learner reads them: a matrix, or a data frame."""
    label: npt.NDArray[Any] = field(repr=False)
    """Codes of classes, or numbers."""
    fresh: Any = field(repr=False)
    learner: str
    classes: bool = True

    @property
    def ignorance(self) -> float | None:
        """Entropy of the classes, or variance of the numbers."""
        if not self.classes:
            return float(np.var(self.label))
        share = np.unique(self.label, return_counts=True)[1] / self.label.size
        return float(-(share * np.log(share)).sum())

    def identity(self) -> str:
        """By the records, the labels and the parameters of the learner."""
        import joblib

        return digest(joblib.hash((self.shown, self.label, self.fresh)), self.classes)

    def losses(self, taught: Index, seed: int) -> Array:
        """Log-loss at the own class, or the squared error of a number."""
        from sklearn.base import clone
        from sklearn.utils import _safe_indexing

        model = clone(self.fresh)
        seeds = {k: seed for k in model.get_params() if k.split("__")[-1] == "random_state"}
        order = np.random.default_rng(seed).permutation(taught)
        y = self.label[order]
        if self.classes and np.unique(y).size < 2:
            raise InputError("All members that teach a helper have the same label.")
        fitted = Sized(model.set_params(**seeds)).fit(_safe_indexing(self.shown, order), y)
        if not self.classes:
            return np.asarray((fitted.predict(self.shown) - self.label) ** 2, dtype=float)
        p = np.asarray(fitted.predict_proba(self.shown), dtype=float)
        place = {c: k for k, c in enumerate(np.asarray(fitted.classes_).tolist())}
        at = np.array([place.get(c, -1) for c in self.label.tolist()])
        hit = np.where(at >= 0, p[np.arange(at.size), at], 0.0)
        return np.asarray(-np.log(np.clip(hit, LEAST_HIT, 1.0)))


def table_lessons(
    shown: Any, encoded: Array, label: Sequence[Any], learner: str, model: Any = None
) -> TableLessons:
    """Lessons for a learner by name; ``clone`` is an untrained copy of the model's estimator.

    A copy reads the columns as the model does (``shown``), all others the encoded features.
    """
    require_choice("learner", learner, LEARNERS)
    codes, classes = _codes(label)
    if learner in ("auto", "clone") and classes:
        fresh, name = same_kind(model, 0)
        copied = name.startswith("untrained")
        require(
            copied or learner == "auto",
            "The model is not an estimator that can be cloned: name another learner "
            f"({', '.join(LEARNERS[2:])}).",
        )
        if copied:
            return TableLessons(shown, codes, fresh, name)
    require(
        classes or learner in ("auto", "boosting", "forest"),
        f"The label is a number, which the learner {learner!r} does not predict: name boosting or "
        "forest.",
    )
    name = "boosting" if learner == "auto" else learner
    return TableLessons(encoded, codes, _estimator(name, classes), name, classes)


def _codes(label: Sequence[Any]) -> tuple[npt.NDArray[Any], bool]:
    """Labels as the classifier is to see them, and whether they are classes."""
    values = np.asarray(label)
    require(
        values.dtype != object or all(v is not None for v in label),
        "The label has no value in some row: leave such rows out.",
    )
    if values.dtype.kind == "f" and np.unique(values).size > MOST_CLASSES:
        return values.astype(float), False
    return (values.astype(str) if values.dtype == object else values), True


def _estimator(name: str, classes: bool) -> Any:
    """A small learner with usual settings; columns are drawn at random, so that seeds differ."""
    from sklearn import ensemble
    from sklearn.neural_network import MLPClassifier

    if name == "network":
        return MLPClassifier((64, 32), early_stopping=True, max_iter=100)
    boosted = {"max_iter": 150, "max_features": 0.5, "early_stopping": False, "random_state": 0}
    grown = {"n_estimators": 100, "min_samples_leaf": 3, "n_jobs": 1, "random_state": 0}
    if name == "boosting":
        kind = "HistGradientBoostingClassifier" if classes else "HistGradientBoostingRegressor"
        return getattr(ensemble, kind)(**boosted)
    kind = "RandomForestClassifier" if classes else "RandomForestRegressor"
    return getattr(ensemble, kind)(**grown)


@dataclass(frozen=True)
class _Teach:
    """Picklable: one helper per task."""

    lessons: Lessons

    def __call__(self, lesson: Lesson) -> Mapping[str, Array]:
        return {"loss": self.lessons.losses(lesson.taught, lesson.seed)}


def taught(
    lessons: Lessons,
    every: Sequence[Lesson],
    *,
    engine: Engine,
    pieces: Pieces,
    progress: Callable[[int, int], None] | None = None,
) -> list[Array]:
    """The losses of every helper on every row, in the order of the lessons."""
    keep = None
    if pieces.folder is not None:
        named = lessons.identity()
        keep = pieces.tasks(
            "helper", lambda t: {"lessons": named, "rows": digest(t.taught), "seed": t.seed}
        )
    found = engine.run(_Teach(lessons), list(every), keep=keep, progress=progress)
    return [np.asarray(f["loss"], dtype=float) for f in found]
