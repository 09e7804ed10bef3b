"""How good a proxy is, and what in the records speaks against a finding."""

from __future__ import annotations

import numpy as np

from divulge.games.attribute.read import Records
from divulge.result.of_values import CalibrationRecord, Proxy
from divulge.shift.value_prior import Priors
from divulge.types import Array, Index

_BINS = 15
_SUSPICIOUS_Z, _SUSPICIOUS_SHARE = 4.0, 0.05


def proxy_quality(
    records: Records, priors: Priors | None, log_target: Array, log_proxy: Array
) -> Proxy:
    """Log-losses, calibration curves, and how often the drawn value is the true one.

    ``priors`` are those that were estimated, if any were.
    """
    training = records.training
    codes = records.codes[:training]
    share = np.bincount(codes, minlength=len(records.classes)) / training
    losses = {
        "proxy": _loss(log_proxy[:training], codes),
        "target": _loss(log_target[:training], codes),
        "constant": float(-(share[share > 0] * np.log(share[share > 0])).sum()),
    }
    if priors is not None:
        tail = priors.tail
        losses["corrected proxy"] = _loss(np.log(priors.value[tail]), codes[tail])
    outside = records.outside
    if outside.size:
        losses["proxy, held-out"] = _loss(log_proxy[outside], records.codes[outside])
        if records.heldout_target:
            losses["target, held-out"] = _loss(log_target[outside], records.codes[outside])
    own = np.take_along_axis(log_proxy[:training], codes[:, None], axis=1)
    return Proxy(
        log_loss=losses,
        calibration={
            "proxy": _calibration(log_proxy[:training], codes),
            "target": _calibration(log_target[:training], codes),
        },
        agreement=float(np.exp(own).mean()),
        classes=len(records.classes),
        value=records.value,
    )


def saw_training(records: Records, log_proxy: Array) -> str | None:
    """A proxy that does much better on the training records than elsewhere has seen them."""
    outside = records.outside
    if records.log_proxy is None or outside.size < 30:
        return None
    loss = -np.take_along_axis(log_proxy, records.codes[:, None], axis=1)[:, 0]
    inside, beyond = loss[: records.training], loss[outside]
    gap = float(beyond.mean() - inside.mean())
    spread = float(np.sqrt(inside.var() / inside.size + beyond.var() / beyond.size))
    if gap > _SUSPICIOUS_Z * spread and gap > _SUSPICIOUS_SHARE * float(beyond.mean()):
        return (
            f"The proxy's loss is {inside.mean():.3f} on the training records and "
            f"{beyond.mean():.3f} elsewhere: it seems to have been trained on them, which hides "
            "the leak."
        )
    return None


def less_sure(records: Records, log_target: Array) -> str | None:
    """A target that is less sure of its training records than of others misleads the correction."""
    outside = records.outside
    if not records.heldout_target or outside.size < 30:
        return None
    p = np.exp(log_target)
    unsure = -(p * log_target).sum(axis=1)
    inside, beyond = unsure[: records.training], unsure[outside]
    gap = float(inside.mean() - beyond.mean())
    spread = float(np.sqrt(inside.var() / inside.size + beyond.var() / beyond.size))
    if gap > _SUSPICIOUS_Z * spread:
        return (
            f"The target is less confident on its training records (entropy {inside.mean():.3f}) "
            f"than on the held-out ones ({beyond.mean():.3f}): what it knows of the population "
            "may look like memorisation."
        )
    return None


def repeated_records(records: Records, log_target: Array) -> float:
    """Share of the training records that equal an earlier one in value, features and target."""
    training = records.training
    known = np.column_stack(
        [log_target[:training], records.features.matrix[:training], records.codes[:training]]
    )
    mixed = known @ np.random.default_rng(0).standard_normal(known.shape[1])
    return 1.0 - np.unique(mixed).size / training


def _loss(log_p: Array, codes: Index) -> float:
    return float(-np.take_along_axis(log_p, codes[:, None], axis=1).mean())


def _calibration(log_p: Array, codes: Index) -> tuple[CalibrationRecord, ...]:
    """Observed share against predicted probability, over all classes."""
    p = np.exp(log_p).ravel()
    place = np.minimum((p * _BINS).astype(np.intp), _BINS - 1)
    hit = np.arange(codes.size) * log_p.shape[1] + codes
    count = np.bincount(place, minlength=_BINS)
    total = np.bincount(place, weights=p, minlength=_BINS)
    right = np.bincount(place[hit], minlength=_BINS)
    return tuple(
        CalibrationRecord(
            predicted=float(total[b] / count[b]),
            observed=float(right[b] / count[b]),
            count=int(count[b]),
        )
        for b in range(_BINS)
        if count[b]
    )
