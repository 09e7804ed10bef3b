"""A posterior in words and numbers, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from divulge.report.wording import finite


def posterior_rows(posterior: Mapping[str, Any]) -> list[tuple[str, tuple[float, ...]]]:
    """Names and quantiles (5%, 50%, 95%) of what a posterior holds, every delta of it."""
    every = posterior.get("by_delta")
    entries = every if isinstance(every, list) else [posterior]
    out = []
    for one in entries:
        if not isinstance(one, Mapping):
            continue
        at = finite(one.get("delta"))
        place = "" if at is None else f" at delta {at:g}"
        for key, name in (
            ("epsilon", f"epsilon{place}"),
            ("strength", "strength of the attacks"),
            ("if_strongest_attack", f"epsilon{place}, if every attack were the strongest"),
        ):
            given = one.get(key)
            values = [
                finite(given.get(q)) if isinstance(given, Mapping) else None
                for q in ("q05", "q50", "q95")
            ]
            known = tuple(v for v in values if v is not None)
            if len(known) == len(values):
                out.append((name, known))
    return out
