"""The conditional scale: how much of the score x leaves open, and where.

The logarithm of the size of what the prognosis leaves is predicted from x as the score itself is,
without a truth: by screened terms and by boosting, each fitted on the other half and weighed by
non-negative least squares. How far the prediction is trusted is chosen by the likelihood of the
other half, from not at all to fully: where the spread cannot be learned, a noisy scale would only
spoil the score.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from divulge.shift.boosted import boosted_regressor
from divulge.shift.design import CHUNK, FIT_ROWS, Rows, at_most
from divulge.shift.linear import non_negative_weights, ridge
from divulge.shift.terms import Terms, screen
from divulge.types import Array, Index

_LEAST_SCALE = 1e-6
_LARGEST_RATIO = 1.5
_OFFSET = 0.25
"""In standard deviations: the logarithm of a size near 0 says little, and loudly."""
_ROUNDS = 20
_TRUST = np.linspace(0.0, 2.0, 21)


@dataclass(frozen=True)
class ConditionalScale:
    """Per record: the conditional scale, and the prediction that it comes from."""

    scale: Array = field(repr=False)
    log_size: Array = field(repr=False)
    terms: Terms = field(repr=False)
    """Non-linear terms that matter for the spread."""
    trust: float
    """The power of the predicted size that the other half asks for."""


def fit_spread(
    left: Array, mean: Array, records: Rows, half: Index, rng: np.random.Generator
) -> ConditionalScale:
    """Each half is predicted by the other; records without a score by the mean of both.

    The scale stays within a factor of e^1.5 of its middle, so that no record gets an extreme
    residual.
    """
    scored = left.size
    size = max(float(left.std()), _LEAST_SCALE)
    log_size = np.log(np.abs(left) + _OFFSET * size)
    geometry = records.geometry
    predicted = np.zeros((half.size, 3))
    terms = []

    for k in (0, 1):
        fit_on = at_most(np.flatnonzero(half == 1 - k), FIT_ROWS, rng)
        target = log_size[fit_on]
        clipped = records.clipped(fit_on)
        base = ridge(_plain(records, mean, fit_on), target)
        rest = target - base(_plain(records, mean, fit_on))
        terms.append(screen(geometry, clipped, rest, np.full(rest.size, rest.var()), triples=False))
        rich = ridge(_rich(records, mean, fit_on, terms[-1]), target)
        boosted = boosted_regressor(records.bins[fit_on], rest, _ROUNDS)
        for rows, share in ((np.flatnonzero(half == k), 1.0), (np.arange(scored, half.size), 0.5)):
            for start in range(0, rows.size, CHUNK):
                part = rows[start : start + CHUNK]
                own = base(_plain(records, mean, part))
                learners = [
                    own,
                    rich(_rich(records, mean, part, terms[-1])),
                    own + boosted.predict(records.bins[part]),
                ]
                predicted[part] += share * np.stack(learners, axis=1)
    centre = float(log_size.mean())
    weights = non_negative_weights(predicted[:scored] - centre, log_size - centre)
    found = (predicted - centre) @ weights
    far = np.clip(found - np.median(found[:scored]), -_LARGEST_RATIO, _LARGEST_RATIO)
    trust = _trusted(left, far[:scored])
    ratio = np.exp(np.clip(trust * far, -_LARGEST_RATIO, _LARGEST_RATIO))
    size = float(np.sqrt(np.mean((left / ratio[:scored]) ** 2)))
    return ConditionalScale(np.asarray(ratio * max(size, _LEAST_SCALE)), far, terms[0], trust)


def _plain(records: Rows, mean: Array, rows: Index) -> Array:
    clipped = records.clipped(rows)
    own = np.stack([mean[rows], mean[rows] ** 2], axis=1)
    return np.concatenate([own, clipped, records.geometry.radius(clipped)], axis=1)


def _rich(records: Rows, mean: Array, rows: Index, terms: Terms) -> Array:
    more = terms.build(records.geometry, records.clipped(rows))
    return np.concatenate([_plain(records, mean, rows), more], axis=1)


def _trusted(left: Array, far: Array) -> float:
    """The power of the predicted size with the largest likelihood, by a double exponential law."""
    size = np.abs(left)
    losses = [c * float(far.mean()) + np.log(np.mean(size * np.exp(-c * far))) for c in _TRUST]
    return float(_TRUST[int(np.argmin(losses))])
