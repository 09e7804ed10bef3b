"""How is a time shown?"""

from __future__ import annotations


def duration(seconds: float) -> str:
    """``12 s``, ``7 min`` or ``3.5 h``."""
    if seconds < 100.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 6000.0 else f"{seconds / 3600.0:.1f} h"
