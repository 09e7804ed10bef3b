"""The propensity stack: log-odds of membership given x, from four learners and a calibration.

Linear logistic, logistic on screened terms, boosting, and the screened one corrected by a kernel;
combined by non-negative logistic stacking on out-of-fold predictions. The weights need not sum to
one, so the stack calibrates itself: over-confident log-odds are a false signal of their own. The
prognostic scores are inputs, and the terms that matter for the score are always in (double
selection): shift that does not move the score does no harm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit

from divulge.shift.boosted import boosted_log_odds
from divulge.shift.design import FIT_ROWS, Model, Rows, View, at_most, extended
from divulge.shift.groups import fit_clusters, fit_kernel
from divulge.shift.levels import without_fold
from divulge.shift.linear import log_losses, logistic_ridge, ridge
from divulge.shift.prognostic import Prognostic
from divulge.shift.terms import Geometry, Terms, relevance, screen, singles, union
from divulge.types import Array, Index

FOLDS = 3
LEARNERS = ("linear", "terms", "boosting", "terms and kernel")
LARGEST = 8.0
"""A learner's log-odds are kept within that of the coin."""
_LARGEST_CORRECTION = 3.0
_FEWEST = 5
_SEED = 31
_SHRINKAGE = 2.0


@dataclass(frozen=True)
class Propensity:
    """Log-odds of membership: out of fold on the fitted trials, mean of the folds elsewhere."""

    fitted: Array = field(repr=False)
    """For the trials it was fitted on, each by models that did not see it."""
    predicted: Array = field(repr=False)
    """For the other trials asked for."""
    log_loss: float
    log_loss_linear: float
    log_loss_constant: float
    """Of a constant propensity, for comparison."""


def fit_propensity(
    truth: Array,
    records: Rows,
    prognostic: Prognostic,
    fit_on: Index,
    predict_on: Index,
    *,
    coin: float,
    rng: np.random.Generator,
) -> Propensity:
    """Cross-fit on ``fit_on``, predict ``predict_on``; no other truth is touched."""
    outcome = (truth[fit_on] > 0.0).astype(float)
    told = [prognostic.mean, prognostic.learners, *prognostic.levels.T]
    linear = np.column_stack([*told, prognostic.log_size] if prognostic.log_size.size else told)
    standard = prognostic.mean - prognostic.mean.mean()
    standard /= float(standard.std()) + 1e-12
    always = np.stack([standard * standard, np.abs(standard)], axis=1)
    design = extended(records, linear, always)
    fold = rng.permutation(fit_on.size) % FOLDS
    fitted = np.zeros((fit_on.size, len(LEARNERS)))
    predicted = np.zeros((predict_on.size, len(LEARNERS)))
    for k in range(FOLDS):
        if records.levels is not None:  # rates of revealed trials only
            rates = without_fold(records.levels, fit_on, outcome[:, None], fold, k)
            design = extended(records, np.concatenate([linear, rates], axis=1), always)
        train = at_most(np.flatnonzero(fold != k), FIT_ROWS, rng)
        view = design.view(fit_on[train])
        model = _fit_fold(view, outcome[train], records.geometry, prognostic, coin, _SEED + k)
        out = fold == k
        fitted[out] = design.predict([model], fit_on[out], len(LEARNERS))
        predicted += design.predict([model], predict_on, len(LEARNERS)) / FOLDS
    intercept, weights = stack_log_odds(fitted, outcome)
    own = intercept + fitted @ weights
    share = (outcome.sum() + 0.5) / (outcome.size + 1.0)
    constant = np.full(outcome.size, math.log(share / (1.0 - share)))
    return Propensity(
        own,
        intercept + predicted @ weights,
        float(log_losses(own, outcome).mean()),
        float(log_losses(fitted[:, 0], outcome).mean()),
        float(log_losses(constant, outcome).mean()),
    )


def _fit_fold(
    view: View, outcome: Array, geometry: Geometry, prognostic: Prognostic, coin: float, seed: int
) -> Model:
    """The four learners of one fold; terms are selected in two passes."""
    members = float(outcome.sum())
    if min(members, outcome.size - members) < _FEWEST:
        return _constant(members, outcome.size)
    shapes = singles(geometry.univariate(view.clipped))
    share = members / outcome.size
    own = relevance(view.clipped, outcome - share, np.full(outcome.size, share * (1.0 - share)))
    weight = np.maximum(own, prognostic.relevance)
    clusters = fit_clusters(view.clipped, weight, seed)
    kernel = fit_kernel(view.clipped, weight, seed)

    def columns(rows: View, terms: Terms) -> Array:
        more = [clusters(rows.clipped), terms.build(geometry, rows.clipped)]
        return np.concatenate([rows.linear, rows.always, *more], axis=1)

    def selected(mean: Array, *, triples: bool) -> Terms:
        return screen(
            geometry,
            view.clipped,
            outcome - mean,
            mean * (1.0 - mean),
            shapes=shapes,
            triples=triples,
        )

    linear = logistic_ridge(view.linear, outcome)
    terms = union(prognostic.terms, selected(expit(linear(view.linear)), triples=True))
    first = columns(view, terms)
    fitted = expit(logistic_ridge(first, outcome)(first))
    terms = union(terms, selected(fitted, triples=False))
    second = columns(view, terms)
    rich = logistic_ridge(second, outcome)
    mean = np.clip(expit(rich(second)), 0.01, 0.99)
    curvature = mean * (1.0 - mean)
    smooth = ridge(kernel(view.clipped), (outcome - mean) / curvature, curvature)
    boosted = boosted_log_odds(view.bins, outcome)

    def predict(rows: View) -> Array:
        base = rich(columns(rows, terms))
        correction = np.clip(
            smooth(kernel(rows.clipped)), -_LARGEST_CORRECTION, _LARGEST_CORRECTION
        )
        learners = [
            linear(rows.linear),
            base,
            boosted.predict(rows.bins),
            base + correction,
        ]
        stacked = np.stack(learners, axis=1)
        return np.asarray(np.clip(stacked, coin - LARGEST, coin + LARGEST))

    return predict


def _constant(members: float, trials: int) -> Model:
    """Too few of one kind to learn from."""
    value = math.log((members + 0.5) / (trials - members + 0.5))
    return lambda rows: np.full((rows.linear.shape[0], len(LEARNERS)), value)


def stack_log_odds(columns: Array, outcome: Array) -> tuple[float, Array]:
    """Non-negative logistic stacking: intercept, and one weight per column.

    Newton's method, dropping the most negative column until none is left negative; a light penalty
    draws the weights towards equal ones.
    """
    active = list(range(columns.shape[1]))
    while True:
        intercept, slopes = _stack_active(columns[:, active], outcome)
        if len(active) == 1 or float(slopes.min()) >= 0.0:
            weights = np.zeros(columns.shape[1])
            weights[active] = np.maximum(slopes, 0.0)
            return intercept, weights
        active.pop(int(np.argmin(slopes)))


def _stack_active(columns: Array, outcome: Array) -> tuple[float, Array]:
    """Damped Newton: undamped it can diverge from an over-confident start."""
    count = columns.shape[1]
    design = np.column_stack([np.ones(outcome.size), columns])
    prior = np.r_[0.0, np.full(count, 1.0 / count)]
    penalty = np.r_[1e-6, np.full(count, _SHRINKAGE)]

    def loss(weights: Array) -> float:
        fit = float(log_losses(design @ weights, outcome).sum())
        return fit + 0.5 * float(penalty @ (weights - prior) ** 2)

    weights, current = prior, loss(prior)
    for _ in range(25):
        mean = expit(design @ weights)
        curvature = np.maximum(mean * (1.0 - mean), 1e-6)
        hessian = (design.T * curvature) @ design + np.diag(penalty)
        move = np.linalg.solve(hessian, design.T @ (outcome - mean) - penalty * (weights - prior))
        size = 1.0
        while (new := loss(weights + size * move)) > current and size > 1e-4:
            size *= 0.5
        if new > current:
            break
        weights, current = weights + size * move, new
        if float(np.abs(move).max()) < 1e-6:
            break
    return float(weights[0]), weights[1:]
