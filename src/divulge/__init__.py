"""divulge: how much does a trained model give away about its training records?

Everything is imported on first use, so that ``import divulge`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from divulge.attacks.shadow_table import shadows
    from divulge.attacks.table import score
    from divulge.audits import audit
    from divulge.claims import check
    from divulge.games import canaries
    from divulge.games.attribute import attribute
    from divulge.games.leakage import leakage
    from divulge.games.lineup import lineup
    from divulge.games.membership import membership
    from divulge.games.retraining import retraining
    from divulge.games.synthetic import synthetic
    from divulge.models import Source
    from divulge.result import Bound, Result

_NAMES = {
    "Bound": "divulge.result",
    "Result": "divulge.result",
    "Source": "divulge.models",
    "attribute": "divulge.games.attribute",
    "audit": "divulge.audits",
    "check": "divulge.claims",
    "leakage": "divulge.games.leakage",
    "lineup": "divulge.games.lineup",
    "membership": "divulge.games.membership",
    "retraining": "divulge.games.retraining",
    "score": "divulge.attacks.table",
    "shadows": "divulge.attacks.shadow_table",
    "synthetic": "divulge.games.synthetic",
}
"""Where each public name lives. ``canaries`` is a module: that game has two steps."""
_ROOMS = (
    *(
        "attacks",
        "audits",
        "bounds",
        "claims",
        "curves",
        "data",
        "drawn",
        "errors",
        "exposure",
        "games",
    ),
    *("generators", "mechanisms", "models", "posterior", "proof", "report", "result"),
    *("selftest", "shift", "trials", "work"),
)

__all__ = [
    "Bound",
    "Result",
    "Source",
    "__version__",
    "attribute",
    "audit",
    "canaries",
    "check",
    "leakage",
    "lineup",
    "membership",
    "retraining",
    "score",
    "shadows",
    "synthetic",
]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    if name == "canaries":
        return importlib.import_module("divulge.games.canaries")
    if name in _ROOMS:
        return importlib.import_module(f"divulge.{name}")
    raise AttributeError(f"module 'divulge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
