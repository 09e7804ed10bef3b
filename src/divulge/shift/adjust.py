"""From scored trials and their features to trials prepared for every correction.

Four cases: no features (nothing is known of the shift), known propensities, propensities fitted on
held-out records, and estimated ones. The default estimate comes with a prognostic score, trimming
to overlap, a blind baseline and an allowance for what both nuisance models may have missed
(``robust.py``); one simple learner, as published, is an option.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.errors import CannotConclude
from divulge.shift import combine, propensity, robust
from divulge.shift.prepared import ESTIMATED, HELD_OUT, KNOWN, NO_FEATURES, SIMPLE, Prepared
from divulge.trials import permutation, slices

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.floating[Any]]
Progress = Callable[[str, int, int], None]
ESTIMATORS = ("auto", *propensity.LEARNERS)
TRIM = 1.5
FAR = 6.0
CALIBRATION_SHARE = 0.1
ATTACK_SHARE = 0.3
LEARNED_SHARE = 0.5
LEAST_OVERLAP = 0.02
LEAST_TRIALS = 400


@dataclass(frozen=True)
class Propensities:
    """Where the propensities come from."""

    known: Array | None = field(default=None, repr=False)
    """Log-odds per trial that the user vouches for."""
    heldout: tuple[Array, Array] | None = field(default=None, repr=False)
    """Features and truths of further records, on which the propensity is fitted."""
    estimator: str = "auto"
    calibration: str = "platt"


ATTACKS = ("scores", "learned")


@dataclass(frozen=True)
class Adjusted:
    """Prepared trials, and what is known of the quality of the adjustment."""

    prepared: Prepared
    features: bool
    """Whether the records' features were used at all."""
    overlap: float
    """Share of the counted trials inside the trim."""
    quality: Mapping[str, Any] = field(default_factory=dict)
    c_lb: float | None = None
    """What a blind baseline proves against the propensities."""


def adjust(
    scores: Floats,
    truth: npt.NDArray[Any],
    features: Array,
    *,
    coin: float,
    source: Propensities,
    error: float,
    rng: np.random.Generator,
    attack: str = "scores",
    progress: Progress | None = None,
) -> Adjusted:
    """Prepare the trials; CannotConclude where there is (almost) no overlap.

    The attack ranks by the scores, or by a combination of scores and features that is learned on
    trials that are never counted.
    """
    order = permutation(truth.size, rng)
    given = source.known is not None or source.heldout is not None or features.shape[1] == 0
    combined = attack == "learned" or scores.shape[1] > 1
    share = LEARNED_SHARE if not given else ATTACK_SHARE if combined else CALIBRATION_SHARE
    learned = max(1, round(share * truth.size))
    seen = features if attack == "learned" and features.shape[1] else None
    score = combine.one_score(scores, truth, order[:learned], rng, seen)
    if source.known is not None:
        return _given(score, truth, order, learned, source.known, coin, KNOWN)
    if features.shape[1] == 0:
        nothing = np.broadcast_to(np.float64(coin), truth.shape)
        return _given(score, truth, order, learned, nothing, coin, NO_FEATURES)
    if source.heldout is not None:
        log_odds, quality = _from_heldout(features, coin, source, source.heldout, rng)
        return _given(score, truth, order, learned, log_odds, coin, HELD_OUT, quality)
    if truth.size < LEAST_TRIALS:
        raise CannotConclude(
            f"{truth.size} trials are too few to estimate the shift from the features; at least "
            f"{LEAST_TRIALS} are needed."
        )
    return _estimated(
        score.astype(float),
        truth.astype(float),
        features,
        order.astype(np.intp),
        learned,
        coin,
        source,
        error,
        rng,
        progress,
    )


def _given(
    score: Floats,
    truth: npt.NDArray[Any],
    order: Index,
    learned: int,
    log_odds: Array,
    coin: float,
    assumption: str,
    quality: Mapping[str, Any] | None = None,
) -> Adjusted:
    """Log-odds that do not depend on these trials: a small share of them suffices to learn from."""
    near = sum(int((np.abs(log_odds[p] - coin) <= FAR).sum()) for p in slices(truth.size))
    inside = near / truth.size
    if inside < LEAST_OVERLAP:
        raise CannotConclude(_no_overlap(inside, FAR))
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
        trim=TRIM if assumption == HELD_OUT else None,
        assumption=assumption,
    )
    return Adjusted(prepared, assumption != NO_FEATURES, inside, quality or {})


def _from_heldout(
    features: Array,
    coin: float,
    source: Propensities,
    heldout: tuple[Array, Array],
    rng: np.random.Generator,
) -> tuple[Array, dict[str, Any]]:
    """Fit on the held-out records; their share of members is exchanged for the coin's."""
    x, truth = heldout
    name = source.estimator
    if name == "auto":
        name = propensity.better_learner(x, truth, calibration=source.calibration, rng=rng)
    predict = propensity.fit_log_odds(
        x, truth, learner=name, calibration=source.calibration, rng=rng
    )
    share = float(np.mean(truth > 0.0))
    log_odds = predict(features) - np.log(share / (1.0 - share)) + coin
    return log_odds, {"learner": name, "calibration": source.calibration, "heldout": truth.size}


def _estimated(
    score: Array,
    truth: Array,
    features: Array,
    order: npt.NDArray[np.intp],
    learned: int,
    coin: float,
    source: Propensities,
    error: float,
    rng: np.random.Generator,
    progress: Progress | None,
) -> Adjusted:
    simple = source.estimator != "auto"
    if simple:
        log_odds, quality = propensity.split_fit(
            features,
            truth,
            order,
            learned,
            learner=source.estimator,
            calibration=source.calibration,
            rng=rng,
        )
        fitted = robust.Fitted(log_odds, score, log_odds, score, quality)
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
    if not np.isfinite(fitted.allowance):
        raise CannotConclude(
            f"Only {inside:.1%} of the {tail.size} counted trials overlap, too few to judge what "
            "the estimated shift may have missed. More records of both kinds would help."
        )
    if fitted.allowance > robust.MOST_ALLOWANCE:
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
        assumption=SIMPLE if simple else ESTIMATED,
    )
    return Adjusted(prepared, True, inside, fitted.quality, fitted.c_lb)


def _no_overlap(share: float, trim: float) -> str:
    return (
        f"Members and non-members hardly overlap: only {share:.1%} of the trials have a membership "
        f"log-odds within {trim:g} of the coin, judged by their features. With disjoint groups "
        "nothing can be proved; non-members that resemble the members are needed."
    )
