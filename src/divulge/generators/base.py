"""The interface of a generator: it learns from records and gives as many new ones as asked.

A generator whose training is long says how it is done in pieces (``InPieces``); every other one is
asked as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from divulge.data.tables import Frame
from divulge.work import SERIAL, Engine
from divulge.work.pieces import Pieces


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


@dataclass(frozen=True, kw_only=True)
class Training:
    """How long training is done: by whom, where finished pieces are kept, and who is told."""

    engine: Engine = SERIAL
    pieces: Pieces = field(default_factory=Pieces)
    progress: Callable[[str, int, int], None] | None = None
    """What is being done, how many are finished, how many there are."""

    def tell(self, stage: str) -> Callable[[int, int], None]:
        """``progress`` of one stage."""

        def advance(done: int, total: int) -> None:
            if self.progress is not None:
                self.progress(stage, done, total)

        return advance


@runtime_checkable
class InPieces(Protocol):
    """A generator that trains in pieces, for an engine to share out and a folder to keep."""

    def generate_in_pieces(
        self, records: Frame, count: int, rng: np.random.Generator, training: Training
    ) -> Frame:
        """What ``generate`` gives, to the last bit, whoever does it and however often it began."""
        ...


def generate(
    generator: Generator,
    records: Frame,
    count: int,
    rng: np.random.Generator,
    training: Training,
) -> Frame:
    """New records from any generator, trained in pieces if it can be."""
    if isinstance(generator, InPieces):
        return generator.generate_in_pieces(records, count, rng, training)
    return generator.generate(records, count, rng)
