"""divulge: how much does a trained model give away about its training records?

Everything is imported on first use, so that ``import divulge`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from divulge import (
        attacks,
        bounds,
        claims,
        curves,
        errors,
        exposure,
        games,
        generators,
        mechanisms,
        models,
        pieces,
        report,
        result,
        scores,
        selftest,
        shift,
        tables,
        trials,
    )
    from divulge.games import canaries
    from divulge.games.attribute import attribute
    from divulge.games.leakage import leakage
    from divulge.games.membership import membership
    from divulge.games.retraining import retraining
    from divulge.games.synthetic import synthetic
    from divulge.result import Result
    from divulge.scores import score

_FUNCTIONS = {
    "attribute": "divulge.games.attribute",
    "leakage": "divulge.games.leakage",
    "membership": "divulge.games.membership",
    "synthetic": "divulge.games.synthetic",
    "retraining": "divulge.games.retraining",
    "score": "divulge.scores",
    "Result": "divulge.result",
}

_MODULES = {"canaries": "divulge.games.canaries"}
"""Games of more than one step are modules: plan and audit."""

__all__ = [
    "Result",
    "__version__",
    "attacks",
    "attribute",
    "bounds",
    "canaries",
    "claims",
    "curves",
    "errors",
    "exposure",
    "games",
    "generators",
    "leakage",
    "mechanisms",
    "membership",
    "models",
    "pieces",
    "report",
    "result",
    "retraining",
    "score",
    "scores",
    "selftest",
    "shift",
    "synthetic",
    "tables",
    "trials",
]


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(_FUNCTIONS[name]), name)
    if name in __all__:
        return importlib.import_module(_MODULES.get(name, f"divulge.{name}"))
    raise AttributeError(f"module 'divulge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
