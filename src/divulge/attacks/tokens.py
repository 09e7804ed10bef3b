"""Scores of a text from the log-probabilities of its tokens; all but ``zlib`` need nothing else.

Each one speaks for membership where it is small: ``loss`` (Yeom et al., 2018), ``min_k``, the mean
loss of the 20% least likely tokens (Min-K%, Shi et al., 2024), ``zlib``, loss over compressed size
(Carlini et al., 2021). The others describe the sequence of losses for a learned attack: ``spread``
(standard deviation), ``largest``, ``early`` and ``late`` (means of the first and second half).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from divulge.errors import require
from divulge.types import Array

SHARE = 0.2
"""The share of least likely tokens in Min-K%."""
_LEAST = 1e-12


def min_k(log_probabilities: Array, share: float = SHARE) -> Array:
    """Mean loss of the least likely ``share`` of the tokens of every record, at least one."""
    require(0.0 < share <= 1.0, f"share must lie in (0, 1]. Found {share!r}.")
    ordered = np.sort(log_probabilities, axis=1)  # NaN goes last
    lengths = np.isfinite(ordered).sum(axis=1)
    require(bool((lengths > 0).all()), "Every record needs at least one finite log-probability.")
    counted = np.maximum(1, np.floor(share * lengths)).astype(int)
    sums = np.cumsum(np.nan_to_num(ordered), axis=1)
    return np.asarray(-sums[np.arange(len(sums)), counted - 1] / counted)


def compressed(log_probabilities: Array, texts: Sequence[str]) -> Array:
    """Total loss over the number of bytes that zlib needs for the text."""
    total = -np.nansum(log_probabilities, axis=1)
    return np.asarray(total / [len(zlib.compress(t.encode())) for t in texts])


def relative_loss(loss: Array, other: Array) -> Array:
    """Loss over another loss of the same text."""
    return np.asarray(loss / np.maximum(other, _LEAST))


def sequence_features(
    log_probabilities: Array, texts: Sequence[str] | None = None
) -> dict[str, Array]:
    """Every score above by its name; ``zlib`` where the texts are given."""
    lengths = np.isfinite(log_probabilities).sum(axis=1)
    place = np.arange(log_probabilities.shape[1])
    first = place < np.maximum(1, lengths // 2)[:, None]
    early = np.where(first, log_probabilities, np.nan)
    late = np.where(~first | (lengths < 2)[:, None], log_probabilities, np.nan)
    found = {
        "loss": -np.nanmean(log_probabilities, axis=1),
        "min_k": min_k(log_probabilities),
        "spread": np.nanstd(log_probabilities, axis=1),
        "largest": -np.nanmin(log_probabilities, axis=1),
        "early": -np.nanmean(early, axis=1),
        "late": -np.nanmean(late, axis=1),
    }
    if texts is not None:
        found["zlib"] = compressed(log_probabilities, texts)
    return found
