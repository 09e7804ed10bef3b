"""Penalised linear models that choose their own penalty: least squares and logistic.

Both work on standardised columns, so one penalty fits all, and columns without variance get no
weight. The nuisance models of an audit are many and refitted often, hence closed forms: ridge by
generalised cross-validation from one eigendecomposition, logistic ridge by Newton's method with a
penalty chosen by Akaike's criterion along a one-step path.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import nnls
from scipy.special import expit

from divulge.types import Array

_LEAST_WEIGHT = 1e-6
_RIDGE_PATH = np.logspace(-5.0, 1.5, 27)
_LOGISTIC_PATH = np.logspace(-4.0, 1.0, 16)
_CURVATURE = 0.25
"""Largest curvature of the logistic loss: penalties are in units of it per row."""
_START = 0.01


@dataclass(frozen=True)
class Affine:
    """An affine predictor: intercept and one slope per column, in the columns' own units."""

    intercept: float
    slopes: Array = field(repr=False)

    def __call__(self, columns: Array) -> Array:
        return np.asarray(self.intercept + columns @ self.slopes, dtype=float)


@dataclass(frozen=True)
class _Standard:
    """Standardised columns, and how to take slopes on them back to the original ones."""

    columns: Array
    centre: Array
    scale: Array

    def affine(self, intercept: float, slopes: Array) -> Affine:
        own = slopes / self.scale
        return Affine(float(intercept - self.centre @ own), own)


def _standardised(columns: Array, weights: Array | None = None) -> _Standard:
    rows = columns.shape[0]
    centre = columns.mean(axis=0) if weights is None else (weights @ columns) / rows
    centred = columns - centre
    if weights is None:
        scale = np.sqrt(np.einsum("ij,ij->j", centred, centred) / rows)
    else:
        scale = np.sqrt(np.einsum("i,ij,ij->j", weights, centred, centred) / rows)
    scale[scale <= 1e-9 * (1.0 + np.abs(centre))] = np.inf
    centred /= scale
    return _Standard(centred, centre, scale)


def ridge(columns: Array, target: Array, weights: Array | None = None) -> Affine:
    """Weighted ridge regression; the penalty has the least generalised cross-validation error."""
    rows = target.size
    if weights is None:
        standard = _standardised(columns)
        intercept = float(target.mean())
        centred = target - intercept
        root, weighted = standard.columns, centred
    else:
        weights = weights / weights.mean()
        standard = _standardised(columns, weights)
        intercept = float(weights @ target) / rows
        centred = target - intercept
        root, weighted = standard.columns * np.sqrt(weights)[:, None], weights * centred
    values, vectors = np.linalg.eigh(root.T @ root)
    values = np.maximum(values, 0.0)
    moments = vectors.T @ (standard.columns.T @ weighted)
    penalties = rows * _RIDGE_PATH[:, None]
    shrunk = moments / (values + penalties)
    freedom = (values / (values + penalties)).sum(axis=1) + 1.0
    loss = (
        float(weighted @ centred)
        - 2.0 * (shrunk * moments).sum(axis=1)
        + (values * shrunk**2).sum(axis=1)
    )
    criterion = np.maximum(loss, 1e-12) / np.maximum(1.0 - freedom / rows, 1e-3) ** 2
    return standard.affine(intercept, vectors @ shrunk[int(np.argmin(criterion))])


def non_negative_weights(columns: Array, target: Array) -> Array:
    """Least squares with weights >= 0, from the normal equations with a trace of ridge."""
    gram = columns.T @ columns
    gram[np.diag_indices_from(gram)] += 1e-9 * max(float(np.trace(gram)), 1e-300)
    root = cholesky(gram, lower=True)
    right = solve_triangular(root, columns.T @ target, lower=True)
    weights, _ = nnls(root.T, right, maxiter=1000)
    return np.asarray(weights, dtype=float)


def logistic_ridge(
    columns: Array,
    outcome: Array,
    offset: Array | None = None,
    penalty: float | None = None,
    steps: int = 12,
) -> Affine:
    """L2 logistic regression of an ``outcome`` in {0, 1}; ``offset`` is a known part of the odds.

    Without a ``penalty`` (on the squared standardised slopes, halved) the one of least Akaike
    criterion is taken, with effective degrees of freedom. The predictor leaves the offset out.
    """
    rows = outcome.size
    standard = _standardised(columns)
    share = (outcome.sum() + 0.5) / (rows + 1.0)
    intercept = 0.0 if offset is not None else math.log(share / (1.0 - share))
    known = np.zeros(rows) if offset is None else offset
    fit = _Newton(standard.columns, outcome, known)
    slopes = np.zeros(columns.shape[1])
    if penalty is None:
        start = _START * _CURVATURE * rows
        intercept, slopes, curvature = fit.minimise(intercept, slopes, start, 6)
        penalty = fit.choose_penalty(intercept, slopes, curvature, start)
    intercept, slopes, _ = fit.minimise(intercept, slopes, penalty, steps)
    return standard.affine(intercept, slopes)


def log_losses(log_odds: Array, outcome: Array) -> Array:
    """Cross-entropy of each outcome in {0, 1}; columns of ``log_odds`` are predictors."""
    return np.logaddexp(0.0, np.where(outcome > 0.5, -log_odds, log_odds))


@dataclass(frozen=True)
class _Newton:
    """The penalised logistic likelihood of standardised columns, minimised by damped Newton.

    The curvature is that of columns in single precision, in half the time: it says how to step, and
    where to is decided by the gradient.
    """

    columns: Array
    outcome: Array
    offset: Array

    def minimise(
        self, intercept: float, slopes: Array, penalty: float, steps: int
    ) -> tuple[float, Array, Array]:
        """Intercept, slopes and the curvature in the slopes (the intercept profiled out)."""
        eta = self._eta(intercept, slopes)
        current = self._loss(eta, slopes, penalty)
        curvature = np.zeros((slopes.size, slopes.size))
        single = self.columns.astype(np.float32)
        for _ in range(steps):
            mean = expit(eta)
            weights = np.maximum(mean * (1.0 - mean), _LEAST_WEIGHT)
            missing = self.outcome - mean
            root = single * np.sqrt(weights).astype(np.float32)[:, None]
            total, cross = weights.sum(), self.columns.T @ weights
            curvature = (root.T @ root).astype(float) - np.outer(cross, cross) / total
            gradient = self.columns.T @ missing - penalty * slopes
            gradient_intercept = float(missing.sum())
            regular = curvature + penalty * np.eye(slopes.size)
            move = cho_solve(cho_factor(regular), gradient - cross * gradient_intercept / total)
            move_intercept = (gradient_intercept - cross @ move) / total
            size = 1.0
            for _ in range(6):
                proposal = (intercept + size * move_intercept, slopes + size * move)
                eta = self._eta(*proposal)
                new = self._loss(eta, proposal[1], penalty)
                if new <= current + 1e-9:
                    break
                size *= 0.5
            intercept, slopes = float(proposal[0]), proposal[1]
            gain, current = current - new, new
            if gain < 1e-4:
                break
        return intercept, slopes, curvature

    def choose_penalty(
        self, intercept: float, slopes: Array, curvature: Array, penalty: float
    ) -> float:
        """At the optimum for one penalty, ``(H + a) b_a`` is about the same for every other a."""
        values, vectors = np.linalg.eigh(curvature)
        values = np.maximum(values, 0.0)[:, None]
        fixed = (vectors.T @ slopes)[:, None] * (values + penalty)
        path = self.outcome.size * _CURVATURE * _LOGISTIC_PATH
        eta = (self.offset + intercept)[:, None] + self.columns @ (
            vectors @ (fixed / (values + path))
        )
        criterion = log_losses(eta, self.outcome[:, None]).sum(axis=0)
        criterion += (values / (values + path)).sum(axis=0)
        return float(path[int(np.argmin(criterion))])

    def _eta(self, intercept: float, slopes: Array) -> Array:
        return np.asarray(self.offset + intercept + self.columns @ slopes)

    def _loss(self, eta: Array, slopes: Array, penalty: float) -> float:
        fit = float(log_losses(eta, self.outcome).sum())
        return fit + 0.5 * penalty * float(slopes @ slopes)
