"""Non-linear columns of a record: a few always, others only where the data ask for them.

The *geometry* describes the records from x alone. *Terms* (squares, hinges, products of two or
three columns, squares along principal Hessian directions) are screened: kept if their covariance
with a residual is beyond the largest of as many null ones, so that a design of 50 columns does not
become one of 20,000. Columns that matter for a residual (their *relevance*) also span the kernel
and the clusters of ``groups.py``, where distances are not drowned by the other columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from divulge.shift.groups import k_means, soft_membership
from divulge.types import Array, Index

CLIP = 5.0
"""Non-linear terms see a column clipped at that many standard deviations."""
SAMPLE = 20_000
"""Rows that describe the records."""
MOST_TERMS = 60
MOST_PAIR_COLUMNS = 150
MOST_TRIPLE_COLUMNS = 100
MOST_TRIPLES = 8
MOST_DIRECTIONS = 4
_TRIPLE_ROWS = 4000
_GEOMETRY_CLUSTERS = 12
_DISTINCT = 8
"""A column with more distinct values than that is continuous."""
_TINY = 1e-9

_SHAPES: tuple[Callable[[Array], Array], ...] = (
    lambda c: c * c,
    lambda c: np.abs(c),
    lambda c: np.log1p(c * c),
    lambda c: np.maximum(c - 1.0, 0.0),
    lambda c: np.maximum(-c - 1.0, 0.0),
)


@dataclass(frozen=True)
class Geometry:
    """What the records look like, from x alone: any row may be used, no truth is."""

    centre: Array = field(repr=False)
    scale: Array = field(repr=False)
    continuous: Index = field(repr=False)
    """Columns of which squares, hinges and products make sense."""
    centres: Array = field(repr=False)
    """Centres of clusters, one per row; none where there are few records."""

    def clipped(self, features: Array) -> Array:
        """Standardised columns, clipped."""
        z = features - self.centre
        z /= self.scale
        return np.clip(z, -CLIP, CLIP, out=z)

    def univariate(self, clipped: Array, which: Index | None = None) -> Array:
        """Five shapes of every continuous column, shape by shape; or ``which`` of them."""
        columns = self.continuous
        if which is None:
            chosen = clipped[:, columns]
            return np.concatenate([shape(chosen) for shape in _SHAPES], axis=1)
        out = np.empty((clipped.shape[0], which.size))
        for k, shape in enumerate(_SHAPES):
            mine = np.flatnonzero(which // max(columns.size, 1) == k)
            if mine.size:
                out[:, mine] = shape(clipped[:, columns[which[mine] % columns.size]])
        return out

    def radius(self, clipped: Array) -> Array:
        """Three shapes of the distance from the centre; none without continuous columns."""
        if self.continuous.size == 0:
            return np.empty((clipped.shape[0], 0))
        chosen = clipped[:, self.continuous]
        square = np.einsum("ij,ij->i", chosen, chosen) / self.continuous.size
        return np.stack([square, np.log(square + 1e-3), np.sqrt(square)], axis=1)

    def always(self, clipped: Array) -> Array:
        """Columns that every model gets: radius and soft cluster membership."""
        radius = self.radius(clipped)
        if self.centres.shape[0] == 0:
            return radius
        return np.concatenate([radius, soft_membership(clipped, self.centres, 1.0)], axis=1)


def describe(features: Array, rng: np.random.Generator) -> Geometry:
    """The geometry of the records, from at most 20,000 of them."""
    rows = features.shape[0]
    sample = features if rows <= SAMPLE else features[rng.choice(rows, SAMPLE, replace=False)]
    centre, scale = sample.mean(axis=0), sample.std(axis=0)
    scale = np.where(scale <= _TINY * (1.0 + np.abs(centre)), 1.0, scale)
    distinct = [np.unique(sample[:2000, j]).size for j in range(features.shape[1])]
    continuous = np.flatnonzero(np.array(distinct) > _DISTINCT)
    geometry = Geometry(centre, scale, continuous, np.empty((0, features.shape[1])))
    if sample.shape[0] <= 40 * _GEOMETRY_CLUSTERS:
        return geometry
    seed = int(rng.integers(2**31))
    centres, _ = k_means(geometry.clipped(sample), _GEOMETRY_CLUSTERS, seed)
    return Geometry(centre, scale, continuous, centres)


@dataclass(frozen=True)
class Terms:
    """A selection of non-linear columns."""

    univariate: Index
    pairs: Index
    """Products of two columns, and of their signs, one per row."""
    directions: Array = field(repr=False)
    """One direction per column: square and size of the projection."""
    triples: Index

    def build(self, geometry: Geometry, clipped: Array) -> Array:
        """The columns of these records."""
        first, second = self.pairs.T
        one, two, three = self.triples.T
        columns = [
            geometry.univariate(clipped, self.univariate),
            clipped[:, first] * clipped[:, second],
            np.sign(clipped[:, first]) * np.sign(clipped[:, second]),
            clipped[:, one] * clipped[:, two] * clipped[:, three],
        ]
        if self.directions.shape[1]:
            along = clipped @ self.directions
            columns += [along * along, np.abs(along)]
        return np.concatenate(columns, axis=1)


def no_terms(columns: int) -> Terms:
    """Nothing selected."""
    none = np.zeros(0, np.intp)
    return Terms(none, none.reshape(0, 2), np.zeros((columns, 0)), none.reshape(0, 3))


def union(first: Terms, second: Terms) -> Terms:
    """Double selection: terms that matter for membership, or for the score."""
    return Terms(
        np.union1d(first.univariate, second.univariate),
        np.unique(np.concatenate([first.pairs, second.pairs]), axis=0),
        np.concatenate([first.directions, second.directions], axis=1),
        np.unique(np.concatenate([first.triples, second.triples]), axis=0),
    )


@dataclass(frozen=True)
class Singles:
    """The shapes of single columns as a screen sees them: they serve several residuals."""

    centred: Array = field(repr=False)
    squared: Array = field(repr=False)

    def scores(self, residual: Array, variance: Array) -> Array:
        """Size of each one's covariance with the residual, in standard errors."""
        error = np.sqrt(np.maximum(variance @ self.squared, _TINY))
        return np.asarray(np.abs(residual @ self.centred) / error)


def singles(columns: Array) -> Singles:
    """Columns less their means, and the squares of that."""
    centred = columns - columns.mean(axis=0)
    return Singles(centred, centred * centred)


def null_maximum(count: float) -> float:
    """About the largest of ``count`` standard normal sizes."""
    return math.sqrt(2.0 * math.log(max(count, 3.0)))


def screen(
    geometry: Geometry,
    clipped: Array,
    residual: Array,
    variance: Array,
    *,
    shapes: Singles | None = None,
    triples: bool = False,
) -> Terms:
    """Terms whose covariance with a residual is beyond the largest of as many null ones.

    The ``residual`` has mean about 0 and this ``variance`` given x: p(1-p) for membership.
    ``shapes`` are those of the geometry's columns if they are at hand.
    """
    rows, width = clipped.shape
    most = max(4, min(MOST_TERMS, rows // 40))
    shapes = singles(geometry.univariate(clipped)) if shapes is None else shapes
    single = shapes.scores(residual, variance)
    columns = geometry.continuous
    if columns.size > MOST_PAIR_COLUMNS:
        effect = np.maximum(
            _scores(clipped[:, columns], residual, variance), single[: columns.size]
        )
        columns = columns[np.argsort(-effect)[:MOST_PAIR_COLUMNS]]
    chosen = clipped[:, columns]
    covariance = (chosen.T * residual) @ chosen
    squares = chosen * chosen
    size = np.sqrt(np.maximum((squares.T * variance) @ squares, _TINY))
    upper = np.triu_indices(columns.size, 1)
    best = _largest(np.abs(covariance / size)[upper], most)
    found = np.zeros((0, 3), np.intp)
    if triples and 3 <= geometry.continuous.size <= MOST_TRIPLE_COLUMNS:
        found = _screen_triples(clipped[:, geometry.continuous], residual, variance)
        found = geometry.continuous[found]
    total = math.sqrt(max(float(variance.sum()), _TINY))
    return Terms(
        _largest(single, most),
        np.stack([columns[upper[0][best]], columns[upper[1][best]]], axis=1),
        _hessian_directions(covariance / total, columns, width),
        found,
    )


def _scores(columns: Array, residual: Array, variance: Array) -> Array:
    """Size of each column's covariance with the residual, in standard errors."""
    return Singles(columns, columns * columns).scores(residual, variance)


def _largest(scores: Array, most: int) -> Index:
    best = np.argsort(-scores)[:most]
    return best[scores[best] > null_maximum(scores.size)]


def _hessian_directions(covariance: Array, columns: Index, width: int) -> Array:
    """Directions of many small interactions, beyond the edge of the null's semicircle law."""
    if columns.size < 2:
        return np.zeros((width, 0))
    values, vectors = np.linalg.eigh(covariance)
    edge = 2.0 * math.sqrt(columns.size) + 2.5
    keep = np.argsort(-np.abs(values))[:MOST_DIRECTIONS]
    keep = keep[np.abs(values[keep]) > edge]
    out = np.zeros((width, keep.size))
    out[columns] = vectors[:, keep]
    return out


def _screen_triples(columns: Array, residual: Array, variance: Array) -> Index:
    """Products of three columns; a cheap approximate score first, the exact one if it is near."""
    columns = columns[:_TRIPLE_ROWS]
    residual, variance = residual[:_TRIPLE_ROWS], variance[:_TRIPLE_ROWS]
    width = columns.shape[1]
    bar = null_maximum(width * (width - 1) * (width - 2) / 6)
    found: list[tuple[float, int, int, int]] = []
    short, weight = columns.astype(np.float32), residual.astype(np.float32)
    for a in range(width - 2):
        rest, own = short[:, a + 1 :], columns[:, a]
        rough = np.abs((rest.T * (weight * short[:, a])) @ rest)
        rough = np.triu(rough / math.sqrt(max(float((own * own) @ variance), _TINY)), 1)
        for i, j in np.argwhere(rough > 0.8 * bar)[:200]:
            b, c = a + 1 + int(i), a + 1 + int(j)
            product = own * columns[:, b] * columns[:, c]
            score = float(_scores(product[:, None], residual, variance)[0])
            if score > bar:
                found.append((score, a, b, c))
    found.sort(reverse=True)
    return np.array([f[1:] for f in found[:MOST_TRIPLES]], dtype=np.intp).reshape(-1, 3)


def relevance(clipped: Array, residual: Array, variance: Array) -> Array:
    """Weight in [0, 1] per column: its linear, squared and best pair association in excess."""
    width = clipped.shape[1]
    squares = clipped * clipped
    covariance = (clipped.T * residual) @ clipped
    pairs = covariance**2 / np.maximum((squares.T * variance) @ squares, _TINY)
    own = np.diag(pairs).copy()
    np.fill_diagonal(pairs, 0.0)
    linear = _scores(clipped, residual, variance) ** 2
    excess = (
        np.maximum(linear - 4.0, 0.0)
        + np.maximum(own - 4.0, 0.0)
        + np.maximum(pairs.max(axis=1) - 2.0 * math.log(max(width * width / 2, 3)), 0.0)
    )
    top = float(excess.max())
    return np.sqrt(excess / top) if top > 0.0 else np.ones(width)
