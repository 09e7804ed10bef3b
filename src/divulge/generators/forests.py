"""A forest as arrays: grown anywhere, kept as a piece, followed by the one who draws the records.

A tree is grown on real records only, so that the forests of all columns may be grown at once. What
is drawn at random does not depend on the trees: whoever has the random generator as it stood before
a forest deals out the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from divulge.types import Array, Index
from divulge.work.pieces import Arrays

Floats = npt.NDArray[np.float32]

NODE = np.dtype([("threshold", "f8"), ("feature", "i4"), ("left", "i4"), ("right", "i4")])
"""A node of a tree: at most the threshold goes left; a leaf has no node to its left (-1)."""


class Deal(NamedTuple):
    """What is drawn for one tree."""

    chosen: Index
    """The new records that follow the tree."""
    sample: Index
    """The records it is grown on."""
    seed: int
    uniforms: Array
    """For each of ``chosen`` a number that picks a donor in its leaf."""


def deals(trees: int, size: int, count: int, rng: np.random.Generator) -> Iterator[Deal]:
    """A tree per bootstrap sample of ``size`` records; ``count`` new ones are dealt out to them."""
    follow = rng.integers(0, trees, count)
    for number in range(trees):
        chosen = np.flatnonzero(follow == number)
        sample, seed = rng.integers(0, size, size), int(rng.integers(2**31))
        yield Deal(chosen, sample, seed, rng.random(chosen.size))


def grow(target: npt.NDArray[Any], real: Floats, leaf: int, dealt: Iterable[Deal]) -> Arrays:
    """For every tree that is followed its nodes, and the leaf of every record."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    make = DecisionTreeClassifier if target.ndim == 1 else DecisionTreeRegressor
    forest: Arrays = {}
    for number, deal in enumerate(dealt):
        if not deal.chosen.size:
            continue
        tree = make(min_samples_leaf=leaf, random_state=deal.seed)
        tree.fit(real[deal.sample], target[deal.sample])
        leaves = tree.apply(real)
        forest[f"nodes_{number}"] = nodes(tree)
        forest[f"leaves_{number}"] = leaves.astype(np.min_scalar_type(leaves.max()))
    return forest


def follow(forest: Arrays, made: Floats, dealt: Iterable[Deal]) -> Index:
    """For every new record a donor from the leaf that it reaches in its own tree."""
    rows = np.empty(len(made), dtype=np.intp)
    for number, deal in enumerate(dealt):
        if deal.chosen.size:
            reached = apply(forest[f"nodes_{number}"], made[deal.chosen])
            rows[deal.chosen] = draw(forest[f"leaves_{number}"], reached, deal.uniforms)
    return rows


def nodes(tree: Any) -> npt.NDArray[Any]:
    """A fitted tree of scikit-learn as one array."""
    grown = tree.tree_
    found = np.empty(grown.node_count, NODE)
    found["threshold"], found["feature"] = grown.threshold, grown.feature
    found["left"], found["right"] = grown.children_left, grown.children_right
    return found


def apply(tree: npt.NDArray[Any], rows: Floats) -> Index:
    """The leaf of every row, as scikit-learn finds it: single precision against double."""
    at = np.zeros(len(rows), dtype=np.intp)
    walking = np.arange(len(rows))
    while True:
        node = tree[at[walking]]
        inner = node["left"] >= 0
        walking, node = walking[inner], node[inner]
        if not walking.size:
            return at
        left = rows[walking, node["feature"]] <= node["threshold"]
        at[walking] = np.where(left, node["left"], node["right"])


def draw(real: npt.NDArray[Any], made: Index, uniforms: Array) -> Index:
    """For every new record one of the records in its leaf, all equally likely."""
    order = np.argsort(real, kind="stable")
    counts = np.bincount(real, minlength=int(max(real.max(), made.max())) + 1)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    picked: Index = order[starts[made] + (uniforms * counts[made]).astype(np.intp)]
    return picked
