"""From scored trials and their features to trials prepared for every correction.

Three cases: no features (nothing is known of the shift), known propensities, and estimated ones.
Estimated propensities come with a prognostic score, trimming to overlap, a blind baseline and an
allowance for what both nuisance models may have missed (``robust.py``), or from one simple learner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.errors import CannotConclude
from divulge.shift import combine, propensity, robust
from divulge.shift.prepared import ESTIMATED, KNOWN, NO_FEATURES, Prepared

Array = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]
ESTIMATORS = ("auto", "logistic", "boosting")
TRIM = 1.5
CALIBRATION_SHARE = 0.1
LEARNED_SHARE = 0.5
LEAST_OVERLAP = 0.02
LEAST_TRIALS = 100


@dataclass(frozen=True)
class Adjusted:
    """Prepared trials, and what is known of the quality of the adjustment."""

    prepared: Prepared
    features: bool
    """Whether the records' features were used at all."""
    overlap: float
    """Share of the trials inside the trim."""
    quality: Mapping[str, Any] = field(default_factory=dict)
    c_lb: float | None = None
    """What a blind baseline proves against the propensities."""


def adjust(
    scores: Array,
    truth: Array,
    features: Array,
    *,
    coin: float,
    known: Array | None,
    estimator: str,
    error: float,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Adjusted:
    """Prepare the trials; CannotConclude where there is (almost) no overlap."""
    order = rng.permutation(truth.size)
    if known is None and features.shape[1] > 0:
        return _estimated(
            scores,
            truth,
            features,
            order,
            coin=coin,
            estimator=estimator,
            error=error,
            rng=rng,
            progress=progress,
        )
    learned = max(1, round(CALIBRATION_SHARE * truth.size))
    score = combine.one_score(scores, truth, order[:learned], rng)
    log_odds = np.full(truth.size, coin) if known is None else known
    prepared = Prepared(
        truth=truth,
        raw=score,
        score=score,
        log_odds=log_odds,
        coin=coin,
        order=order,
        learned=learned,
        bet_score=score,
        bet_log_odds=log_odds,
        assumption=NO_FEATURES if known is None else KNOWN,
    )
    inside = float(np.mean(np.abs(log_odds - coin) <= 6.0))
    if inside < LEAST_OVERLAP:
        raise CannotConclude(_no_overlap(inside, 6.0))
    return Adjusted(prepared, known is not None, inside)


def _estimated(
    scores: Array,
    truth: Array,
    features: Array,
    order: npt.NDArray[np.intp],
    *,
    coin: float,
    estimator: str,
    error: float,
    rng: np.random.Generator,
    progress: Progress | None,
) -> Adjusted:
    learned = round(LEARNED_SHARE * truth.size)
    if truth.size < LEAST_TRIALS:
        raise CannotConclude(
            f"{truth.size} trials are too few to estimate the shift from the features; at least "
            f"{LEAST_TRIALS} are needed."
        )
    score = combine.one_score(scores, truth, order[:learned], rng)
    if estimator != "auto":
        log_odds, quality = propensity.split_fit(
            features, truth, order, learned, estimator=estimator, rng=rng
        )
        fitted = robust.Fitted(
            log_odds=log_odds, score=score, bet_log_odds=log_odds, bet_score=score, quality=quality
        )
    else:
        fitted = robust.fit(
            score,
            truth,
            features,
            order,
            learned,
            trim=TRIM,
            coin=coin,
            error=error / 2.0,
            rng=rng,
            progress=progress,
        )
    tail = order[learned:]
    inside = float(np.mean(np.abs(fitted.log_odds[tail] - coin) <= TRIM))
    if inside < LEAST_OVERLAP or inside * tail.size < 20:
        raise CannotConclude(_no_overlap(inside, TRIM))
    if not np.isfinite(fitted.allowance) or fitted.allowance > robust.MOST_ALLOWANCE:
        raise CannotConclude(
            "The shift cannot be estimated well enough from this many rows: the allowance for what "
            f"was missed is {fitted.allowance:.2f} in log-odds, above {robust.MOST_ALLOWANCE:g}. "
            "More non-members, or fewer features, would help."
        )
    prepared = Prepared(
        truth=truth,
        raw=score,
        score=fitted.score,
        log_odds=fitted.log_odds,
        coin=coin,
        order=order,
        learned=learned,
        bet_score=fitted.bet_score,
        bet_log_odds=fitted.bet_log_odds,
        trim=TRIM,
        allowance=fitted.allowance,
        allowance_mu=fitted.allowance_mu,
        assumption=ESTIMATED,
    )
    return Adjusted(prepared, True, inside, fitted.quality, fitted.c_lb)


def _no_overlap(share: float, trim: float) -> str:
    return (
        f"Members and non-members hardly overlap: only {share:.1%} of the trials have a membership "
        f"log-odds within {trim:g} of the coin, judged by their features. With disjoint groups "
        "nothing can be proved; non-members that resemble the members are needed."
    )
