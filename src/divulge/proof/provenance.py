"""What every game shares: the default delta, and what computed a result."""

from __future__ import annotations

from divulge.work.versions import versions

__all__ = ["DELTAS", "versions"]

DELTAS = (1e-5,)
