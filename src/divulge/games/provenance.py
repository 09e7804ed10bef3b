"""What every game shares: the default delta, and what computed a result."""

from __future__ import annotations

import platform
from importlib import metadata

DELTAS = (1e-5,)


def versions() -> dict[str, str]:
    """What computed the result."""
    names = ("divulge", "numpy", "scipy", "scikit-learn", "numba")
    return {"python": platform.python_version(), **{n: metadata.version(n) for n in names}}
