"""The interface of a generator: it learns from records and gives as many new ones as asked."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from divulge.tables import Frame


class Generator(Protocol):
    """Something that can learn a distribution from a table of records."""

    @property
    def name(self) -> str:
        """A short name for results and messages."""
        ...

    @property
    def settings(self) -> dict[str, Any]:
        """Every parameter that changes what is generated; part of the name of a kept piece."""
        ...

    def generate(self, records: Frame, count: int, rng: np.random.Generator) -> Frame:
        """Learn from the records and return ``count`` new ones with the same columns and types."""
        ...
