"""What only the membership game says: rows left out or seen twice, and population knowledge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from divulge.result import Result, Verdict, floor_to, shared
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


def beside(result: Result) -> Result:
    """The verdict with what the ladder says of a finding; it only ever takes from a verdict.

    With the size of the target's training set the ladder answers whether population knowledge may
    explain the finding. Where it may, or where the ladder cannot tell, nothing can be concluded,
    unless a negative control of the user's, which tests the same directly, was silent.
    """
    ladder, verdict = result.diagnostics.ladder, result.verdict
    if ladder is None or verdict.status != "leak":
        return result
    if ladder.training_size is None:
        return _fragile(result, UNKNOWN_SIZE)
    control = result.diagnostics.negative_control
    silent = control is not None and control.epsilon == 0.0
    if not ladder.extrapolable:
        if silent:
            return result
        return _open(result, f"{NOT_EXTRAPOLABLE} {ladder.reason}")
    if floor_to(ladder.adjusted_epsilon or 0.0, 3) <= 0.0:
        return _fragile(result, EXPLAINED) if silent else _open(result, EXPLAINED)
    return result


UNKNOWN_SIZE = (
    "Helpers learned from fewer records than the target may have: how many such records it learned "
    "from (--training-size) says whether population knowledge may explain the finding."
)
NOT_EXTRAPOLABLE = (
    "What a target that learned from more records than the helpers knows of the population could "
    "not be extrapolated."
)
EXPLAINED = (
    "Population knowledge may explain the finding: the adjusted epsilon, if the ladder holds, is 0."
)


def _fragile(result: Result, reason: str) -> Result:
    verdict = result.verdict
    return replace(
        result, verdict=replace(verdict, robust=False, reasons=(*verdict.reasons, reason))
    )


def _open(result: Result, reason: str) -> Result:
    """No verdict rests on the bounds any more; they are still listed, for what they are."""
    sentence = (
        "Nothing can be concluded: a model that never saw the members, but learned from as many "
        "such records, may show the same."
    )
    verdict = Verdict("cannot conclude", False, sentence, (reason, *result.verdict.reasons))
    bounds = tuple(replace(bound, headline=False) for bound in result.bounds)
    return replace(result, verdict=verdict, bounds=bounds)
