"""The prognostic score: what x alone says about a trial's score.

``E[score | x]`` is predicted out of fold by a stack of regressors over *all* trials, without a
single truth: it is a function of the model and the records, so bets and counted guesses may both
use it. What is left of the score after subtracting it does not depend on x if nothing leaks, which
is one half of the double robustness of the audit; the other half is the propensity.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit

from divulge.shift.boosted import boosted_regressor
from divulge.shift.design import (
    FIT_ROWS,
    Design,
    Model,
    Rows,
    View,
    at_most,
    extended,
)
from divulge.shift.groups import fit_clusters, fit_kernel
from divulge.shift.levels import without_fold
from divulge.shift.linear import non_negative_weights, ridge
from divulge.shift.spread import fit_spread
from divulge.shift.terms import Terms, relevance, screen, singles, union
from divulge.types import Array, Index

FOLDS = 4
LEARNERS = ("linear", "terms", "terms and boosting", "boosting", "terms and kernel")
_SEED = 17
_UNSCORED = -1


@dataclass(frozen=True)
class Prognostic:
    """Per trial: out-of-fold prediction of the score from x, and its conditional scale."""

    mean: Array = field(repr=False)
    learners: Array = field(repr=False)
    """The prediction of each learner, one column each."""
    scale: Array = field(repr=False)
    """Conditional standard deviation of the score."""
    terms: Terms = field(repr=False)
    """Non-linear terms that matter for the score."""
    relevance: Array = field(repr=False)
    """Weight of each feature for the score, in [0, 1]."""
    r2: float
    """Share of the score's variance that x explains, out of fold."""
    levels: Array = field(repr=False, default_factory=lambda: np.zeros((0, 0)))
    """Shrunken mean of the score and of its square per category with many levels, out of fold."""
    log_size: Array = field(repr=False, default_factory=lambda: np.zeros(0))
    """Predicted logarithm of the size of what is left of the score."""

    def some(self, rows: Index) -> Prognostic:
        """These trials only."""
        return Prognostic(
            self.mean[rows],
            self.learners[rows],
            self.scale[rows],
            self.terms,
            self.relevance,
            self.r2,
            self.levels[rows] if self.levels.size else self.levels,
            self.log_size[rows] if self.log_size.size else self.log_size,
        )


def fit_prognostic(
    score: Array, records: Rows, rng: np.random.Generator, folds: int = FOLDS
) -> Prognostic:
    """Cross-fit the stack on all trials. Learners are weighted by non-negative least squares.

    Records beyond the scores are predicted by the mean of all folds.
    """
    trials = score.size
    further = np.arange(trials, len(records))
    fold = np.concatenate([rng.permutation(trials) % folds, np.full(further.size, _UNSCORED)])
    design = Design(records)
    predicted = np.zeros((len(records), len(LEARNERS)))
    levels = np.zeros((0, 0))
    terms: list[Terms] = []
    for k in range(folds):
        fit_on = at_most(np.flatnonzero(fold[:trials] != k), FIT_ROWS, rng)
        if records.levels is not None:
            moments = np.stack([score, (score - score.mean()) ** 2], axis=1)
            own = without_fold(records.levels, np.arange(trials), moments, fold[:trials], k)
            design = extended(records, own, np.zeros((len(records), 0)))
            levels = levels if levels.size else np.zeros(own.shape)
            levels[fold == k] = own[fold == k]
            levels[further] += own[further] / folds
        model, selected = _fit_fold(design.view(fit_on), score[fit_on], records, _SEED + k)
        out = np.flatnonzero(fold == k)
        predicted[out] = design.predict([model], out, len(LEARNERS))
        predicted[further] += design.predict([model], further, len(LEARNERS)) / folds
        terms.append(selected)
    centre = float(score.mean())
    weights = non_negative_weights(predicted[:trials] - centre, score - centre)
    mean = centre + (predicted - centre) @ weights
    left = score - mean[:trials]
    half = np.where(fold == _UNSCORED, _UNSCORED, fold % 2)
    spread = fit_spread(left, mean, records, half, rng)
    chosen = at_most(np.arange(trials), FIT_ROWS, rng)
    variance = np.full(chosen.size, mean[:trials].var() + left.var())
    centred = mean[chosen] - mean[:trials].mean()
    weight = relevance(records.clipped(chosen), centred, variance)
    r2 = 1.0 - float(left.var() / max(float(score.var()), np.finfo(float).tiny))
    return Prognostic(
        mean,
        predicted,
        spread.scale,
        union(terms[0], spread.terms),
        weight,
        r2,
        levels,
        spread.log_size,
    )


def _fit_fold(view: View, score: Array, records: Rows, seed: int) -> tuple[Model, Terms]:
    """The five learners of one fold, and the terms that they selected (in two passes)."""
    geometry = records.geometry
    shapes = singles(geometry.univariate(view.clipped))
    centred = score - score.mean()
    weight = relevance(view.clipped, centred, np.full(score.size, centred.var()))
    clusters = fit_clusters(view.clipped, weight, seed)
    kernel = fit_kernel(view.clipped, weight, seed)

    def columns(rows: View, terms: Terms) -> Array:
        more = [clusters(rows.clipped), terms.build(geometry, rows.clipped)]
        return np.concatenate([rows.linear, rows.always, *more], axis=1)

    def selected(left: Array, *, triples: bool) -> Terms:
        variance = np.full(score.size, left.var())
        return screen(geometry, view.clipped, left, variance, shapes=shapes, triples=triples)

    linear = ridge(view.linear, score)
    terms = selected(score - linear(view.linear), triples=True)
    first = columns(view, terms)
    terms = union(terms, selected(score - ridge(first, score)(first), triples=False))
    second = columns(view, terms)
    rich = ridge(second, score)
    left = score - rich(second)
    boosted_rest = boosted_regressor(view.bins, left)
    boosted = boosted_regressor(view.bins, score)
    smooth = ridge(kernel(view.clipped), left)
    lowest, highest = float(score.min()), float(score.max())

    def predict(rows: View) -> Array:
        base = rich(columns(rows, terms))
        learners = [
            linear(rows.linear),
            base,
            base + boosted_rest.predict(rows.bins),
            boosted.predict(rows.bins),
            base + smooth(kernel(rows.clipped)),
        ]
        stacked = np.stack(learners, axis=1)
        return np.asarray(np.clip(stacked, lowest, highest))

    return predict, terms


def leak_slope(score: Array, prognostic: Prognostic, log_odds: Array, truth: Array) -> float:
    """How much higher a member's score is: slope of the residual on membership (Robinson)."""
    surprise = (truth > 0.0) - expit(log_odds)
    total = float(surprise @ surprise)
    return float((score - prognostic.mean) @ surprise) / max(total, 1e-9)


def residual_score(score: Array, prognostic: Prognostic, log_odds: Array, slope: float) -> Array:
    """``(score - E[score | x, non-member]) / scale``; that mean is ``E[score | x] - slope pi``."""
    own = score - prognostic.mean + slope * expit(log_odds)
    return np.asarray(own / prognostic.scale)
