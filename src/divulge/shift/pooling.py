"""A log-linear pool of class probabilities: several models of a value, made one.

``log p(y | x) = sum_j w_j log p_j(y | x) + b_y - normaliser``: multinomial logistic regression on
the members' log-probabilities with one weight per member, so that it recalibrates as it combines.
Its first-order conditions make the pool's errors uncorrelated with every member, which is what
keeps a target from finding them (the targeting step of doubly robust estimation).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import log_softmax

from divulge.types import Array

FLOOR = 1e-6
"""No class gets a smaller probability than this before a logarithm is taken."""
_RIDGE = 1.0
_CHUNK = 100_000


def log_probabilities(probabilities: npt.ArrayLike) -> Array:
    """Floored, normalised and logarithmic; one row per record, one column per class."""
    p = np.maximum(np.asarray(probabilities, dtype=float), FLOOR)
    return np.asarray(np.log(p / p.sum(axis=1, keepdims=True)))


@dataclass(frozen=True)
class Pooled:
    """Weights of the members and intercepts of the classes."""

    weights: Array
    intercepts: Array = field(repr=False)

    def __call__(self, members: Sequence[Array]) -> Array:
        """Log-probabilities of the pool."""
        out = np.empty_like(members[0])
        for start in range(0, len(out), _CHUNK):
            rows = slice(start, start + _CHUNK)
            score = sum(w * m[rows] for w, m in zip(self.weights, members, strict=True))
            out[rows] = log_softmax(score + self.intercepts, axis=1)
        return out


def fit_pool(members: Sequence[Array], target: Array) -> Pooled:
    """Fit by cross-entropy; ``target`` holds a probability per record and class.

    The ridge pulls towards the first member as it is, the proxy, so that with few records nothing
    is changed without evidence.
    """
    size, (_, classes) = len(members), members[0].shape
    start = np.zeros(size + classes)
    start[0] = 1.0

    def loss(v: Array) -> tuple[float, Array]:
        score = sum(w * m for w, m in zip(v[:size], members, strict=True)) + v[size:]
        log_p = log_softmax(score, axis=1)
        surplus = np.exp(log_p) - target
        gradient = np.concatenate([[float((surplus * m).sum()) for m in members], surplus.sum(0)])
        off = v - start
        value = -float((target * log_p).sum()) + _RIDGE * float(off @ off)
        return value, gradient + 2.0 * _RIDGE * off

    best = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return Pooled(best[:size], best[size:])


def one_hot(codes: npt.NDArray[np.intp], classes: int) -> Array:
    """A probability of 1 for each record's own class."""
    out = np.zeros((codes.size, classes))
    out[np.arange(codes.size), codes] = 1.0
    return out
