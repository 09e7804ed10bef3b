"""From scored trials and their features to trials prepared for every correction.

With features, every source of propensities (estimated by the stack or by one simple learner, fitted
on held-out records, given) has the same guards: a prognostic score, trimming to overlap, a blind
baseline and an allowance for what was missed (``robust.py``). Without features nothing is checked:
the coin is all that is known, or given propensities are the user's word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.errors import CannotConclude
from divulge.proof.prepared import CHECKED, ESTIMATED, HELD_OUT, KNOWN, NO_FEATURES, Prepared
from divulge.shift import combine, propensity, robust
from divulge.shift.sources import Fit, SimpleLearner, Source
from divulge.shift.stack import fit_propensity
from divulge.text.rounding import at_most, short
from divulge.types import Array, Floats, Places, Progress, permutation, slices

ESTIMATORS = ("auto", *propensity.LEARNERS)
TRIM = 1.5
FAR = 6.0
CALIBRATION_SHARE = 0.1
ATTACK_SHARE = 0.3
LEARNED_SHARE = 0.5
LEAST_OVERLAP = 0.02
LEAST_TRIALS = 400
LEAST_HELD_OUT = 40
"""Held-out records of either kind."""


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
    overlap: float
    """Share of the counted trials inside the trim."""
    source: Propensities
    quality: Mapping[str, Any] = field(default_factory=dict)
    c_lb: float | None = None
    """What a blind baseline proves against the propensities; None: there was none."""

    @property
    def unchecked(self) -> str:
        """Why no baseline was tried: a missing one is not a silent one."""
        if self.prepared.trim is not None:
            return (
                "Too few trials overlap for a baseline to be tried that does not see the model: "
                "the propensities were not checked."
            )
        if self.source.known is not None:
            return (
                "The given propensities were not checked: that needs features, and at least "
                f"{LEAST_TRIALS} trials."
            )
        return "No features were given: a difference between the groups was not ruled out."


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
    few = truth.size < LEAST_TRIALS
    if source.known is not None and (few or features.shape[1] == 0):
        return _vouched(score, truth, order, learned, source.known, coin, source)
    if features.shape[1] == 0:
        nothing = np.broadcast_to(np.float64(coin), truth.shape)
        return _vouched(score, truth, order, learned, nothing, coin, source)
    if few:
        raise CannotConclude(
            f"{truth.size} trials are too few to judge the shift from the features; at least "
            f"{LEAST_TRIALS} are needed."
        )
    return _guarded(
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


def _vouched(
    score: Floats,
    truth: npt.NDArray[Any],
    order: Places,
    learned: int,
    log_odds: Array,
    coin: float,
    source: Propensities,
) -> Adjusted:
    """Log-odds that nothing checks: a small share of the trials suffices to learn from."""
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
        assumption=NO_FEATURES if source.known is None else KNOWN,
    )
    return Adjusted(prepared, inside, source)


def _taught(
    source: Propensities, features: Array, truth: Array
) -> tuple[Source, Array, Array, dict[str, Any]]:
    """Who fits the log-odds; features and truths of the trials and, below, of held-out records."""
    if source.known is not None:
        return Source(given=source.known), features, truth, {}
    fit: Fit = fit_propensity
    said: dict[str, Any] = {}
    if source.estimator != "auto":
        fit = SimpleLearner(source.estimator, source.calibration)
        said = {"learner": source.estimator, "calibration": source.calibration}
    if source.heldout is None:
        return Source(fit), features, truth, said
    x, kinds = source.heldout
    fewest = int(min((kinds > 0.0).sum(), (kinds < 0.0).sum()))
    if fewest < LEAST_HELD_OUT:
        raise CannotConclude(
            f"The held-out records hold only {fewest} of one kind; to fit the shift on them takes "
            f"at least {LEAST_HELD_OUT} members and as many non-members."
        )
    rows = np.arange(truth.size, truth.size + kinds.size)
    said["heldout"] = int(kinds.size)
    both = np.concatenate([features, x]), np.concatenate([truth, kinds])
    return Source(fit, heldout=rows), *both, said


def _guarded(
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
    """The same guards for every source of the log-odds."""
    taught, every_feature, every_truth, said = _taught(source, features, truth)
    trim = TRIM if source.known is None else FAR  # fits do not extrapolate; a user's word may
    fitted = robust.fit(
        score,
        every_truth,
        every_feature,
        order,
        learned,
        trim=trim,
        coin=coin,
        error=error / 2.0,
        rng=rng,
        source=taught,
        progress=progress,
    )
    tail = order[learned:]
    inside = float(np.mean(np.abs(fitted.log_odds[tail] - coin) <= trim))
    if inside < LEAST_OVERLAP or inside * tail.size < 20:
        raise CannotConclude(_no_overlap(inside, trim))
    if not np.isfinite(fitted.allowance):
        raise CannotConclude(
            f"Only {inside:.1%} of the {tail.size} counted trials overlap, too few to judge what "
            "the propensities may have missed. More records of both kinds would help."
        )
    if fitted.allowance > robust.MOST_ALLOWANCE:
        raise CannotConclude(_missed_too_much(source, fitted))
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
        trim=trim,
        allowance=fitted.allowance,
        allowance_mu=fitted.allowance_mu,
        assumption=_assumed(source),
    )
    return Adjusted(prepared, inside, source, {**said, **fitted.quality}, fitted.c_lb)


def _missed_too_much(source: Propensities, fitted: robust.Fitted) -> str:
    """Why nothing is left to prove, and what to do about it."""
    beaten = ""
    if fitted.c_lb:
        by = "a baseline that sees the record but not the model"
        beaten = f", {short(fitted.c_lb)} of it proved by {by}"
    if source.known is not None:
        whose = "The given propensities do not account for the shift"
        remedy = "Without --propensity the shift is estimated from the features."
    elif source.estimator != "auto":
        whose = f"One {source.estimator} learner does not account for the shift"
        remedy = "The default estimator (auto) is richer."
    elif source.heldout is not None:
        whose = "The propensity fitted on the held-out records does not account for the shift"
        remedy = "More held-out records, drawn like the members and non-members, would help."
    else:
        whose = "The shift cannot be estimated well enough from this many rows"
        remedy = "More non-members, or fewer features, would help."
    return (
        f"{whose}: the allowance for what was missed is {at_most(fitted.allowance, 2)} in "
        f"log-odds{beaten}. Above {robust.MOST_ALLOWANCE:g} nothing can be concluded. {remedy}"
    )


def _assumed(source: Propensities) -> str:
    if source.known is not None:
        return CHECKED
    return ESTIMATED if source.heldout is None else HELD_OUT


def _no_overlap(share: float, trim: float) -> str:
    return (
        f"Members and non-members hardly overlap: only {share:.1%} of the trials have a membership "
        f"log-odds within {trim:g} of the coin, judged by their features. With disjoint groups "
        "nothing can be proved; non-members that resemble the members are needed."
    )
