"""What only the line-up writes: how the true values rank, and how they were planted."""

from __future__ import annotations

from dataclasses import dataclass

from divulge.result.form import Count, Counts, Number, Record, Series


@dataclass(frozen=True, kw_only=True)
class Ranks(Record):
    """How many true values have which rank, 1 the surest, and how many would by chance."""

    edges: Series
    """Ranks from one edge up to the next, which is no longer among them."""
    records: Counts
    by_chance: Series
    candidates: Count
    mean_rank: Number


@dataclass(frozen=True, kw_only=True)
class PlantedRecord(Record):
    """The plan by which canaries with drawn values were put into the training records."""

    canaries: Count
    template: str | None = None
    column: str
    draw: str
    copies: Count
    seed: int
    data: str | None = None
    data_sha256: str | None = None
    rows_of_other_records: Count
