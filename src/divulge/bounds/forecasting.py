"""Forecasts of a value that is one of several, learned as values are revealed.

A conditional logit, ``q_j ~ w_j exp(g(s_j))``: with g linear in the scores of the values, and with
g piecewise linear, knots at quantiles of the scores. Both are fitted on the rows revealed so far
and predict the next block; their mixture has weights by how well each predicted before (the
prequential likelihood), so that the forecast of a row depends on earlier values only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax, softmax

from divulge.errors import require
from divulge.types import Array, Index

FIRST = 32
"""Rows on which nothing is staked, and from which the first forecast is learned."""
_GROWTH = 1.5
_MOST_FITTED = 50_000
_CHUNK = 50_000
_KNOTS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.975)
_RIDGE = 1.0
_NEWTON_STEPS = 30
_CLOSE = 1e-8
_SURE = 1e-4
"""This share of every forecast is the prior: no value is ever given up."""
_MOST_EVIDENCE = 30.0

Basis = Callable[[Array], Array]


def forecast(score: Array, prior: Array, value: Index, known: int | None = None) -> Array:
    """The forecast of every row from the values of the rows above it.

    ``score`` has a column per value, and may have a last axis of several scores; a prior of 0 is a
    value that is not there, whatever its score. Of the values from row ``known`` on, where it is
    given, nothing is learned: guesses that are counted may not depend on them.
    """
    scores = score[:, :, None] if score.ndim == 2 else score
    require(scores.shape[:2] == prior.shape, "There must be one score per row and value.")
    there = prior > 0.0
    require(bool(np.isfinite(scores[there]).all()), "Scores must be finite.")
    scores = np.where(there[:, :, None], scores, 0.0)
    log_prior = np.log(np.where(there, prior, 1.0)) + np.where(there, 0.0, -np.inf)
    out = np.array(prior, dtype=float)
    merit = np.zeros(2)
    for above, following in _blocks(len(prior), known):
        seen = slice(0, min(above, _MOST_FITTED))
        learned = [
            (basis, _fitted(basis, scores[seen], log_prior[seen], value[seen]))
            for basis in (_linear(scores[seen], there[seen]), _bent(scores[seen], there[seen]))
        ]
        weights, gained = softmax(merit), np.zeros(len(learned))
        for start in range(above, following, _CHUNK):
            part = slice(start, min(start + _CHUNK, following))
            logs = np.stack(
                [
                    logit.log_forecast(basis(scores[part]), log_prior[part])
                    for basis, logit in learned
                ]
            )
            mixed = np.einsum("m,mij->ij", weights, np.exp(logs))
            out[part] = (1.0 - _SURE) * mixed + _SURE * prior[part]
            gained += np.take_along_axis(logs, value[None, part, None], axis=2).sum(axis=(1, 2))
        merit += gained
    return out


def _blocks(rows: int, last: int | None = None) -> Iterator[tuple[int, int]]:
    known, revealed = FIRST, rows if last is None else min(last, rows)
    while known < revealed:
        following = min(revealed, int(np.ceil(known * _GROWTH)))
        yield known, following
        known = following
    if FIRST <= revealed < rows:
        yield revealed, rows


@dataclass(frozen=True)
class _Logit:
    """Weights of the columns of a basis."""

    weights: Array = field(repr=False)

    def log_forecast(self, columns: Array, log_prior: Array) -> Array:
        evidence = np.clip(columns @ self.weights, -_MOST_EVIDENCE, _MOST_EVIDENCE)
        return np.asarray(log_softmax(log_prior + evidence, axis=1))


def _fitted(basis: Basis, scores: Array, log_prior: Array, value: Index) -> _Logit:
    """Ridge-penalised maximum likelihood by Newton's method, each step halved until it helps."""
    columns = basis(scores)
    own = np.take_along_axis(columns, value[:, None, None], axis=1)[:, 0]
    weights = np.zeros(columns.shape[2])

    def loss(w: Array) -> float:
        logs = log_softmax(log_prior + columns @ w, axis=1)
        fit = float(np.take_along_axis(logs, value[:, None], axis=1).sum())
        return 0.5 * _RIDGE * float(w @ w) - fit

    best = loss(weights)
    for _ in range(_NEWTON_STEPS):
        p = softmax(log_prior + columns @ weights, axis=1)
        mean = np.einsum("ij,ijc->ic", p, columns)
        slope = (own - mean).sum(axis=0) - _RIDGE * weights
        flat = columns.reshape(-1, weights.size)
        spread = (flat * p.reshape(-1, 1)).T @ flat - mean.T @ mean
        step = np.linalg.solve(spread + _RIDGE * np.eye(weights.size), slope)
        size, found = 1.0, loss(weights + step)
        while found > best and size > 1e-4:
            size *= 0.5
            found = loss(weights + size * step)
        if found >= best - _CLOSE * (1.0 + abs(best)):
            break
        weights, best = weights + size * step, found
    return _Logit(weights)


def _scaled(scores: Array, there: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
    shown = scores[there]
    return shown.mean(axis=0), np.maximum(shown.std(axis=0), 1e-12)


def _linear(scores: Array, there: npt.NDArray[np.bool_]) -> Basis:
    centre, scale = _scaled(scores, there)
    return lambda s: np.asarray(np.clip((s - centre) / scale, -1e3, 1e3))


def _bent(scores: Array, there: npt.NDArray[np.bool_]) -> Basis:
    """The scores, flat beyond all that was seen, and how far each lies above each knot."""
    centre, scale = _scaled(scores, there)
    shown = (scores[there] - centre) / scale
    low, high = shown.min(axis=0), shown.max(axis=0)
    knots = np.quantile(shown, _KNOTS, axis=0)

    def columns(s: Array) -> Array:
        z = np.clip((s - centre) / scale, low, high)
        above = [np.maximum(z - knot, 0.0) for knot in knots]
        return np.concatenate([z, *above], axis=2)

    return columns
