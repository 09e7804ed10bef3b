"""Uncertainty of an estimated propensity: bootstrap of the bound (000, Algorithm 3).

The propensity is refitted on K resamples of the records it was learned from, the bound recomputed
with guesses and uniforms held fixed, the K values recentred on the bound of the full fit, and
the lower quantile reported: confidence ``1 - p - p'``. The bound depends on the counts only, so it
is computed once per distinct count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.errors import require, require_probability
from divulge.types import Array
from divulge.work import SERIAL, Engine, Keep

RESAMPLES = 600


@dataclass(frozen=True)
class Bootstrapped:
    """The point value, the recentred bootstrap values and their lower quantile."""

    point: float
    values: Array = field(repr=False)
    lower: float
    error: float


def bootstrap(
    point: float,
    recompute: Callable[[npt.NDArray[np.intp]], float],
    size: int,
    *,
    error: float,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    engine: Engine = SERIAL,
    keep: Keep | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Bootstrapped:
    """``recompute(rows)`` refits on these rows of the ``size`` and returns the bound."""
    (found,) = bootstrap_each(
        (point,),
        recompute,
        size,
        error=error,
        rng=rng,
        resamples=resamples,
        engine=engine,
        keep=keep,
        progress=progress,
    )
    return found


def bootstrap_each(
    points: Sequence[float],
    recompute: Callable[[npt.NDArray[np.intp]], Any],
    size: int,
    *,
    error: float,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    engine: Engine = SERIAL,
    keep: Keep | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Bootstrapped, ...]:
    """Several bounds from the same refits: ``recompute(rows)`` returns one value for each.

    Each holds on its own at this error, not all together. Seeds are drawn beforehand, so the values
    do not depend on the ``engine``; each is one task, to be found again with ``keep``.
    """
    require_probability("error", error)
    require(resamples >= 1, f"resamples must be at least 1. Found {resamples}.")
    seeds = rng.integers(0, 2**63, size=resamples).tolist()
    results = engine.run(_Resample(recompute, size), seeds, keep=keep, progress=progress)
    raw = np.array([np.atleast_1d(found["value"]) for found in results], dtype=float)
    return tuple(recentred(point, raw[:, i], error) for i, point in enumerate(points))


def recentred(point: float, raw: Array, error: float) -> Bootstrapped:
    """The values around the point, and the largest with at most a share ``error`` below it."""
    middle = float(np.median(raw))
    values = np.sort(raw + point - middle)
    lower = float(values[int(np.floor(error * (values.size - 1)))])
    if middle == 0.0:  # bounds stop at 0: recentring would lift most of them to the point value
        lower = 0.0
    return Bootstrapped(point, values, max(0.0, min(lower, point)), error)


@dataclass(frozen=True)
class _Resample:
    recompute: Callable[[npt.NDArray[np.intp]], Any]
    size: int

    def __call__(self, seed: int) -> dict[str, Any]:
        rows = np.random.default_rng(seed).integers(0, self.size, size=self.size)
        return {"value": self.recompute(rows)}
