"""Another model of the same kind as a target, untrained: what helpers are made of."""

from __future__ import annotations

from typing import Any


def same_kind(model: Any, seed: int) -> tuple[Any, str]:
    """An untrained copy of the target where scikit-learn can make one, else boosting."""
    from sklearn.base import BaseEstimator, clone
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    seed %= 2**32  # as scikit-learn has it
    if isinstance(model, BaseEstimator):
        copy = clone(model)
        seeds = {k: seed for k in copy.get_params() if k.split("__")[-1] == "random_state"}
        try:
            check_is_fitted(copy)  # a frozen part stays fitted: it would be its own helper
        except NotFittedError:
            return copy.set_params(**seeds), f"untrained copy of {type(model).__name__}"
        except TypeError:
            pass
    return HistGradientBoostingClassifier(random_state=seed), "HistGradientBoostingClassifier"
