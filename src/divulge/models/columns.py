"""The columns that a model was trained on, where it stores their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from divulge.models.base import Model


def stored(model: Model) -> tuple[str, ...] | None:
    """Names in the model's own order; None where it has none, or its library only counted them."""
    held: Any = getattr(model, "model", None)
    booster: Any = getattr(model, "booster", None)
    session: Any = getattr(model, "session", None)
    found: Sequence[Any] | None = getattr(held, "feature_names_in_", None)
    if found is None and held is not None:
        found = getattr(held, "feature_names_", None)
    if found is None and booster is not None:
        named = getattr(booster, "feature_names", None)  # XGBoost; LightGBM has a method
        found = booster.feature_name() if hasattr(booster, "feature_name") else named
    if found is None and session is not None and len(session.get_inputs()) > 1:
        found = [one.name for one in session.get_inputs()]
    if found is None:
        return None
    names = tuple(str(name) for name in found)
    counted = any(
        names == tuple(f"{p}{j}" for j in range(len(names))) for p in ("Column_", "", "f")
    )
    return None if counted or not names else names
