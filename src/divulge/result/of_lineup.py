"""What only the line-up writes: how the true values rank among their alternatives."""

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
