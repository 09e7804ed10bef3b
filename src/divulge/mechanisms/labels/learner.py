"""Any scikit-learn classifier, fitted to hard or soft labels over a public label set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import has_fit_parameter

from divulge.errors import require
from divulge.mechanisms.labels.response import Codes
from divulge.types import Array
from divulge.work.threads import Sized, sized

FLOOR = 1e-3
"""What a fitted model's prediction is mixed with before it serves as a prior: no label is ever
ruled out because a model has not met it."""


@dataclass(frozen=True)
class FittedLearner:
    """A fitted model whose probabilities are lined up with the whole label set."""

    model: Any
    columns: Codes = field(repr=False)
    """The code of each column of the model's predict_proba."""
    classes: int

    def predict_proba(self, x: Any) -> Array:
        """One column per label; zero for a label that the model has not met."""
        with sized(len(x)):
            found = np.asarray(self.model.predict_proba(x), dtype=float)
        out = np.zeros((found.shape[0], self.classes))
        out[:, self.columns] = found
        return out


def check_learner(learner: Any) -> None:
    """It must be an instance with fit and predict_proba."""
    name = learner.__name__ if isinstance(learner, type) else type(learner).__name__
    require(
        not isinstance(learner, type) and hasattr(learner, "fit"),
        f"The learner must be a classifier object such as LogisticRegression(). Found {name}.",
    )
    require(
        hasattr(learner, "predict_proba"),
        f"The learner must have predict_proba, which {name} has not. "
        "Wrap it in CalibratedClassifierCV or choose another.",
    )


def take(x: Any, index: Codes) -> Any:
    """Rows of an array, a sparse matrix or a data frame."""
    return x.iloc[index] if hasattr(x, "iloc") else x[index]


def fit_labels(
    learner: Any, x: Any, codes: Codes, classes: npt.NDArray[Any], rng: np.random.Generator
) -> FittedLearner:
    """A clone of the learner, fitted to these labels."""
    return _fit(learner, x, codes, None, classes, rng)


def fit_soft_labels(
    learner: Any, x: Any, soft: Array, classes: npt.NDArray[Any], rng: np.random.Generator
) -> FittedLearner:
    """A clone of the learner, fitted to one distribution over the labels per record.

    A learner that takes sample_weight sees each record once per label of positive probability, with
    that weight; one with ``fit_soft(X, soft, classes)`` is given the distributions. For any other,
    one label is drawn per record.
    """
    if np.all((soft == 0.0) | (soft == 1.0)):
        return fit_labels(learner, x, soft.argmax(axis=1), classes, rng)
    if hasattr(learner, "fit_soft"):
        model = _seeded(clone(learner), rng).fit_soft(x, soft, classes)
        return FittedLearner(model, np.arange(classes.size), classes.size)
    if _weight_name(learner) is None:
        cumulated = np.cumsum(soft, axis=1)
        u = rng.random(soft.shape[0]) * cumulated[:, -1]
        return fit_labels(learner, x, (cumulated <= u[:, None]).sum(axis=1), classes, rng)
    record, code = np.nonzero(soft)
    return _fit(learner, take(x, record), code, soft[record, code], classes, rng)


def predict_out_of_fold(
    learner: Any,
    x: Any,
    soft: Array,
    classes: npt.NDArray[Any],
    folds: int,
    rng: np.random.Generator,
) -> Array:
    """Predictions for every record by models that have not seen its soft label.

    A model that memorises its own soft labels would only confirm them.
    """
    out = np.empty_like(soft)
    for held in partition(soft.shape[0], folds, rng):
        rest = np.setdiff1d(np.arange(soft.shape[0]), held)
        model = fit_soft_labels(learner, take(x, rest), soft[rest], classes, rng)
        out[held] = model.predict_proba(take(x, held))
    return floored(out)


def floored(prior: Array) -> Array:
    """The prior mixed with a little of the uniform one."""
    return np.asarray((1.0 - FLOOR) * prior + FLOOR / prior.shape[1], dtype=float)


def partition(records: int, parts: int, rng: np.random.Generator) -> list[Codes]:
    """Disjoint parts of almost equal size. Only the number of records enters, never a label."""
    return [np.sort(part) for part in np.array_split(rng.permutation(records), parts)]


def predict_prior(prior: Any, x: Any, classes: npt.NDArray[Any]) -> Array:
    """The prediction of a fitted classifier, lined up with the label set."""
    place = {label: code for code, label in enumerate(classes.tolist())}
    known = np.asarray(getattr(prior, "classes_", [])).tolist()
    require(bool(known), "The prior model must be fitted, on other data than these labels.")
    unknown = [label for label in known if label not in place]
    require(not unknown, f"The prior model knows labels outside the label set: {unknown[:3]}.")
    columns = np.array([place[label] for label in known], dtype=np.intp)
    return FittedLearner(prior, columns, classes.size).predict_proba(x)


def _fit(
    learner: Any,
    x: Any,
    codes: Codes,
    weight: Array | None,
    classes: npt.NDArray[Any],
    rng: np.random.Generator,
) -> FittedLearner:
    present = np.unique(codes)
    if present.size == 1:  # most learners refuse one label; which labels occur is not public
        model = DummyClassifier(strategy="prior").fit(np.zeros((1, 1)), classes[present])
        return FittedLearner(model, present, classes.size)
    model = _seeded(clone(learner), rng)
    name = _weight_name(model)
    options = {} if weight is None or name is None else {name: weight}
    Sized(model).fit(x, classes[codes], **options)
    return FittedLearner(model, present, classes.size)


def _weight_name(learner: Any) -> str | None:
    """The keyword by which fit takes weights, also in the last step of a pipeline."""
    if has_fit_parameter(learner, "sample_weight"):
        return "sample_weight"
    steps = getattr(learner, "steps", None)
    if steps and has_fit_parameter(steps[-1][1], "sample_weight"):
        return f"{steps[-1][0]}__sample_weight"
    return None


def _seeded(model: Any, rng: np.random.Generator) -> Any:
    """Fill in every random_state that was left open."""
    params = model.get_params()
    seeds = {
        name: int(rng.integers(2**31))
        for name in sorted(params)
        if name.split("__")[-1] == "random_state" and params[name] is None
    }
    return model.set_params(**seeds) if seeds else model
