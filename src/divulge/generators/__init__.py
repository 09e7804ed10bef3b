"""Where do synthetic records come from? One small interface, one file per kind of generator.

``by_name`` makes one from its name, as the command line does. ``trees`` is the default for tables:
docs/evidence/generators.md has the measurements behind that.
"""

from __future__ import annotations

import difflib
import importlib
from dataclasses import fields
from typing import Any

from divulge.errors import InputError
from divulge.generators.base import Generator

KINDS = {
    "trees": ("divulge.generators.trees", "SequentialTrees"),
    "mst": ("divulge.generators.mst", "SpanningTree"),
    "mixture": ("divulge.generators.images", "PixelMixture"),
    "pixels": ("divulge.generators.pixels", "PixelByPixel"),
    "text": ("divulge.generators.text", "TextGenerator"),
}
"""Where the generator of each name lives; loaded when it is asked for."""
NAMES = tuple(KINDS)
DEFAULT = "trees"
AUTO = "auto"
"""The default for tables, and the text generator for texts."""

__all__ = ["AUTO", "DEFAULT", "NAMES", "Generator", "by_name"]


def by_name(
    name: str, *, label: str | None = None, filter_share: float = 0.0, **settings: Any
) -> Generator:
    """A generator from its name and its settings; filtered if ``filter_share`` is above 0.

    ``label`` names the column of the class: generators that treat it apart are told, to the others
    it is a column like any other.
    """
    if name not in KINDS:
        near = difflib.get_close_matches(name, NAMES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(f"Unknown generator {name!r}.{hint} Choose from {', '.join(NAMES)}.")
    place, class_name = KINDS[name]
    kind = getattr(importlib.import_module(place), class_name)
    known = [f.name for f in fields(kind)]
    for setting in settings:
        if setting not in known:
            raise InputError(
                f"Generator {name!r} has no setting {setting!r}. It has: {', '.join(known)}."
            )
    if label is not None and "label" in known:
        settings["label"] = label
    made: Generator = kind(**settings)
    if filter_share == 0.0:
        return made
    from divulge.generators.filter import Filtered

    return Filtered(made, filter_share)
