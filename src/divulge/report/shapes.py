"""Any plain value in a shape that can be shown: one text, pairs of label and shape, or a table."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from divulge.report.wording import LABELS, ROUNDED_UP
from divulge.text import rounding

DEPTH = 4
ITEMS = 20
ROWS = 200
"""The longest table."""


@dataclass(frozen=True)
class Shape:
    """A value ready to be shown: one text, pairs of label and shape, or a table."""

    text: str = ""
    pairs: tuple[tuple[str, Shape], ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Shape, ...], ...] = ()
    numeric: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.text or self.pairs or self.rows)


def label(key: str, labels: Mapping[str, str] = LABELS) -> str:
    """Words for a key: ours if we know it, else a plain key with its underscores opened."""
    if re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", key) and len(key) <= 60:
        return labels.get(key, key.replace("_", " "))
    return key or "(no name)"


def shape(
    value: Any, labels: Mapping[str, str] = LABELS, depth: int = 0, up: bool = False
) -> Shape:
    """Any plain JSON value, nested or not, in a shape that can be shown."""
    if depth >= DEPTH and isinstance(value, Mapping | list):
        return Shape(_short(json.dumps(value, ensure_ascii=False)))
    if isinstance(value, Mapping):
        parts = (
            (label(str(k), labels), shape(v, labels, depth + 1, up or k in ROUNDED_UP))
            for k, v in value.items()
        )
        return Shape(pairs=tuple(parts))
    if isinstance(value, list):
        return _listed(value, labels, depth, up)
    if value is None:
        return Shape("not computed")
    if isinstance(value, bool):
        return Shape("yes" if value else "no")
    if isinstance(value, int | float):
        rounded = rounding.rounded_up if up else rounding.short
        return Shape(rounded(value) if isinstance(value, float) else str(value), numeric=True)
    return Shape(str(value))


def _listed(values: list[Any], labels: Mapping[str, str], depth: int, up: bool) -> Shape:
    """A table if the entries are mappings, else one line."""
    if values and all(isinstance(v, Mapping) and v for v in values):
        keys = list(dict.fromkeys(k for v in values[:ROWS] for k in v))
        rows = [
            tuple(
                shape(v[k], labels, depth + 1, up or k in ROUNDED_UP) if k in v else Shape()
                for k in keys
            )
            for v in values[:ROWS]
        ]
        if len(values) > ROWS:
            rows.append((Shape(f"… and {len(values) - ROWS} more"), *[Shape()] * (len(keys) - 1)))
        return Shape(columns=tuple(label(str(k), labels) for k in keys), rows=tuple(rows))
    if any(isinstance(v, Mapping | list) for v in values):
        shapes = [shape(v, labels, depth + 1, up) for v in values[:ITEMS]]
        rest = [("…", Shape(f"and {len(values) - ITEMS} more"))] if len(values) > ITEMS else []
        return Shape(pairs=(*((str(i), s) for i, s in enumerate(shapes, 1)), *rest))
    parts = [shape(v, labels, depth + 1, up).text for v in values[:ITEMS]]
    more = f" … and {len(values) - ITEMS} more" if len(values) > ITEMS else ""
    return Shape(", ".join(parts) + more if parts else "none")


def _short(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
