"""The centred covariance of reference records, and distances in it, without inverting a matrix.

Every model here is ``C = diag(a) + U'U``, a diagonal and a part of low rank, plus noise on the
diagonal. Up to DENSE columns with at least as many records, ``U'U`` is held as one matrix and
factored; otherwise ``U`` has one row per record, nothing of size d x d is formed, and Woodbury's
identity gives ``C^-1`` from a matrix with one row per record.

Ledoit and Wolf's shrinkage is estimated on standardised columns, ``(1-s) S + s t I`` with
``t = tr(S) / d``, and brought back to the columns' own units. The covariance is centred,
which that of 004 is not: an offset common to all records would hide part of the leakage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from divulge.errors import InputError, require
from divulge.types import Array

LEDOIT_WOLF = "ledoit-wolf"
DIAGONAL = "diagonal"
EMPIRICAL = "empirical"
KINDS = (LEDOIT_WOLF, DIAGONAL, EMPIRICAL)
LEAST = 10
"""Reference records that any covariance needs: below, a variance is hardly known."""
DENSE = 5_000
"""Columns up to which a d x d matrix may be held."""
LARGEST_FACTOR = 4_096
"""Records behind the correlations beyond DENSE columns, spread evenly over the reference."""
LEAST_SHRINKAGE = 1e-6
"""A covariance of deficient rank is never inverted as it is."""
CELLS = 1_000_000
"""Numbers per block: about 8 MB."""
BLOCK = 256
"""Rows per block, at least: a product with few rows reads the whole factor for each."""
_FLAT = 1e-12
"""A column whose standard deviation is this share of its size, or less, is constant."""
_DEPENDENT = 1e-13
"""A column with this share of its variance left, given the columns before, depends on them."""


@dataclass(frozen=True, eq=False)
class Covariance:
    """Mean and covariance of reference records; build it with estimate_covariance or known."""

    mean: Array = field(repr=False)
    diagonal: Array = field(repr=False)
    """``a``: what stands on the diagonal beside the low-rank part, noise excluded."""
    matrix: Array | None = field(default=None, repr=False)
    """``U'U`` as one d x d matrix, or None."""
    factor: Array | None = field(default=None, repr=False)
    """``U``, one row per record, or None."""
    noise: Array = field(default_factory=lambda: np.zeros(1), repr=False)
    """Variance added to every column, or to each."""
    kind: str = DIAGONAL
    shrinkage: float = 0.0
    references: int = 0
    """Records behind mean and variances; 0: known, not estimated."""
    correlated: int = 0
    """Records behind the correlations."""

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return int(self.mean.size)

    @property
    def variances(self) -> Array:
        """The diagonal of the covariance, noise included."""
        out = self._base.copy()
        if self.matrix is not None:
            out += np.diag(self.matrix)
        if self.factor is not None:
            out += np.einsum("ij,ij->j", self.factor, self.factor)
        return out

    def with_noise(self, variance: npt.ArrayLike) -> Covariance:
        """``C + C_gamma``: independent noise of this variance on all columns, or one on each."""
        added = np.atleast_1d(np.asarray(variance, dtype=float))
        require(
            added.shape in ((1,), (self.dimension,)),
            f"The noise needs one variance, or one for each of the {self.dimension} columns. "
            f"Found {added.size}.",
        )
        require(
            bool(np.all(np.isfinite(added) & (added >= 0.0))),
            "A noise variance must be finite and at least 0.",
        )
        return replace(self, noise=self.noise + added)

    def solve(self, vectors: npt.ArrayLike) -> Array:
        """``C^-1 v`` for a vector, or for every row of an array."""
        rows, flat = self._rows(vectors)
        if self.matrix is not None:
            out = cho_solve((self._root, True), rows.T, check_finite=False).T
        else:
            out = rows / self._base
            if self.factor is not None:
                inner = cho_solve((self._root, True), self.factor @ out.T, check_finite=False)
                out -= (inner.T @ self.factor) / self._base
        return np.asarray(out[0] if flat else out)

    def inner(self, first: npt.ArrayLike, second: npt.ArrayLike) -> Array:
        """``a' C^-1 b``, row by row; one vector is paired with every row. Nothing is centred."""
        a, a_flat = self._rows(first)
        b, b_flat = self._rows(second)
        if a.shape[0] != b.shape[0] and 1 not in (a.shape[0], b.shape[0]):
            raise InputError(f"{a.shape[0]} vectors cannot be paired with {b.shape[0]}.")
        if a.shape[0] == 1 and b.shape[0] > 1:
            a, b = b, a
        if b.shape[0] == 1:
            out = a @ self.solve(b[0])
        else:
            out = np.concatenate(
                [np.einsum("ij,ij->i", a[s], self.solve(b[s])) for s in self._slices(a.shape[0])]
            )
        return np.asarray(out[0] if a_flat and b_flat else out)

    def mahalanobis(self, records: npt.ArrayLike) -> Array:
        """``(z - mean)' C^-1 (z - mean)``: the squared distance of a record, or of every row."""
        given = np.asarray(records)
        rows = given.reshape(1, -1) if given.ndim == 1 else given
        out = np.empty(rows.shape[0])
        for s in self._slices(rows.shape[0]):
            out[s] = self._squared(self._rows(rows[s])[0] - self.mean)
        return np.asarray(out[0] if given.ndim == 1 else out)

    def dense(self) -> Array:
        """The matrix itself, for a look at small ones."""
        require(self.dimension <= DENSE, f"A matrix of {self.dimension} columns is not formed.")
        out = np.diag(self._base)
        if self.matrix is not None:
            out += self.matrix
        if self.factor is not None:
            out += self.factor.T @ self.factor
        return out

    @cached_property
    def _base(self) -> Array:
        base = self.diagonal + self.noise
        if self.matrix is None and not np.all(base > 0.0):
            column = int(np.argmin(base))
            raise InputError(f"Column {column} has no variance. Add noise, or leave it out.")
        return base

    @cached_property
    def _root(self) -> Array:
        """The lower Cholesky factor of C, or of ``I + U A^-1 U'``."""
        if self.matrix is not None:
            inner = self.matrix + np.diag(self._base)
        else:
            assert self.factor is not None
            inner = (self.factor / self._base) @ self.factor.T
            inner[np.diag_indices_from(inner)] += 1.0
        size = np.diag(inner).copy()
        try:
            root = np.asarray(cho_factor(inner, lower=True, overwrite_a=True)[0])
            left = float(np.min(np.diag(root) ** 2 / size))
        except np.linalg.LinAlgError:
            left = 0.0
        if left <= _DEPENDENT:
            raise InputError(
                "The covariance cannot be inverted: some columns are combinations of others. "
                "Remove them, or use the covariance 'ledoit-wolf' or 'diagonal'."
            )
        return root

    @cached_property
    def _whitener(self) -> Array:
        """The inverse of the Cholesky factor, transposed: a product is faster than a solution."""
        identity = np.eye(self.dimension)
        return np.asarray(solve_triangular(self._root, identity, lower=True).T)

    def _squared(self, centred: Array) -> Array:
        if self.matrix is not None:
            white = centred @ self._whitener
            return np.asarray(np.einsum("ij,ij->i", white, white))
        scaled = centred / self._base
        out = np.einsum("ij,ij->i", centred, scaled)
        if self.factor is not None:
            known = solve_triangular(
                self._root, self.factor @ scaled.T, lower=True, check_finite=False
            )
            out -= np.einsum("ji,ji->i", known, known)
        return np.asarray(np.maximum(out, 0.0))

    def _rows(self, vectors: npt.ArrayLike) -> tuple[Array, bool]:
        rows = np.asarray(vectors, dtype=float)
        flat = rows.ndim == 1
        rows = rows.reshape(1, -1) if flat else rows
        require(
            rows.ndim == 2 and rows.shape[1] == self.dimension,
            f"Vectors must have {self.dimension} columns. Found an array of shape {rows.shape}.",
        )
        return rows, flat

    def _slices(self, rows: int) -> Iterator[slice]:
        return slices(rows, self.dimension)


def slices(rows: int, columns: int) -> Iterator[slice]:
    """Blocks of rows of about CELLS numbers, but not of very few rows."""
    step = max(BLOCK, CELLS // max(1, columns))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def known(mean: npt.ArrayLike, covariance: npt.ArrayLike) -> Covariance:
    """A covariance that is given: variances, or a matrix."""
    centre = np.atleast_1d(np.asarray(mean, dtype=float))
    given = np.asarray(covariance, dtype=float)
    if given.ndim <= 1:
        spread = np.broadcast_to(given, centre.shape).copy()
        require(bool(np.all(spread > 0.0)), "Variances must be above 0.")
        return Covariance(centre, spread)
    require(
        given.shape == (centre.size, centre.size),
        f"The covariance must be {centre.size} x {centre.size}. Found {given.shape}.",
    )
    return Covariance(centre, np.zeros(centre.size), matrix=given.copy(), kind=EMPIRICAL)


def estimate_covariance(
    reference: npt.ArrayLike,
    kind: str = LEDOIT_WOLF,
    names: Sequence[str] | None = None,
    *,
    allow_constant: bool = False,
) -> Covariance:
    """Mean and covariance of reference records: 'ledoit-wolf', 'diagonal' or 'empirical'.

    InputError for a constant column (by name), for too few records and for values that are not
    finite. Beyond DENSE columns the correlations come from LARGEST_FACTOR records at most. With
    ``allow_constant`` a constant column has variance 0, and noise must be added before use.
    """
    rows = np.asarray(reference)
    require(
        rows.ndim == 2, f"Reference records must form a 2-d array. Found {rows.ndim} dimensions."
    )
    require(kind in KINDS, f"Unknown covariance {kind!r}. Choose from {', '.join(KINDS)}.")
    count, columns = rows.shape
    require(columns > 0, "The reference records have no columns.")
    needed = max(LEAST, columns + 1) if kind == EMPIRICAL else LEAST
    if count < needed:
        other = " or choose 'ledoit-wolf' or 'diagonal'" if count >= LEAST else ""
        raise InputError(
            f"The covariance {kind!r} of {columns} columns needs at least {needed} reference "
            f"records. Found {count}. Give more{other}."
        )
    mean, variance = _moments(rows, names, allow_constant)
    if kind == DIAGONAL:
        return Covariance(mean, variance, kind=kind, references=count)
    if kind == EMPIRICAL:
        require(
            columns <= DENSE,
            f"The covariance 'empirical' of {columns} columns is too large: at most {DENSE}. "
            "Choose 'ledoit-wolf' or 'diagonal'.",
        )
        matrix = _scatter(rows, mean) / (count - 1)
        zero = np.zeros(columns)
        return Covariance(mean, zero, matrix=matrix, kind=kind, references=count, correlated=count)
    return _ledoit_wolf(rows, mean, variance)


def _moments(
    rows: npt.NDArray[np.generic], names: Sequence[str] | None, allow_constant: bool
) -> tuple[Array, Array]:
    """Mean and variance (divided by the count) per column, in two passes."""
    count, columns = rows.shape

    def name(j: int) -> str:
        return repr(names[j]) if names is not None else str(j)

    total = np.zeros(columns)
    for s in slices(count, columns):
        total += np.asarray(rows[s], dtype=float).sum(axis=0)
    mean = total / count
    bad = np.flatnonzero(~np.isfinite(mean))
    if bad.size:
        raise InputError(f"Reference column {name(int(bad[0]))} holds values that are not finite.")
    squares = np.zeros(columns)
    for s in slices(count, columns):
        squares += ((np.asarray(rows[s], dtype=float) - mean) ** 2).sum(axis=0)
    variance = squares / count
    flat = np.flatnonzero(np.sqrt(variance) <= _FLAT * np.abs(mean))
    if flat.size and allow_constant:
        variance[flat] = 0.0
    elif flat.size:
        shown = ", ".join(name(int(j)) for j in flat[:8]) + (", ..." if flat.size > 8 else "")
        one = flat.size == 1
        raise InputError(
            f"{'Column' if one else f'{flat.size} columns'} {shown} "
            f"{'is' if one else 'are'} constant over the {count} reference records: a distance "
            f"in {'it' if one else 'them'} is not defined. Leave {'it' if one else 'them'} out of "
            "the features, or give more reference records."
        )
    return mean, variance


def _scatter(rows: npt.NDArray[np.generic], mean: Array) -> Array:
    out = np.zeros((mean.size, mean.size))
    for s in slices(rows.shape[0], mean.size):
        centred = np.asarray(rows[s], dtype=float) - mean
        out += centred.T @ centred
    return out


def _ledoit_wolf(rows: npt.NDArray[np.generic], mean: Array, variance: Array) -> Covariance:
    count, columns = rows.shape
    used = rows
    if columns > DENSE and count > LARGEST_FACTOR:
        used = rows[np.linspace(0, count - 1, LARGEST_FACTOR).astype(np.intp)]
    number = used.shape[0]
    live = int((variance > 0.0).sum())
    square = np.where(variance > 0.0, variance, np.inf)  # a constant column has no part in it
    fourth = 0.0
    for s in slices(number, columns):
        standard = (np.asarray(used[s], dtype=float) - mean) ** 2 / square
        fourth += float((standard.sum(axis=1) ** 2).sum())
    matrix = factor = None
    if columns <= number:
        matrix = _scatter(used, mean) / number
        scale = np.sqrt(square)
        standard = matrix / scale / scale[:, None]
        norm, trace = float((standard**2).sum()), float(np.trace(standard))
    else:
        factor = (np.asarray(used, dtype=float) - mean) / np.sqrt(number)
        gram = (factor / square) @ factor.T
        norm, trace = float((gram**2).sum()), float(np.trace(gram))
    shrinkage, level = _shrinkage(fourth, norm, trace, number, max(1, live))
    if matrix is not None:
        matrix *= 1.0 - shrinkage
    if factor is not None:
        factor *= np.sqrt(1.0 - shrinkage)
    return Covariance(
        mean,
        shrinkage * level * variance,
        matrix=matrix,
        factor=factor,
        kind=LEDOIT_WOLF,
        shrinkage=shrinkage,
        references=count,
        correlated=number,
    )


def _shrinkage(
    fourth: float, norm: float, trace: float, count: int, columns: int
) -> tuple[float, float]:
    """Ledoit and Wolf (2004): ``beta / delta`` and ``t = tr(S)/d``, from ``|S|^2`` and ``tr S``.

    ``fourth`` is the sum of the records' squared lengths, squared.
    """
    level = trace / columns
    distance = (norm - 2.0 * level * trace + columns * level**2) / columns
    spread = (fourth / count - norm) / (columns * count)
    if distance <= 0.0:
        return 1.0, level
    share = min(max(spread, 0.0), distance) / distance
    return max(share, LEAST_SHRINKAGE), level
