"""What the numbers that come out of a model mean: probabilities, logits, or margins."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from divulge.errors import InputError, require
from divulge.models.base import by_classes, log_softmax, logarithms
from divulge.types import Array

Outputs = Literal["probabilities", "logits"]
OUTPUTS = ("probabilities", "logits")


def check(outputs: str) -> None:
    """InputError unless the word is known."""
    require(outputs in OUTPUTS, f"Unknown outputs {outputs!r}. Choose from {', '.join(OUTPUTS)}.")


def margins(values: Any, name: str) -> Array:
    """Log-probabilities from margins: log-sigmoid of one per record, log-softmax of several."""
    z = by_classes(values)
    if z.ndim == 2 and z.shape[1] == 1:
        z = z[:, 0]
    require(z.ndim in (1, 2), f"{name} must give one row per record. Found {z.ndim} dimensions.")
    bad = ~np.isfinite(z if z.ndim == 1 else z.sum(axis=1))
    require(not bad.any(), f"{name} gave no finite number for record {int(np.argmax(bad))}.")
    if z.ndim == 1:
        return np.column_stack([-np.logaddexp(0.0, z), -np.logaddexp(0.0, -z)])
    return log_softmax(z)


def log_probabilities(values: Any, outputs: Outputs, name: str) -> Array:
    """Log-probabilities from what the user says the outputs are."""
    if outputs == "logits":
        return margins(values, name)
    p = np.asarray(values, dtype=float)
    try:
        return logarithms(p[:, 0] if p.ndim == 2 and p.shape[1] == 1 else p, name)
    except InputError as error:
        raise InputError(
            f"{error} If these are logits, say so: outputs='logits' (--with outputs=logits)."
        ) from error
