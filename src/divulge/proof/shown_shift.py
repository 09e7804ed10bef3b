"""What the report draws of the shift: how the groups overlap, and what balancing makes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from divulge.data.features import Features
from divulge.proof.corrections import Proof
from divulge.types import Array, slices

_BINS = 20


def overlap(proof: Proof) -> dict[str, Any]:
    """Histograms of the propensity of members and non-members, before and after balancing."""
    prepared = proof.prepared
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    kept = np.zeros(prepared.truth.size, dtype=bool)
    kept[proof.kept] = True
    counts = np.zeros((4, _BINS), dtype=np.int64)
    for part in slices(kept.size):
        log_odds = prepared.log_odds[part]
        propensity = expit(log_odds)
        member = prepared.truth[part] > 0
        still = kept[part] & prepared.inside(log_odds)
        for k, mask in enumerate((member, ~member, member & still, ~member & still)):
            counts[k] += np.histogram(propensity[mask], edges)[0]
    out: dict[str, Any] = {
        "edges": edges,
        "members": counts[0],
        "nonmembers": counts[1],
        "members_kept": counts[2],
        "nonmembers_kept": counts[3],
        "share_within": prepared.overlap,
    }
    if prepared.trim is not None:
        out["trim"] = prepared.trim
    return out


def balance(features: Features, proof: Proof) -> list[dict[str, Any]] | None:
    """Standardised mean differences of the features before and after balancing."""
    if not features.names:
        return None
    prepared = proof.prepared
    kept = np.zeros(prepared.truth.size, dtype=bool)
    kept[proof.kept] = True
    kept &= prepared.inside(prepared.log_odds)

    def difference(mask: npt.NDArray[np.bool_]) -> Array:
        a, b = (
            features.matrix[mask & (prepared.truth > 0)],
            features.matrix[mask & (prepared.truth < 0)],
        )
        if len(a) < 2 or len(b) < 2:
            return np.full(features.matrix.shape[1], np.nan)
        spread = np.sqrt((a.var(axis=0) + b.var(axis=0)) / 2.0)
        return np.asarray((a.mean(axis=0) - b.mean(axis=0)) / np.where(spread > 0, spread, 1.0))

    before, after = difference(np.ones(kept.size, dtype=bool)), difference(kept)
    worst = np.argsort(-np.abs(before))[:50]
    return [
        {"feature": features.names[j], "before": float(before[j]), "after": float(after[j])}
        for j in worst
    ]
