"""Which records are the most exposed? Choosing canaries before training (004, Algorithm 6).

A record far from the others, in the metric of what hides it (the spread of the other records and
the noise of the mechanism), gives itself away most: the noise-aware Mahalanobis distance. The
records may be features, embeddings, or clipped gradients at several steps of a training run; then
the ranks of the distances are summed over the steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from divulge.errors import require
from divulge.exposure.covariance import LEDOIT_WOLF, Covariance, estimate_covariance
from divulge.types import Array, Index

MAHALANOBIS, RANDOM, NORM = "mahalanobis", "random", "norm"
STRATEGIES = (MAHALANOBIS, RANDOM, NORM)


def noisy_covariance(
    reference: npt.ArrayLike,
    variance: npt.ArrayLike,
    *,
    kind: str = LEDOIT_WOLF,
    names: Sequence[str] | None = None,
) -> Covariance:
    """The covariance of the reference records plus noise of this variance on every column.

    One variance may be given for each column. With noise on every column one may be constant, as
    gradients often are: the noise is then all its spread.
    """
    added = np.asarray(variance, dtype=float)
    require(
        bool((np.isfinite(added) & (added >= 0.0)).all()),
        f"The variance of the noise must be finite and at least 0. Found {variance!r}.",
    )
    found = estimate_covariance(reference, kind, names, allow_constant=bool((added > 0.0).all()))
    return found.with_noise(added)


def exposure(
    records: npt.ArrayLike,
    strategy: str,
    *,
    reference: npt.ArrayLike | None = None,
    noise: npt.ArrayLike = 0.0,
    names: Sequence[str] | None = None,
) -> Array:
    """One value per record, larger where it is more exposed; zeros for 'random'.

    ``reference`` are the records that the distance is taken from, by default the records
    themselves. ``noise`` is the standard deviation of the mechanism's noise per averaged record,
    one for all columns or one for each: that of the noise on the mean times the root of the number
    averaged.
    """
    require(
        strategy in STRATEGIES, f"Unknown strategy {strategy!r}. Choose from {_listed(STRATEGIES)}."
    )
    rows = np.asarray(records, dtype=float)
    require(rows.ndim == 2, f"Records must form a 2-d array. Found {rows.ndim} dimensions.")
    if strategy == RANDOM:
        return np.zeros(rows.shape[0])
    if strategy == NORM:
        return np.asarray(np.linalg.norm(rows, axis=1))
    each = np.asarray(noise, dtype=float)
    require(bool((each >= 0.0).all()), f"The noise must be at least 0. Found {noise!r}.")
    others = rows if reference is None else reference
    return noisy_covariance(others, each**2, names=names).mahalanobis(rows)


def rank_sum(steps: Iterable[npt.ArrayLike]) -> Array:
    """The sum over steps of every record's rank, the least exposed first; ties share a rank."""
    total: Array | None = None
    for values in steps:
        ranks = rankdata(values)
        if total is None:
            total = np.zeros(ranks.size)
        require(
            ranks.size == total.size,
            f"Every step needs one value per record: {total.size}. Found {ranks.size}.",
        )
        total += ranks
    require(total is not None, "There is no step to rank the records by.")
    assert total is not None
    return total


def most_exposed(values: npt.ArrayLike, count: int, rng: np.random.Generator) -> Index:
    """Indices of the records with the largest values, in ascending order; ties fall by lot."""
    given = np.asarray(values, dtype=float).ravel()
    require(
        1 <= count <= given.size,
        f"{count} canaries cannot be chosen among {given.size} records.",
    )
    require(bool(np.isfinite(given).all()), "Exposure must be finite in every record.")
    order = np.lexsort((rng.random(given.size), -given))
    return np.sort(order[:count])


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words)
