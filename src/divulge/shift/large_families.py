"""Slopes in families of functions far too large to be fitted, but not too large for a U-statistic.

All products of two, three and four columns, and cosines of every column's rank. If neither nuisance
model errs, the covariance of the two surprises in a family has mean zero for any columns; if both
miss the same small parts of a thousand functions, none of which a screen would find, they add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from divulge.types import Array

_WAVES = 6
_BLOCK = 125
_LEAST_VARIANCE = 0.003


@dataclass(frozen=True)
class Slope:
    """Log-odds of membership per standard deviation of the residual score, with its error."""

    value: float
    standard_error: float


def products(
    columns: Array, families: int, membership: Array, shapes: Array, unit: float
) -> list[list[Slope]]:
    """Slopes in the products of two, then three, then four columns, of every shape of the score.

    The kernel of a family, a sum over all its functions, is an elementary symmetric polynomial of
    the products of two records' columns. The redundancy of a family is the mean square of its
    kernel over the mean of its diagonal: 1 if its functions are uncorrelated and of unit variance.
    Kernels are symmetric: every pair of records is looked at once.
    """
    trials = membership.size
    powers = [columns**k for k in range(1, families + 2)]
    total, variance = np.zeros((2, families, shapes.shape[1]))
    square, diagonal = np.zeros((2, families))
    weight, squared = membership**2, shapes**2
    for start in range(0, trials, _BLOCK):
        block = slice(start, min(start + _BLOCK, trials))
        width = block.stop - start
        own, later = np.arange(width), slice(block.stop, trials)
        sums = [power[block] @ power[start:].T for power in powers]
        for j, kernel in enumerate(_symmetric_polynomials(sums)):
            diagonal[j] += float(kernel[own, own].sum())
            kernel[own, own] = 0.0
            total[j] += membership[block] @ (kernel @ shapes[start:])
            total[j] += (membership[later] @ kernel[:, width:].T) @ shapes[block]
            kernel *= kernel
            square[j] += 2.0 * float(kernel.sum()) - float(kernel[:, :width].sum())
            variance[j] += weight[block] @ (kernel @ squared[start:])
            variance[j] += (weight[later] @ kernel[:, width:].T) @ squared[block]
    redundancy = np.maximum(square / (trials * np.maximum(diagonal, 1e-12)), 1.0)[:, None]
    values = total / redundancy / unit
    errors = np.sqrt(variance) / redundancy / unit
    return [
        [Slope(float(v), float(e)) for v, e in zip(*family, strict=True)]
        for family in zip(values, errors, strict=True)
    ]


def _symmetric_polynomials(sums: list[Array]) -> Iterator[Array]:
    """Elementary symmetric polynomials of degree 2, 3, 4 from power sums (Newton's identities)."""
    square = sums[0] * sums[0]
    yield (square - sums[1]) / 2.0
    if len(sums) > 2:
        yield (sums[0] * (square - 3.0 * sums[1]) + 2.0 * sums[2]) / 6.0
    if len(sums) > 3:
        first, second, third, fourth = sums
        yield (
            square * (square - 6.0 * second)
            + 3.0 * second * second
            + 8.0 * first * third
            - 6.0 * fourth
        ) / 24.0


def decorrelated(columns: Array) -> Array:
    """Uncorrelated columns of unit variance, as near to the given ones as can be (ZCA).

    Directions of hardly any variance are not blown up.
    """
    columns = columns - columns.mean(axis=0)
    columns /= np.maximum(columns.std(axis=0), 1e-9)
    values, vectors = np.linalg.eigh(columns.T @ columns / columns.shape[0])
    root = (vectors / np.sqrt(np.maximum(values, _LEAST_VARIANCE))) @ vectors.T
    return np.asarray(columns @ root)


def waves(columns: Array, membership: Array, shapes: Array, unit: float) -> list[Slope]:
    """Slopes in cosines of the columns' ranks, of every shape of the score."""
    trials = membership.size
    rank = (np.argsort(np.argsort(columns, axis=0), axis=0) + 0.5) / trials
    wave = np.concatenate(
        [math.sqrt(2.0) * np.cos(math.pi * k * rank) for k in range(1, _WAVES + 1)], axis=1
    )
    own = np.einsum("ij,ij->i", wave, wave)
    spread = wave.T @ wave / trials
    square = float(np.sum(spread * spread))
    redundancy = max(square / float(np.trace(spread)), 1.0)
    out = []
    for left in shapes.T:
        total = float((membership @ wave) @ (wave.T @ left)) - float(
            np.sum(own * membership * left)
        )
        error = trials * math.sqrt(square * membership.var() * left.var())
        out.append(Slope(total / redundancy / unit, error / redundancy / unit))
    return out
