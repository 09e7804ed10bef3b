"""From scored trials and their features to trials prepared for every correction.

With features, every source of propensities (estimated by the stack or by one simple learner, fitted
on held-out records, given) has the same guards: a prognostic score, trimming to overlap, a blind
baseline and an allowance for what was missed (``robust.py``). Without features nothing is checked:
the coin is all that is known, or given propensities are the user's word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from divulge.errors import CannotConclude
from divulge.proof.prepared import CHECKED, ESTIMATED, HELD_OUT, KNOWN, NO_FEATURES, Prepared
from divulge.proof.rule import Rule
from divulge.shift import combine, robust
from divulge.shift.levels import Codes
from divulge.shift.sources import Fit, PropensitySource, SimpleLearner
from divulge.shift.stack import fit_propensity
from divulge.text.rounding import at_most, short
from divulge.trials import Trials
from divulge.types import Array, Floats, Places, Progress, permutation, slices

TRIM = 1.5
FAR = 6.0
CALIBRATION_SHARE = 0.1
ATTACK_SHARE = 0.3
LEARNED_SHARE = 0.5
LEAST_OVERLAP = 0.02
LEAST_TRIALS = 250
LEAST_HELD_OUT = 40
"""Held-out records of either kind."""


TOO_FEW = (
    "Too few trials overlap to run the blind baseline, which does not see the model: the "
    "propensities were not checked."
)
UNCHECKED = (
    "The given propensities were not checked: that needs features, and at least "
    f"{LEAST_TRIALS} trials."
)
NOT_RULED_OUT = (
    "No features were given: distribution shift between members and non-members was not ruled out."
)


def adjust(
    trials: Trials,
    rule: Rule,
    rng: np.random.Generator,
    progress: Progress | None = None,
    finds: Callable[[Prepared], robust.BeforeGuards] | None = None,
) -> Prepared:
    """Prepare the trials; CannotConclude where there is (almost) no overlap.

    The attack ranks by the scores, or by a combination of scores and features that is learned on
    trials that are never counted. What ``finds`` nothing before the guards is spared them,
    and what they explain is spared the rest of them.
    """
    truth, scores, features = trials.truth, trials.columns, trials.shown
    order = permutation(truth.size, rng)
    given = trials.log_odds is not None or trials.heldout is not None or features is None
    combined = rule.combine == "learned" or scores.shape[1] > 1
    share = LEARNED_SHARE if not given else ATTACK_SHARE if combined else CALIBRATION_SHARE
    learned = max(1, round(share * truth.size))
    seen = features if rule.combine == "learned" else None
    score = combine.one_score(scores, truth, order[:learned], rng, seen)
    few = truth.size < LEAST_TRIALS
    if features is None or (trials.log_odds is not None and few):
        return _vouched(trials, score, order, learned)
    if few:
        raise CannotConclude(
            f"{truth.size} trials are too few to estimate the distribution shift from the "
            f"features; at least {LEAST_TRIALS} are needed."
        )
    return _guarded(trials, score, order, learned, rule, rng, progress, finds)


def _vouched(trials: Trials, score: Floats, order: Places, learned: int) -> Prepared:
    """Log-odds that nothing checks: a small share of the trials suffices to learn from."""
    truth, coin, known = trials.truth, trials.coin, trials.log_odds
    if known is None:
        log_odds, inside = np.broadcast_to(np.float64(coin), truth.shape), 1.0
    else:
        near = sum(int((np.abs(known[p] - coin) <= FAR).sum()) for p in slices(truth.size))
        log_odds, inside = known, near / truth.size
    if inside < LEAST_OVERLAP:
        raise CannotConclude(_no_overlap(inside, FAR))
    return Prepared(
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
        only_coin=known is None,
        overlap=inside,
        unchecked=NOT_RULED_OUT if known is None else UNCHECKED,
    )


def _taught(
    trials: Trials, rule: Rule, features: Array, truth: Array
) -> tuple[PropensitySource, Array, Array, dict[str, Any]]:
    """Who fits the log-odds; features and truths of the trials and, below, of held-out records."""
    if trials.log_odds is not None:
        return PropensitySource(given=trials.log_odds), features, truth, {}
    fit: Fit = fit_propensity
    said: dict[str, Any] = {}
    if rule.estimator != "auto":
        fit = SimpleLearner(rule.estimator, rule.calibration)
        said = {"learner": rule.estimator, "calibration": rule.calibration}
    if trials.heldout is None:
        return PropensitySource(fit), features, truth, said
    x, kinds = trials.heldout
    fewest = int(min((kinds > 0.0).sum(), (kinds < 0.0).sum()))
    if fewest < LEAST_HELD_OUT:
        raise CannotConclude(
            f"The held-out records hold only {fewest} of one kind; fitting the propensity on "
            f"them needs at least {LEAST_HELD_OUT} members and as many non-members."
        )
    rows = np.arange(truth.size, truth.size + kinds.size)
    said["heldout"] = int(kinds.size)
    both = np.concatenate([features, x]), np.concatenate([truth, kinds])
    return PropensitySource(fit, heldout=rows), *both, said


def _levels(trials: Trials) -> Codes | None:
    """Of the trials and, below, of held-out records."""
    if trials.levels is None or trials.heldout is None:
        return trials.levels
    assert trials.heldout_levels is not None
    return np.concatenate([trials.levels, trials.heldout_levels])


def _guarded(
    trials: Trials,
    given: Floats,
    places: Places,
    learned: int,
    rule: Rule,
    rng: np.random.Generator,
    progress: Progress | None,
    finds: Callable[[Prepared], robust.BeforeGuards] | None,
) -> Prepared:
    """The same guards for every source of the log-odds."""
    assert trials.features is not None
    score, truth, order = given.astype(float), trials.truth.astype(float), places.astype(np.intp)
    taught, every_feature, every_truth, said = _taught(trials, rule, trials.features, truth)
    trim = TRIM if trials.log_odds is None else FAR  # fits do not extrapolate; a user's word may
    tail = order[learned:]

    def prepared(fitted: robust.Fitted) -> Prepared:
        return Prepared(
            truth=truth,
            raw=score,
            score=fitted.score,
            log_odds=fitted.log_odds,
            coin=trials.coin,
            order=order,
            learned=learned,
            bet_score=fitted.bet_score,
            bet_log_odds=fitted.bet_log_odds,
            trim=trim,
            allowance=fitted.allowance,
            allowance_mu=fitted.allowance_mu,
            assumption=_assumed(trials),
            overlap=float(np.mean(np.abs(fitted.log_odds[tail] - trials.coin) <= trim)),
            quality={**said, **fitted.quality},
            c_lb=fitted.c_lb,
            unchecked=TOO_FEW if fitted.c_lb is None else "",
        )

    fitted = robust.fit(
        score,
        every_truth,
        every_feature,
        order,
        learned,
        trim=trim,
        coin=trials.coin,
        error=rule.half,
        rng=rng,
        source=taught,
        levels=_levels(trials),
        raw=rule.raw,
        finds=None if finds is None else lambda before: finds(prepared(before)),
        progress=progress,
    )
    assert min(fitted.allowance, fitted.allowance_mu) >= 0.0, "Guards only ever lower a bound."
    found = prepared(fitted)
    inside = found.overlap
    if inside < LEAST_OVERLAP or inside * tail.size < 20:
        raise CannotConclude(_no_overlap(inside, trim))
    if not np.isfinite(fitted.allowance):
        raise CannotConclude(
            f"Only {inside:.1%} of the {tail.size} counted trials overlap, too few to estimate "
            "what the propensities may have missed. More records of both kinds would help."
        )
    if fitted.allowance > robust.MOST_ALLOWANCE or (fitted.c_lb or 0.0) > robust.MOST_BLIND:
        raise CannotConclude(_missed_too_much(trials, rule, fitted))
    return found


def _missed_too_much(trials: Trials, rule: Rule, fitted: robust.Fitted) -> str:
    """Why nothing is left to prove, and what to do about it."""
    beaten = ""
    if fitted.c_lb:
        by = "a blind baseline, which sees the record but not the model"
        beaten = f", {short(fitted.c_lb)} of it proved by {by}"
    if trials.log_odds is not None:
        whose = "The given propensities do not account for the distribution shift"
        remedy = "Without --propensity the shift is estimated from the features."
    elif rule.estimator != "auto":
        whose = f"One {rule.estimator} learner does not account for the distribution shift"
        remedy = "The default estimator (auto) is richer."
    elif trials.heldout is not None:
        whose = (
            "The propensity fitted on the held-out records does not account for the "
            "distribution shift"
        )
        remedy = (
            "More held-out records, of the same distributions as the members and non-members, "
            "would help."
        )
    else:
        whose = "The distribution shift cannot be estimated well enough from this many rows"
        remedy = "More non-members, or fewer features, would help."
    return (
        f"{whose}: the allowance for missed shift is {at_most(fitted.allowance, 2)} in "
        f"log-odds{beaten}. Above {robust.MOST_ALLOWANCE:g}, or {robust.MOST_BLIND:g} proved by a "
        f"baseline, nothing can be concluded. {remedy}"
    )


def _assumed(trials: Trials) -> str:
    if trials.log_odds is not None:
        return CHECKED
    return ESTIMATED if trials.heldout is None else HELD_OUT


def _no_overlap(share: float, trim: float) -> str:
    return (
        f"Members and non-members hardly overlap: only {share:.1%} of the trials have a "
        f"membership log-odds within {trim:g} of the coin, estimated from their features. With "
        "disjoint groups nothing can be proved; non-members that resemble the members are "
        "needed."
    )
