"""Two models of a value from the record: the target's student, and the corrected proxy.

The *student* imitates the target from what the record shows (features and the proxy's
probabilities). It is taught by the target's own probabilities, not by labels, so it has no label
noise to overcome, uses every record, and touches no truth. What the target says beyond its student
is either memory or knowledge that the features do not carry.

The *corrected proxy* is the best guess of the value from the record without the target: a
log-linear pool of the proxy, a linear and a boosted model, and the student.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge.bounds.tree_boosting import Trees, boosted_classifier
from divulge.shift.pooling import Pooled, fit_pool, log_probabilities, one_hot
from divulge.types import Array, Index

FOLDS = 3
FIT_PAIRS = 120_000
"""Most (record, class) pairs that one student learns from."""
FIT_RECORDS, FEWEST_FIT = 100_000, 20_000
"""Most records that a model of the value learns from: for two classes, and for many."""
POOL_RECORDS = 50_000
ROUNDS = (60, 400)
"""Boosting rounds of the student for two classes; fewer for more, as there is a tree for each."""
ROWS_PER_ROUND = 10
VALUE_ROUNDS = 60
FEWEST_ROUNDS = 20
_MANY = 100_000
_TEST_CHUNK = 200_000


def record_features(log_proxy: Array, features: Array, *more: Array) -> Array:
    """What the record shows: centred log-probabilities of the proxy (and more), and features."""
    given = [m - m.mean(axis=1, keepdims=True) for m in (log_proxy, *more)]
    return np.column_stack([*given, features])


@dataclass(frozen=True)
class Student:
    """The target's student, and how much it may still have to learn."""

    log_probabilities: Array = field(repr=False)
    """Predicted out of fold for every record."""
    learnable: float
    """Relative entropy per record that a student with endless records would still remove."""
    left: float
    """Relative entropy per record of the target from its student: memory and the learnable."""
    unsure: float
    """Mean chance that two values drawn from the student differ."""


def fit_student(
    log_target: Array, log_proxy: Array, features: Array, rng: np.random.Generator
) -> Student:
    """Teach the student by the target's probabilities, fold by fold.

    Memory cannot be learned from other records, knowledge can: a second student with half the
    records shows how fast the error still falls. If it falls at least like ``n^-1/2`` in relative
    entropy, what is left to learn is at most ``1 / (sqrt 2 - 1)`` times the last drop.
    """
    records, classes = log_target.shape
    shown = record_features(log_proxy, features)
    many = max(ROUNDS[0], records // ROWS_PER_ROUND)
    few = classes <= 4
    rounds = [
        max(10, min(r, many) * (2 if few else 1) // classes) for r in ROUNDS[0 if few else 1 :]
    ]
    predicted = [np.empty_like(log_target) for _ in range(1 + len(rounds))]
    folds = FOLDS if records <= _MANY else 2
    fold = rng.permutation(records) % folds

    def teach(rows: Index) -> list[_Predict]:
        pairs = _weighted_pairs(shown[rows], log_target[rows])
        return [_linear(*pairs), *(_boosted(*pairs, r, leaves=31) for r in rounds)]

    for k in range(folds):
        rest = rng.permutation(np.flatnonzero(fold != k))[: max(2000, FIT_PAIRS // classes)]
        out = np.flatnonzero(fold == k)
        for own, model in zip(predicted, teach(rest), strict=True):
            own[out] = model(shown[out], classes)
    some = rng.permutation(records)[:POOL_RECORDS]
    members = [log_proxy, *predicted]
    pool = fit_pool([m[some] for m in members], np.exp(log_target[some]))
    student = pool(members)
    out = out[:POOL_RECORDS]
    less = pool([log_proxy[out], *(m(shown[out], classes) for m in teach(rest[: rest.size // 2]))])
    p = np.exp(log_target[out])
    return Student(
        log_probabilities=student,
        learnable=_learnable((p * (student[out] - less)).sum(axis=1)),
        left=float((p * (log_target[out] - student[out])).sum(axis=1).mean()),
        unsure=float((1.0 - np.exp(2.0 * student[out]).sum(axis=1)).mean()),
    )


def _learnable(drop: Array) -> float:
    """What is left to learn, from the drop per record, which is taken at its upper 95% end."""
    upper = float(drop.mean()) + 1.645 * float(drop.std()) / math.sqrt(drop.size)
    return max(0.0, upper) / (math.sqrt(2.0) - 1.0)


def fit_values(
    codes: Index,
    log_proxy: Array,
    features: Array,
    head: Index,
    tail: Index,
    rng: np.random.Generator,
    *more: Array,
) -> tuple[Array, Pooled]:
    """The corrected proxy: out of fold on the head, fitted on the head for the tail.

    ``codes`` are read for the head only. ``more`` are further models of the value (the student, or
    the target itself where the head never was in its training set).
    """
    classes = log_proxy.shape[1]
    shown = record_features(log_proxy, features, *more)
    predicted = [np.empty_like(log_proxy) for _ in range(2)]
    rounds = max(FEWEST_ROUNDS, 4 * VALUE_ROUNDS // max(4, classes))
    head = rng.permutation(head)
    fold = np.arange(head.size) % (FOLDS if head.size <= _MANY // 2 else 2)
    for fit_on, out in [*_splits(head, fold), *([(head, tail)] if tail.size else [])]:
        fit_on = fit_on[: max(FEWEST_FIT, 2 * FIT_RECORDS // classes)]
        models = [
            _linear(shown[fit_on], codes[fit_on], None),
            _boosted(shown[fit_on], codes[fit_on], None, rounds, leaves=16),
        ]
        for own, model in zip(predicted, models, strict=True):
            own[out] = model(shown[out], classes)
    members = [log_proxy, *predicted, *more]
    some = head[:POOL_RECORDS]
    pool = fit_pool([m[some] for m in members], one_hot(codes[some], classes))
    value = np.full_like(log_proxy, np.nan)
    both = np.concatenate([head, tail])
    value[both] = pool([m[both] for m in members])
    return value, pool


def _splits(rows: Index, fold: Index) -> Iterator[tuple[Index, Index]]:
    for k in range(int(fold.max()) + 1):
        yield rows[fold != k], rows[fold == k]


def _weighted_pairs(shown: Array, log_target: Array) -> tuple[Array, Index, Array]:
    """Every record once per class, weighted by the target's probability: soft labels."""
    classes = log_target.shape[1]
    weight = np.exp(log_target).ravel()
    heavy = np.flatnonzero(weight > 1e-4)
    return shown[heavy // classes], heavy % classes, weight[heavy]


_Predict = Callable[[Array, int], Array]


def _linear(shown: Array, codes: Index, weight: Array | None) -> _Predict:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    centre, scale = shown.mean(axis=0), shown.std(axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    model = LogisticRegression(C=1.0, max_iter=300, tol=1e-5)
    if np.unique(codes).size < 2:
        return _constant(codes, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # near enough: the pool recalibrates it
        model.fit((shown - centre) / scale, codes, sample_weight=weight)
    return lambda x, classes: _all_classes(model, (x - centre) / scale, classes)


def _boosted(
    shown: Array, codes: Index, weight: Array | None, rounds: int, leaves: int
) -> _Predict:
    if np.unique(codes).size < 2:
        return _constant(codes, weight)
    trees = Trees(rounds, rate=0.12, leaves=leaves, least=20, penalty=1.0)
    model = boosted_classifier(shown, codes, weight, trees)
    return lambda x, classes: _all_classes(model, x, classes)


def _constant(codes: Index, weight: Array | None) -> _Predict:
    def predict(x: Array, classes: int) -> Array:
        share = np.bincount(codes, weights=weight, minlength=classes)
        return np.tile(log_probabilities(share[None] / share.sum()), (len(x), 1))

    return predict


def _all_classes(model: Any, x: Array, classes: int) -> Array:
    """Log-probabilities with a column for every class, also those the model never saw."""
    out = np.zeros((len(x), classes))
    for start in range(0, len(x), _TEST_CHUNK):
        rows = slice(start, start + _TEST_CHUNK)
        out[rows, model.classes_] = model.predict_proba(x[rows])
    return log_probabilities(out)
