"""Local structure that both nuisance models missed: hundreds of small groups, rare levels.

Products, waves and trees with leaves of twenty rows do not see a small group of records with its
own share of members and its own scores. Its records are each other's neighbours, though: if the
membership surprise of a record goes with the score surprises of *other* records near to it, both
models missed the same function of x. Near are the nearest records in standardised columns, those in
the same leaf of trees grown on one half, and those with the same level of a category; and, since
distance in many columns hides what one or two of them tell, the nearest in the ranks of single
columns (codes and dates kept as numbers), those with the same number in one (rounded numbers), the
nearest in pairs of columns (places), and in the difference of two columns that go together (the
length of a stay). The others' surprises always come from the other half, so that no record is
compared with itself.

The score enters by its mean, its square and its two tails, each less what a leak alone explains of
it, and in units of its standard deviation. Given right log-odds every such covariance has mean
zero, whatever the scores are and however much leaks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammainc, ndtr, ndtri

from divulge.shift.levels import Codes
from divulge.shift.score_shapes import SHAPE_MARGIN, SHAPES, explaining, shapes_of
from divulge.types import Array, Index

NEAREST = (3, 12)
"""How many neighbours: a family of near-copies, or a small group."""
MARGIN = 3.0
"""Standard errors from which a covariance is charged."""
MOST = 4000
"""Records that are looked at, at most."""
MOST_SINGLE, MOST_PAIRED = 200, 16
"""Columns that are looked at one by one, and two by two."""
MANY = 3
"""So many of them beyond the margin of a single one are no chance either."""
LEAST = 2.0
"""Standard errors that each of several needs, however many they are."""
_FEW_VALUES = 8
_REPEATED = 0.1
"""Share of the records that have their number in common with others, for it to be looked at."""
_NEAREST_FEW = 3
_LINKED = 0.8
_TREES = 12
_LEAF = 5
_LEAST_FACTOR, _LARGEST_FACTOR = 2.0, 4.0


@dataclass(frozen=True)
class Near:
    """The covariance of two surprises in one neighbourhood, as a slope, with its error."""

    where: str
    shape: str
    value: float
    standard_error: float
    factor: float
    """One over the share of the shape's variance that neighbours show, between 2 and 4: neighbours
    are not equal, and show a part of what both models missed."""
    tried: int = 1
    """How many such neighbourhoods there are, of which the largest speaks."""
    columns: frozenset[int] = frozenset()
    """The few columns it is in; a category is a negative number; none: in all of them."""

    def beside(self, leak: float) -> Beside:
        """How large it is beside a leak of this sign."""
        size = explaining(self.value, self.shape, leak)
        return Beside(self.factor * size, size / max(self.standard_error, 1e-12))


@dataclass(frozen=True)
class Beside:
    """What a covariance is worth if it is charged, and how many standard errors it has."""

    worth: float
    errors: float


def near_slopes(
    columns: Array,
    levels: Codes | None,
    membership: Array,
    left: Array,
    variance: float,
    rng: np.random.Generator,
) -> list[Near]:
    """Every neighbourhood with every shape; the surprises are per record.

    ``columns`` are standardised; ``variance`` is the mean of pi (1 - pi).
    """
    shapes = shapes_of(left, membership)
    halves = _halves(columns, levels, left, rng)
    if min(map(len, halves)) < max(NEAREST):
        return []
    found: dict[str, Array] = {}
    for there, here in (halves, halves[::-1]):
        for name, near in _neighbourhoods(columns, levels, shapes, membership, here, there, rng):
            found.setdefault(name, np.zeros(shapes.shape))[here] = near
    few, equal = few_columns(columns), _repeated(columns)
    categories = 0 if levels is None else levels.shape[1]
    tried = dict.fromkeys((*few, *equal), len(few) + len(equal))
    tried |= {_level(j): categories for j in range(categories)}
    about = {name: known.columns for name, known in (*few.items(), *equal.items())}
    about |= {_level(j): frozenset((-1 - j,)) for j in range(categories)}
    for name, same in equal.items():
        found[name] = np.zeros(shapes.shape)
        for there, here in (halves, halves[::-1]):
            found[name][here] = _same_level(same.place, shapes, here, there)
    for name, close in few.items():
        found[name] = np.zeros(shapes.shape)
        for there, here in (halves, halves[::-1]):
            found[name][here] = _few_nearest(close.place, shapes, here, there)
    out = []
    for name, near in found.items():
        products = (membership - membership.mean())[:, None] * (near - near.mean(axis=0))
        value = products.mean(axis=0) / variance
        error = products.std(axis=0) / math.sqrt(len(products)) / variance
        shown = np.maximum((shapes * near).mean(axis=0), 1e-9)
        factor = np.clip(1.0 / shown, _LEAST_FACTOR, _LARGEST_FACTOR)
        out += [
            Near(name, *map_of, tried.get(name, 1), about.get(name, frozenset()))
            for map_of in zip(SHAPES, value.tolist(), error.tolist(), factor.tolist(), strict=True)
        ]
    return out


def _halves(
    columns: Array, levels: Codes | None, left: Array, rng: np.random.Generator
) -> tuple[Index, Index]:
    """Two random halves; equal records with the same score, as a model gives it, are in one."""
    known = [columns, np.round(left, 6)[:, None]] + ([] if levels is None else [levels])
    _, record = np.unique(np.concatenate(known, axis=1), axis=0, return_inverse=True)
    first = rng.random(int(record.max()) + 1)[record.ravel()] < 0.5
    return np.flatnonzero(first), np.flatnonzero(~first)


def _neighbourhoods(
    columns: Array,
    levels: Codes | None,
    shapes: Array,
    membership: Array,
    here: Index,
    there: Index,
    rng: np.random.Generator,
) -> list[tuple[str, Array]]:
    """For the records here, the mean shapes of their neighbours there."""
    out = [(f"nearest {k}", near) for k, near in _nearest(columns, shapes, here, there)]
    out.append(("leaf mates", _leaf_mates(columns, shapes, membership, here, there, rng)))
    if levels is not None:
        out += [
            (_level(j), _same_level(code, shapes, here, there)) for j, code in enumerate(levels.T)
        ]
    return out


def _level(j: int) -> str:
    return f"level of category {j + 1}"


def _nearest(columns: Array, shapes: Array, here: Index, there: Index) -> list[tuple[int, Array]]:
    from sklearn.neighbors import NearestNeighbors

    most = min(max(NEAREST), there.size)
    model = NearestNeighbors(n_neighbors=most).fit(columns[there])
    near = shapes[there][model.kneighbors(columns[here], return_distance=False)]
    return [(k, near[:, : min(k, most)].mean(axis=1)) for k in NEAREST]


def _leaf_mates(
    columns: Array,
    shapes: Array,
    membership: Array,
    here: Index,
    there: Index,
    rng: np.random.Generator,
) -> Array:
    """Mean shapes in the leaves of trees that were grown on the records there."""
    from sklearn.ensemble import ExtraTreesRegressor

    grown_on = np.column_stack([shapes[there], membership[there] / membership.std()])
    model = ExtraTreesRegressor(
        _TREES,
        min_samples_leaf=_LEAF,
        max_features=1.0 / 3.0,
        random_state=int(rng.integers(2**31)),
        n_jobs=1,
    ).fit(columns[there].astype(np.float32), grown_on)
    return np.asarray(model.predict(columns[here].astype(np.float32))[:, : shapes.shape[1]])


@dataclass(frozen=True)
class Few:
    """Where the records stand in a few columns."""

    columns: frozenset[int]
    place: Array = field(repr=False)


def few_columns(columns: Array) -> dict[str, Few]:
    """Ranks of single columns, of pairs of them, and of differences of two that go together.

    Of many columns the first ones: they stand in an order of their content, which is no order.
    """
    rank = (np.argsort(np.argsort(columns, axis=0), axis=0) + 0.5) / len(columns)
    tied = _tied(columns)
    several = [j for j in range(columns.shape[1]) if tied[:, j].max() > 1]
    out = {
        f"column {j + 1}": Few(frozenset((j,)), tied[:, [j]].astype(float))
        for j in several[:MOST_SINGLE]
    }
    few = [j for j in range(columns.shape[1]) if tied[:, j].max() < _FEW_VALUES]
    if len(few) > 2:
        cell = np.unique(tied[:, few], axis=0, return_inverse=True)[1].reshape(-1, 1)
        out["cells of columns with few values"] = Few(frozenset(few), cell.astype(float))
    some = several[:MOST_PAIRED]
    out |= {
        f"columns {i + 1} and {j + 1}": Few(frozenset((i, j)), rank[:, [i, j]])
        for i in some
        for j in some
        if i < j
    }
    linked = np.atleast_2d(np.corrcoef(columns[:, some], rowvar=False)) if some else np.eye(0)
    for a, i in enumerate(some):
        for b, j in enumerate(some[:a]):
            if abs(linked[a, b]) >= _LINKED:
                gap = columns[:, [i]] - np.sign(linked[a, b]) * columns[:, [j]]
                name = f"difference of columns {j + 1} and {i + 1}"
                out[name] = Few(frozenset((i, j)), _tied(gap).astype(float))
    return out


def _repeated(columns: Array) -> dict[str, Few]:
    """The numbers of single columns, as levels, where many records have theirs in common."""
    out = {}
    for j, value in enumerate(_tied(columns).T[:MOST_SINGLE]):
        common = np.bincount(value)[value] > 1
        if value.max() >= _FEW_VALUES and common.mean() >= _REPEATED:
            out[f"same number in column {j + 1}"] = Few(frozenset((j,)), value)
    return out


def _tied(columns: Array) -> Index:
    """The place of every value among the different ones of its column."""
    places = [np.unique(column, return_inverse=True)[1].ravel() for column in columns.T]
    return np.stack(places, axis=1).astype(np.intp)


def _few_nearest(place: Array, shapes: Array, here: Index, there: Index) -> Array:
    """Mean shapes of the nearest records there, in one or two columns."""
    from divulge.shift.compiled_near import nearest_in_square

    most = min(_NEAREST_FEW, there.size)
    if place.shape[1] == 1:
        near = _nearest_on_line(place[here, 0], place[there, 0], most)
    else:
        near = nearest_in_square(place[here], place[there], most)
    own = shapes[there]
    total = own[near[:, 0]]
    for k in range(1, most):
        total += own[near[:, k]]
    return np.asarray(total / most)


def _nearest_on_line(asked: Array, known: Array, most: int) -> Index:
    """The nearest ones on a line are among so many below and above."""
    order = np.argsort(known, kind="stable")
    ordered = known[order]
    first = np.searchsorted(ordered, asked)[:, None] + np.arange(-most, most)
    away = np.abs(ordered[np.clip(first, 0, known.size - 1)] - asked[:, None])
    away[(first < 0) | (first >= known.size)] = np.inf
    best = np.argsort(away, axis=1, kind="stable")[:, :most]
    return np.asarray(order[np.take_along_axis(first, best, axis=1)])


def _same_level(codes: Codes | Array, shapes: Array, here: Index, there: Index) -> Array:
    count = int(codes.max(initial=0)) + 1
    size = np.maximum(np.bincount(codes[there], minlength=count), 1).astype(float)
    means = [np.bincount(codes[there], s, count) / size for s in shapes[there].T]
    return np.stack(means, axis=1)[codes[here]]


def largest(found: Sequence[Near], leak: float) -> float:
    """The largest slope beyond its error that could explain a leak of this sign.

    Of several alike one has to be so large that chance would show such a one among all of them as
    rarely as a single one beyond its margin. What was missed may also be a sum of many functions
    of few columns, each of them too small to be told from chance: so many so large ones that chance
    would show them as rarely are charged together.
    """
    charged = 0.0
    for shape in SHAPES:
        margin = MARGIN if shape == SHAPES[0] else SHAPE_MARGIN
        own = [n for n in found if n.shape == shape]
        beside = [(n.beside(leak), margin_among(n.tried, margin)) for n in own]
        charged = max([charged, *(b.worth for b, least in beside if b.errors > least)])
        charged = max(charged, _together([n for n in own if n.tried > 1], leak, margin))
    return charged


def margin_among(tried: int, margin: float) -> float:
    """Standard errors that the largest of so many exceeds as rarely as one exceeds its margin."""
    return float(-ndtri(ndtr(-margin) / tried)) if tried > 1 else margin


def _together(several: Sequence[Near], leak: float, margin: float) -> float:
    """The sum of the largest ones, of as many as chance would hardly ever show.

    The number of those beyond a size is about Poisson if all of them are chance, and if no column
    is counted twice: what was missed of one shows in all its pairs.
    """
    ordered = sorted(((n.beside(leak), n) for n in several), key=lambda pair: -pair[0].errors)
    chance = ndtr(-margin)
    plain = [b.worth for b, _ in ordered if b.errors > margin]
    charged = sum(plain) if len(plain) >= MANY else 0.0
    seen: frozenset[int] = frozenset()
    total, count = 0.0, 0
    for beside, near in ordered:
        if beside.errors <= LEAST:
            break
        if near.columns & seen:
            continue
        seen |= near.columns
        total, count = total + beside.worth, count + 1
        if gammainc(count, len(ordered) * ndtr(-beside.errors)) <= chance:
            charged = max(charged, total)
    return charged
