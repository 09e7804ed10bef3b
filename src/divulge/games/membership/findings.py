"""What only the membership game says of its rows: those it left out, and those it saw twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.result import shared
from divulge.types import Index, Places


@dataclass(frozen=True)
class Subset:
    """Rows chosen at random where the table was too large to use all."""

    used: int
    total: int

    def counted(self) -> dict[str, Any]:
        """Beside the numbers of trials."""
        return {"rows_of_the_table": self.total, "rows_used": self.used}

    def described(self) -> shared.SubsetRecord:
        """What a reader is told."""
        return shared.SubsetRecord(
            rows=self.total,
            used=self.used,
            rule="the records that drew the smallest numbers, by the seed and their content",
            sentence=f"{self.used:,} of {self.total:,} rows were used, chosen at random before a "
            "truth was looked at.",
        )


def duplicates(same: Index, places: Places | None) -> shared.Duplicates:
    """Non-members that are members: how many, and where the first of them stand."""
    first = same[:10]
    named = first if places is None else np.sort(places[first])
    return shared.Duplicates(nonmembers_equal_to_a_member=int(same.size), first_rows=named.tolist())
