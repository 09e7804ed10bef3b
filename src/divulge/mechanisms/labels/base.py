"""The shape of a label-private learner: a scikit-learn classifier around another one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from divulge.errors import require
from divulge.mechanisms.labels.guarantee import Guarantee
from divulge.mechanisms.labels.laplace import posterior
from divulge.mechanisms.labels.learner import (
    FittedLearner,
    check_learner,
    fit_labels,
    fit_soft_labels,
    predict_out_of_fold,
)
from divulge.mechanisms.labels.response import Codes
from divulge.types import Array


@dataclass(frozen=True)
class Task:
    """Checked input: features, label codes, the label set, and the source of randomness."""

    x: Any = field(repr=False)
    codes: Codes = field(repr=False)
    classes: npt.NDArray[Any]
    rng: np.random.Generator

    @property
    def records(self) -> int:
        return int(self.codes.size)


class LabelPrivateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Label privacy around any classifier with fit and predict_proba.

    The features are public; the labels are protected, one label at a time. ``classes`` is the label
    set, which must be public: if it is not given, it is taken from y, and the guarantee then
    assumes that it was known. ``random_state`` makes a run repeatable; whoever knows it knows the
    noise, so a release that must be private leaves it at None.
    """

    learner: Any
    classes: npt.ArrayLike | None
    random_state: Any
    guarantee_: Guarantee
    model_: FittedLearner
    classes_: npt.NDArray[Any]

    @property
    def guarantee(self) -> Guarantee:
        """What holds for any data, before fit; ``guarantee_`` is what holds for this fit."""
        raise NotImplementedError

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """One column per class of ``classes_``."""
        check_is_fitted(self, "model_")
        return self.model_.predict_proba(as_table(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: N803
        """The class of largest probability."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _start(self, x: Any, y: Any) -> Task:
        """Check the input and set what does not depend on the mechanism."""
        check_learner(self.learner)
        table, labels = as_table(x), np.asarray(y)
        require(labels.ndim == 1, f"y must have one dimension. Found shape {labels.shape}.")
        require(
            labels.size > 0 and table.shape[0] == labels.size,
            f"X and y must have the same number of records. Found {table.shape[0]} and "
            f"{labels.size}.",
        )
        try:
            classes = np.unique(labels if self.classes is None else np.asarray(self.classes))
            place = {label: code for code, label in enumerate(classes.tolist())}
            codes = np.array([place.get(v, -1) for v in labels.tolist()], dtype=np.intp)
        except TypeError:
            codes, classes = np.array([-1]), labels[:0]
        require(
            bool(np.all(codes >= 0)),
            "y holds labels that are missing, of mixed kinds, or outside the classes "
            f"{classes[:5].tolist()}.",
        )
        require(classes.size >= 2, f"At least 2 classes are needed. Found {classes.size}.")
        self.classes_ = classes
        self.n_features_in_ = int(table.shape[1]) if len(table.shape) > 1 else 1
        return Task(table, codes, classes, np.random.default_rng(self.random_state))

    def _public_classes(self) -> int | None:
        """The number of labels, if it is known before fit."""
        return None if self.classes is None else int(np.unique(np.asarray(self.classes)).size)


def fit_noisy(learner: Any, task: Task, codes: Codes) -> FittedLearner:
    """The learner on noisy labels, taken at their word."""
    return fit_labels(learner, task.x, codes, task.classes, task.rng)


def check_refinement(task: Task, rounds: int, folds: int) -> None:
    """At least one round, and folds that all hold a record."""
    require(rounds >= 1, f"rounds must be at least 1. Found {rounds}.")
    require(
        2 <= folds <= task.records,
        f"folds must lie between 2 and the number of records ({task.records}). Found {folds}.",
    )


def refine(
    learner: Any, task: Task, log_likelihood: Array, prior: Array, rounds: int, folds: int
) -> tuple[FittedLearner, Array]:
    """Expectation maximisation: soft labels by Bayes' rule, a model of them as the next prior.

    Returns the model and the soft labels of the last round. It sees noisy labels only, so it is
    post-processing and costs no privacy.
    """
    check_refinement(task, rounds, folds)
    soft = posterior(log_likelihood, prior)
    for _ in range(rounds - 1):
        prior = predict_out_of_fold(learner, task.x, soft, task.classes, folds, task.rng)
        soft = posterior(log_likelihood, prior)
    return fit_soft_labels(learner, task.x, soft, task.classes, task.rng), soft


def as_table(x: Any) -> Any:
    """Lists become arrays; arrays, sparse matrices and data frames stay what they are."""
    return x if hasattr(x, "shape") else np.asarray(x)
