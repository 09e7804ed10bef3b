"""Names for what is passed around, and how large arrays are walked through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Floats = npt.NDArray[np.floating[Any]]
"""Numbers of single or double precision."""
Index = npt.NDArray[np.intp]
Places = npt.NDArray[np.integer[Any]]
"""Indices in the smallest type that holds them."""
Progress = Callable[[str, int, int], None]
"""Told about a stage, how much of it is done, and of how much."""

AT_ONCE = 1 << 22
"""Most trials that are worked on at once: bounds the memory of everything in between."""


def slices(start: int, stop: int | None = None) -> Iterator[slice]:
    """``range(start)`` or ``range(start, stop)``, cut into slices of at most AT_ONCE."""
    first, last = (0, start) if stop is None else (start, stop)
    for at in range(first, last, AT_ONCE):
        yield slice(at, min(at + AT_ONCE, last))


def index_type(rows: int) -> type[np.unsignedinteger[Any]]:
    """The smallest type that numbers this many rows: half the memory below 2**32 of them."""
    return np.uint32 if rows <= 2**32 else np.uint64


def permutation(trials: int, rng: np.random.Generator) -> Places:
    """What ``rng.permutation(trials)`` gives, in half the memory."""
    order = np.arange(trials, dtype=index_type(trials))
    rng.shuffle(order)
    return order
