"""One record against a mean of zeros and ones: exact, where the normal form may be far off.

The mean of a 0/1 column is a binomial count. With the record z out, the count is ``t ~ Bin(k, p)``,
with it in, ``z + Bin(k - 1, p)``; the likelihood ratio of the two is ``t / (k p)`` for z = 1 and
``(k - t) / (k (1 - p))`` for z = 0. Over columns taken to be independent (the diagonal covariance)
the logarithms add up: their distribution is a convolution, computed by Fourier transforms. A count
of 0 excludes every record with a 1 there: the ratio is 0, and if that happens with a probability
above delta, epsilon is infinite. A share that is sampled makes a mixture, as in ``exposed.py``.

A value that falls between two points of the grid is shared between them so that its mean is kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from divulge.errors import require
from divulge.exposure.exposed import LARGEST, Release
from divulge.types import Array

Complex = npt.NDArray[np.complex128]

LEAST_POINTS, MOST_POINTS = 2**12, 2**15
"""Points of the grid of log-likelihood ratios."""
_NEGLIGIBLE = 1e-16
_BLOCK = 2**22
_BINNING = 1e-3
"""Variance that the grid may add, as a share of the leakage."""


@dataclass(frozen=True)
class Exact:
    """What the best attack on each record reaches; one value per record."""

    advantage: Array = field(repr=False)
    power: tuple[Array, ...] = field(repr=False)
    """At each false-positive rate asked for."""
    epsilon: tuple[Array, ...] = field(repr=False)
    """At each delta asked for; infinite where the release excludes the record too often."""
    excluded: Array = field(repr=False)
    """Probability that the release shows for certain that an absent record is not in it."""


def binary_columns(*tables: Array) -> npt.NDArray[np.bool_]:
    """Which columns hold nothing but 0 and 1 in every table."""
    masks = [((t == 0.0) | (t == 1.0)).all(axis=0) for t in tables]
    return np.asarray(np.logical_and.reduce(masks))


def exact(
    records: npt.ArrayLike,
    probability: npt.ArrayLike,
    release: Release,
    *,
    fprs: Sequence[float] = (),
    deltas: Sequence[float] = (),
) -> Exact:
    """Advantage, power and epsilon of every row of zeros and ones; ``probability`` is that of 1."""
    rows = np.atleast_2d(np.asarray(records, dtype=float))
    p = np.asarray(probability, dtype=float)
    require(not release.noisy, "The exact form is that of a mean without noise.")
    require(bool(binary_columns(rows).all()), "The exact form needs columns of zeros and ones.")
    require(bool(np.all((p > 0.0) & (p < 1.0))), "A probability must lie strictly in (0, 1).")
    grid = _Grid.of(rows, p, max(1, round(release.behind)))
    base, change = grid.transforms(p)
    step = max(1, _BLOCK // grid.points)
    parts = []
    for start in range(0, len(rows), step):
        some = rows[start : start + step]
        inside, outside = (
            _distribution(b + some @ c.real + 1j * (some @ c.imag), grid.points)
            for b, c in zip(base, change, strict=True)
        )
        parts.append(_measured(grid, inside, outside, release.rate, fprs, deltas))
    return Exact(
        np.concatenate([part.advantage for part in parts]),
        tuple(np.concatenate([part.power[k] for part in parts]) for k in range(len(fprs))),
        tuple(np.concatenate([part.epsilon[k] for part in parts]) for k in range(len(deltas))),
        np.concatenate([part.excluded for part in parts]),
    )


def _distribution(transform: Complex, points: int) -> Array:
    """From the logarithm of a transform to the masses, smallest log-likelihood ratio first."""
    masses = np.fft.irfft(np.exp(transform), points, axis=1).clip(0.0)
    return np.asarray(np.fft.fftshift(masses, axes=1))


@dataclass(frozen=True)
class _Grid:
    """Log-likelihood ratios ``step`` apart, around 0; ``behind`` records are in the mean."""

    points: int
    step: float
    behind: int

    @classmethod
    def of(cls, rows: Array, p: Array, behind: int) -> _Grid:
        """Wide enough for the most exposed of the records, fine enough for each column."""
        leakage = (rows @ ((1.0 - p) / p) + (1.0 - rows) @ (p / (1.0 - p))) / behind
        least, most = float(leakage.min()), float(leakage.max())
        rare = behind * np.minimum(p, 1.0 - p)
        farthest = float(np.max(np.log1p(10.0 / np.sqrt(rare) + 10.0 / rare)))
        width = 2.0 * (8.0 + 2.0 * farthest + 10.0 * math.sqrt(most) + most / 2.0)
        fine = math.sqrt(6.0 * _BINNING * max(least, 1e-3) / p.size)
        points = 2 ** math.ceil(math.log2(width / fine))
        points = min(max(points, LEAST_POINTS), MOST_POINTS)
        return cls(points, width / points, behind)

    def transforms(self, p: Array) -> tuple[tuple[Complex, Complex], tuple[Complex, Complex]]:
        """Logarithms of the transforms, in and out: of a record of zeros, and what a 1 changes."""
        width = self.points // 2 + 1
        change = np.empty((2, p.size, width), dtype=complex)
        base = np.zeros((2, width), dtype=complex)
        kept: dict[float, Complex] = {}
        for j, chance in enumerate(p.tolist()):
            for value in (chance, 1.0 - chance):
                if value not in kept:
                    kept[value] = self._column(value)
            change[:, j] = kept[chance] - kept[1.0 - chance]
            base += kept[1.0 - chance]
        return (base[0], base[1]), (change[0], change[1])

    def _column(self, p: float) -> Complex:
        """The ratio ``t / (k p)`` of a record with the value that has probability p."""
        k = self.behind
        count = np.arange(
            max(1, int(binom.ppf(_NEGLIGIBLE, k, p))), int(binom.isf(_NEGLIGIBLE, k, p)) + 2
        )
        count = count[count <= k]
        place = np.log(count / (k * p)) / self.step
        half = self.points // 2
        place = np.clip(place, 1 - half, half - 2)
        low = np.floor(place).astype(np.intp)
        share = place - low
        out = np.empty((2, self.points // 2 + 1), dtype=complex)
        for row, mass in enumerate((binom.pmf(count - 1, k - 1, p), binom.pmf(count, k, p))):
            cells = np.zeros(self.points)
            np.add.at(cells, low % self.points, mass * (1.0 - share))
            np.add.at(cells, (low + 1) % self.points, mass * share)
            found = np.fft.rfft(cells)
            out[row] = np.log(np.where(np.abs(found) > 1e-300, found, 1e-300))
        return out


def _measured(
    grid: _Grid,
    inside: Array,
    outside: Array,
    rate: float,
    fprs: Sequence[float],
    deltas: Sequence[float],
) -> Exact:
    excluded = np.clip(1.0 - outside.sum(axis=1), 0.0, 1.0)
    excluded[excluded < 1e-12] = 0.0
    half = grid.points // 2
    towards_in = _Tail.of(grid, inside[:, half:], np.zeros(len(inside)))
    towards_out = _Tail.of(grid, outside[:, half::-1], excluded)
    nothing = np.zeros(len(inside))
    advantage = rate * np.maximum(towards_in.delta(nothing), towards_out.delta(nothing))
    tails = [np.cumsum(f[:, ::-1], axis=1) for f in (outside, inside)]
    end = np.ones((len(inside), 1))
    x, y = (np.hstack([0.0 * end, np.minimum(t, 1.0), end]) for t in tails)
    powers = tuple(
        (1.0 - rate) * fpr
        + rate * np.array([np.interp(fpr, a, b) for a, b in zip(x, y, strict=True)])
        for fpr in fprs
    )
    epsilons = tuple(_epsilon(towards_in, towards_out, rate, delta) for delta in deltas)
    return Exact(advantage, powers, epsilons, excluded)


@dataclass(frozen=True)
class _Tail:
    """``delta(eps) = sum over l > eps of f(l) (1 - e^(eps - l))``, plus what is always beyond."""

    mass: Array
    discounted: Array
    always: Array
    step: float

    @classmethod
    def of(cls, grid: _Grid, f: Array, always: Array) -> _Tail:
        """``f`` starts at a log-likelihood ratio of 0 and goes towards the one that is tested."""
        at = grid.step * np.arange(f.shape[1])
        sums = [np.cumsum(v[:, ::-1], axis=1)[:, ::-1] for v in (f, f * np.exp(-at))]
        mass, discounted = (np.pad(v, ((0, 0), (0, 1))) for v in sums)
        return cls(mass, discounted, always, grid.step)

    def delta(self, epsilon: Array) -> Array:
        """At one epsilon per record."""
        first = np.minimum(np.floor(epsilon / self.step) + 1.0, self.mass.shape[1] - 1.0)
        at = (np.arange(epsilon.size), first.astype(np.intp))
        beyond = self.mass[at] - np.exp(np.minimum(epsilon, LARGEST)) * self.discounted[at]
        return np.asarray(self.always + np.maximum(beyond, 0.0))


def _epsilon(towards_in: _Tail, towards_out: _Tail, rate: float, delta: float) -> Array:
    """Least epsilon at which both directions are below delta; the mixture of theory, section 9."""

    def larger(eps: Array) -> Array:
        first = rate * towards_in.delta(np.log1p(np.expm1(eps) / rate))
        weight = 1.0 - (1.0 - rate) * np.exp(eps)
        some = weight > 0.0
        safe = np.where(some, weight, 1.0)
        second = safe * towards_out.delta(np.where(some, np.log(rate / safe) + eps, 0.0))
        return np.maximum(first, np.where(some, second, 0.0))

    count = towards_in.always.size
    low, high = np.zeros(count), np.full(count, towards_in.step * towards_in.mass.shape[1])
    never = larger(high) > delta
    at_once = larger(low) <= delta
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = larger(middle) > delta
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(never, np.inf, np.where(at_once, 0.0, high))
