"""Simple propensity models, as published: one calibrated learner, cross-fitted or held out.

L2 logistic regression or histogram gradient boosting on the features, calibrated by Platt scaling
or isotonic regression on the other half (000, Algorithm 4 and Section 7). The richer default is in
``stack.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.errors import InputError
from divulge.types import Array, Index
from divulge.work.threads import Sized

LEARNERS = ("logistic", "boosting")
CALIBRATIONS = ("platt", "isotonic")
_EDGE = 1e-3


def _learner(name: str, seed: int) -> Any:
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=1.0, max_iter=500)
    if name == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return Sized(
            HistGradientBoostingClassifier(
                max_iter=100,
                learning_rate=0.1,
                max_leaf_nodes=16,
                l2_regularization=1.0,
                early_stopping=False,
                random_state=seed,
            )
        )
    raise InputError(f"Unknown propensity learner {name!r}. Choose from {', '.join(LEARNERS)}.")


def fit_log_odds(
    features: Array,
    truth: Array,
    *,
    learner: str = "logistic",
    calibration: str = "platt",
    rng: np.random.Generator,
) -> Callable[[Array], Array]:
    """Fit on one half, calibrate on the other, swap, and average the two log-odds."""
    if calibration not in CALIBRATIONS:
        raise InputError(f"Unknown calibration {calibration!r}. Choose from {CALIBRATIONS}.")
    halves = _balanced_halves(truth, rng)
    fits = [
        _calibrated(features, truth, a, b, learner, calibration, int(rng.integers(2**31)))
        for a, b in (halves, halves[::-1])
    ]
    return lambda x: np.mean([fit(x) for fit in fits], axis=0)


def _calibrated(
    features: Array,
    truth: Array,
    fit_on: Index,
    check_on: Index,
    learner: str,
    calibration: str,
    seed: int,
) -> Callable[[Array], Array]:
    model = _learner(learner, seed).fit(features[fit_on], truth[fit_on] > 0.0)
    raw = np.asarray(model.decision_function(features[check_on]), dtype=float)
    if calibration == "platt":
        from divulge.bounds.learning import logistic

        scale = logistic(raw[:, None], truth[check_on], np.zeros(raw.size))
        return lambda x: scale(np.asarray(model.decision_function(x), dtype=float)[:, None])
    from sklearn.isotonic import IsotonicRegression

    steps = IsotonicRegression(y_min=_EDGE, y_max=1.0 - _EDGE, out_of_bounds="clip")
    steps.fit(raw, truth[check_on] > 0.0)

    def predict(x: Array) -> Array:
        p = np.asarray(steps.predict(model.decision_function(x)), dtype=float)
        return np.asarray(np.log(p) - np.log1p(-p), dtype=float)

    return predict


def _balanced_halves(truth: Array, rng: np.random.Generator) -> tuple[Index, Index]:
    """Two random halves with the same share of members."""
    first, second = [], []
    for kind in (1.0, -1.0):
        rows = rng.permutation(np.flatnonzero(truth == kind))
        first.append(rows[::2])
        second.append(rows[1::2])
    return np.concatenate(first), np.concatenate(second)


def cross_fit(
    features: Array,
    truth: Array,
    *,
    learner: str = "logistic",
    calibration: str = "platt",
    rng: np.random.Generator,
) -> Array:
    """000, Algorithm 4: each half is predicted by the fit on the other."""
    out = np.empty(truth.size)
    halves = _balanced_halves(truth, rng)
    for fit_on, predict_on in (halves, halves[::-1]):
        predict = fit_log_odds(
            features[fit_on], truth[fit_on], learner=learner, calibration=calibration, rng=rng
        )
        out[predict_on] = predict(features[predict_on])
    return out


def split_fit(
    features: Array,
    truth: Array,
    order: npt.NDArray[np.integer[Any]],
    learned: int,
    *,
    learner: str,
    calibration: str = "platt",
    rng: np.random.Generator,
) -> tuple[Array, dict[str, Any]]:
    """Log-odds fitted on the head of the order: cross-fitted there, predicted on the tail."""
    head, tail = order[:learned], order[learned:]
    out = np.empty(truth.size)
    out[head] = cross_fit(
        features[head], truth[head], learner=learner, calibration=calibration, rng=rng
    )
    predict = fit_log_odds(
        features[head], truth[head], learner=learner, calibration=calibration, rng=rng
    )
    out[tail] = predict(features[tail])
    return out, {
        "learner": learner,
        "calibration": calibration,
        "log_loss": log_loss(out[head], truth[head]),
    }


def recentred(truth: Array, coin: float) -> float:
    """What exchanges the share of members among these records for the coin's, in log-odds."""
    share = float(np.mean(truth > 0.0))
    return coin - math.log(share / (1.0 - share))


def log_loss(log_odds: Array, truth: Array) -> float:
    """Mean cross-entropy of the truths under the log-odds."""
    return float(np.mean(np.logaddexp(0.0, -truth * log_odds)))
