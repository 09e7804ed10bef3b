"""Learning to bet: from revealed trials to the log-likelihood ratio of the next ones.

A learner is a function ``fit(features, truths, log_odds) -> predict`` where ``predict(features)``
returns, per trial, ``logit q - l``: the evidence for membership beyond the prior log-odds. Whatever
a learner returns, the bet is valid; a better learner only wins more. Evidence is capped at the
logarithm of the number of revealed trials, because n trials cannot teach odds beyond n.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression
from scipy.special import expit, logit, xlogy

from divulge.bounds.tree_boosting import Trees, boosted_classifier
from divulge.errors import require
from divulge.types import Array

Predict: TypeAlias = Callable[[Array], Array]
Learner: TypeAlias = Callable[[Array, Array, Array], Predict]
_RIDGE = 1.0
_TREES = Trees(rounds=100, rate=0.1, leaves=8, least=20, penalty=1.0)
_MANY_LEVELS = 5000
"""Learned trials from which on the levels are so many that one of them is lucky."""
_ENOUGH = 2.0
"""Trials that make an end level sure, in square roots of all."""


def _balancing_weights(truths: Array, log_odds: Array) -> Array:
    """``min(1, e^{-S l})``: the weighted trials are a game of fair coins (balancing)."""
    return np.exp(-np.maximum(0.0, truths * log_odds))


def _capped(evidence: Array, revealed: int) -> Array:
    cap = np.log(revealed + 1.0)
    return np.clip(evidence, -cap, cap)


def logistic(features: Array, truths: Array, log_odds: Array) -> Predict:
    """Logistic regression, prior log-odds as offset, unit ridge on standardised slopes."""
    centre = features.mean(axis=0)
    scale = features.std(axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)

    def design(x: Array) -> Array:
        z = np.clip((x - centre) / scale, -50.0, 50.0)
        return np.column_stack([np.ones(x.shape[0]), z])

    coefficients = _newton(design(features), truths, log_odds)
    revealed = truths.size
    return lambda x: _capped(design(x) @ coefficients, revealed)


def _newton(design: Array, truths: Array, offset: Array, steps: int = 25) -> Array:
    """Penalised Newton iterations with step halving; the objective is strictly convex."""
    target = (truths > 0.0).astype(float)
    beta = np.zeros(design.shape[1])
    penalty = np.full(design.shape[1], _RIDGE)

    def loss(b: Array) -> float:
        eta = design @ b + offset
        fit = np.logaddexp(0.0, eta) - target * eta
        return float(fit.sum() + 0.5 * (penalty * b * b).sum())

    current = loss(beta)
    for _ in range(steps):
        mean = expit(design @ beta + offset)
        gradient = design.T @ (mean - target) + penalty * beta
        curvature = (design * (mean * (1.0 - mean))[:, None]).T @ design + np.diag(penalty)
        move = np.linalg.solve(curvature, gradient)
        step = 1.0
        while (proposal := loss(beta - step * move)) > current and step > 1e-4:
            step *= 0.5
        if proposal > current:
            break
        beta = beta - step * move
        if current - proposal < 1e-9 * (1.0 + abs(current)):
            break
        current = proposal
    return beta


def _rises(score: Array, truths: npt.NDArray[Any]) -> bool:
    """The sign of Spearman's correlation with the truths, by two sorts: scikit-learn's "auto"."""
    members, others = np.sort(score[truths > 0.0]), np.sort(score[truths < 0.0])
    below = np.searchsorted(others, members, "left").sum()
    up_to = np.searchsorted(others, members, "right").sum()
    return bool(below + up_to >= members.size * others.size)


def _firsts(ordered: Array) -> npt.NDArray[np.intp]:
    """Where each value of a sorted score begins; values that differ by rounding alone are one."""
    apart = np.finfo(np.result_type(ordered, np.float32)).resolution
    gaps = np.diff(ordered)
    firsts = np.flatnonzero(np.append(True, gaps > 0.0))
    if np.any((gaps > 0.0) & (gaps < apart)):
        kept = [0]
        for row in firsts.tolist():
            if ordered[row] - ordered[kept[-1]] >= apart:
                kept.append(row)
        firsts = np.array(kept)
    return firsts


def _monotone(score: Array, truths: Array, weights: Array) -> Predict:
    """The share of members at a score by isotonic regression, linear between the learned scores.

    The same as scikit-learn's, whose checks of a small input cost more than the fit.
    """
    _require_finite(score)
    rows = np.flatnonzero(weights)
    rows = rows[np.argsort(score[rows], kind="stable")]
    firsts = _firsts(score[rows])
    mass = np.add.reduceat(weights[rows], firsts)
    share = np.add.reduceat(weights[rows] * (truths[rows] > 0.0), firsts) / mass
    fit = isotonic_regression(share, weights=mass, increasing=_rises(score, truths))
    ends = np.union1d(fit.blocks[:-1], fit.blocks[1:] - 1)  # a level is constant between its ends
    known: Array = score[rows[firsts[ends]]]
    level: Array = fit.x[ends]

    def predict(x: Array) -> Array:
        _require_finite(x)
        return np.interp(x, known, level)

    return predict


def _require_finite(score: Array) -> None:
    require(bool(np.isfinite(score).all()), "Scores must be finite: found NaN or infinity.")


def isotonic(features: Array, truths: Array, log_odds: Array) -> Predict:
    """Monotone evidence in the first feature: isotonic regression on balanced weights.

    Each level of the step function is smoothed by one prior trial of each kind, so that no level
    is ever certain.
    """
    score = features[:, 0]
    weights = _balancing_weights(truths, log_odds)
    share = _monotone(score, truths, weights)
    values, which = np.unique(np.round(share(score), 12), return_inverse=True)
    mass: Array = np.bincount(which, weights=weights, minlength=values.size).astype(float)
    hits: Array = np.bincount(which, weights * (truths > 0.0), values.size).astype(float)
    if truths.size >= _MANY_LEVELS:
        mass, hits = _without_luck(mass, hits, truths.size)
    smooth = logit((hits + 1.0) / (mass + 2.0))
    revealed = truths.size

    def predict(x: Array) -> Array:
        return _capped(np.interp(np.round(share(x[:, 0]), 12), values, smooth), revealed)

    return predict


def _without_luck(mass: Array, hits: Array, trials: int) -> tuple[Array, Array]:
    """Small levels at either end pooled with the next ones, unless they are far apart.

    The largest of many levels is the luckiest: among 20,000 trials of which none is known beyond
    73% some fifteen at the end are all right by chance, and guesses that rely on them fail. Far
    apart: two levels gain more likelihood than Schwarz's criterion asks of two parameters, the
    level and the place of its step.
    """
    mass, hits = mass.copy(), hits.copy()
    for ends in (np.arange(mass.size), np.arange(mass.size)[::-1]):
        for k in range(1, mass.size):
            pooled, here = ends[:k], ends[k]
            m, h = np.array([mass[pooled[0]], mass[here]]), np.array([hits[pooled[0]], hits[here]])
            apart = float(_log_likelihood(m, h).sum())
            together = float(_log_likelihood(m.sum(), h.sum()))
            if m[0] >= _ENOUGH * np.sqrt(trials) or apart - together >= np.log(trials):
                break
            mass[ends[: k + 1]], hits[ends[: k + 1]] = m.sum(), h.sum()
    return mass, hits


def _log_likelihood(mass: Array | float, hits: Array | float) -> Array:
    return np.asarray(xlogy(hits, hits / mass) + xlogy(mass - hits, 1.0 - hits / mass))


def boosting(features: Array, truths: Array, log_odds: Array) -> Predict:
    """Gradient boosting on balanced weights, shrunk; for several scores or features."""
    if truths.size < 100:
        return lambda x: np.zeros(x.shape[0])
    weights = _balancing_weights(truths, log_odds)
    model = boosted_classifier(features, truths > 0.0, weights, _TREES)
    revealed = truths.size
    return lambda x: _capped(model.decision_function(x), revealed)


def stacked(features: Array, truths: Array, log_odds: Array, folds: int = 5) -> Predict:
    """Logistic and isotonic, averaged by the likelihood of their out-of-fold predictions.

    The rows must be in random order: fold k is every ``folds``-th row.
    """
    return stacked_and_held(features, truths, log_odds, folds)[0]


def stacked_and_held(
    features: Array, truths: Array, log_odds: Array, folds: int = 5
) -> tuple[Predict, Array]:
    """The same, and the evidence of each row by those that did not learn from its fold."""
    members = (logistic, isotonic)
    likelihood = np.zeros(len(members))
    held = np.zeros((len(members), truths.size))
    fold = np.arange(truths.size) % folds
    for k in range(folds):
        out, rest = fold == k, fold != k
        if not out.any() or np.unique(truths[rest]).size < 2:
            continue
        for j, fit in enumerate(members):
            held[j, out] = fit(features[rest], truths[rest], log_odds[rest])(features[out])
            margin = truths[out] * (held[j, out] + log_odds[out])
            likelihood[j] -= np.logaddexp(0.0, -margin).sum()
    predictors = [fit(features, truths, log_odds) for fit in members]

    def predict(x: Array) -> Array:
        return mixed(np.stack([p(x) for p in predictors]), np.zeros(len(x)), likelihood)

    return predict, mixed(held, log_odds, likelihood)


def mixed(evidence: Array, log_odds: Array, likelihood: Array) -> Array:
    """One evidence from several: probabilities averaged by the likelihood of past predictions."""
    weight = np.exp(likelihood - likelihood.max())
    weight /= weight.sum()
    yes = np.tensordot(weight, expit(evidence + log_odds), axes=1)
    no = np.tensordot(weight, expit(-evidence - log_odds), axes=1)
    return np.asarray(np.log(yes) - np.log(no) - log_odds, dtype=float)


LEARNERS: dict[str, Learner] = {
    "logistic": logistic,
    "isotonic": isotonic,
    "boosting": boosting,
    "stacked": stacked,
}


def named(names: tuple[str | Learner, ...]) -> tuple[Learner, ...]:
    """Learners by name; a callable stands for itself."""
    for name in names:
        require(
            callable(name) or name in LEARNERS,
            f"Unknown learner {name!r}. Choose from {', '.join(LEARNERS)}, or pass a callable.",
        )
    return tuple(name if callable(name) else LEARNERS[name] for name in names)
