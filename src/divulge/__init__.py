"""divulge: how much does a trained model give away about its training records?

Submodules are imported on first use, so that ``import divulge`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_SUBMODULES = (
    "bounds",
    "curves",
    "errors",
    "mechanisms",
    "report",
    "result",
    "selftest",
    "shift",
    "trials",
)

__all__ = ["__version__", *_SUBMODULES]

if TYPE_CHECKING:
    from divulge import (  # noqa: F401
        bounds,
        curves,
        errors,
        mechanisms,
        report,
        result,
        selftest,
        shift,
        trials,
    )


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"divulge.{name}")
    raise AttributeError(f"module 'divulge' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
