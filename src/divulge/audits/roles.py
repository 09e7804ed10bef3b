"""What the columns of a table are for, by their names and by a look at the first rows.

Guesses for somebody who named nothing; every guess is said, and every one can be overruled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from divulge.attacks import registry
from divulge.attacks.scoring import LOWER_WORDS
from divulge.data import stored, tables
from divulge.data.given import Given
from divulge.data.tables import Frame

LOOKED_AT = 1000
LABELS = ("label", "target", "y", "class", "outcome", "labels", "response")
TEXTS = ("text", "document", "content", "prompt", "sentence")
IDS = ("id", "uuid", "guid", "index", "key", "row", "row_id", "record_id", "unnamed: 0")
OF_OTHERS = ("helper_loss", "reference", "control", "shadow")
"""Beginnings of columns that other models made: neither scores of the target nor features."""
SCORE_WORDS = (*LOWER_WORDS, "score", "confidence", "logit", "min_k", "zlib", "log_prob")
WORDS_OF_A_TEXT = 6


@dataclass(frozen=True)
class Looked:
    """The names of a table's columns, and its first rows."""

    given: Given
    first: Frame

    @property
    def columns(self) -> list[str]:
        """All names, in the table's order."""
        return self.given.columns

    def numeric(self, name: str) -> bool:
        """Whether the column holds numbers."""
        return self.first[name].dtype.is_numeric()

    def distinct(self, name: str) -> bool:
        """Whether no value comes twice in the first rows."""
        return not self.first[name].dtype.is_nested() and bool(
            self.first[name].n_unique() == len(self.first) > 1
        )

    def two_valued(self, name: str) -> bool:
        """Whether the first rows hold at most two values, none missing."""
        return not self.first[name].dtype.is_nested() and bool(self.first[name].n_unique() <= 2)

    def text(self, name: str) -> bool:
        """Whether the column holds strings of several words."""
        values = self.first[name].to_list()[:200]
        words = [len(v.split()) for v in values if isinstance(v, str)]
        return len(words) > len(values) / 2 and float(np.median(words)) >= WORDS_OF_A_TEXT


def look(given: Given) -> Looked:
    """The first rows of a table, which is not read further."""
    if isinstance(given.table, stored.Stored):
        import pyarrow as pa

        batch = next(iter(given.table.batches(given.columns)), None)
        if batch is not None:
            return Looked(given, tables.read(pa.Table.from_batches([batch[:LOOKED_AT]])))
    frame = given.frame
    return Looked(given, frame[:LOOKED_AT])


def named_like(columns: Iterable[str], words: Sequence[str]) -> str | None:
    """The column whose name is the first of these words that any has, whatever its case."""
    plain = {c.strip().lower(): c for c in columns}
    return next((plain[word] for word in words if word in plain), None)


def truth_of(seen: Looked) -> str | None:
    """The two-valued column that says who is a member."""
    found = named_like(seen.columns, tables.NAMES_OF_TRUTHS)
    return found if found is not None and seen.two_valued(found) else None


def scores_of(seen: Looked, columns: Sequence[str]) -> list[str]:
    """The loss, or else the columns named after attacks, or else those whose names say a score."""
    own = [c for c in columns if seen.numeric(c) and not of_others(c)]
    if "loss" in own:
        return ["loss"]
    by_attack = [c for c in own if c in registry.BY_NAME]
    return by_attack or [c for c in own if any(w in c.lower() for w in SCORE_WORDS)]


def ids_of(seen: Looked, columns: Sequence[str]) -> list[str]:
    """Columns that only name a record: called so, or strings of one word that never come twice."""
    return [
        c
        for c in columns
        if seen.distinct(c)
        and not seen.first[c].dtype.is_float()
        and (c.strip().lower() in IDS or c.lower().endswith("_id"))
    ]


def of_others(name: str) -> bool:
    """Whether a column is the work of another model than the target."""
    return name.lower().startswith(OF_OTHERS)


def text_of(seen: Looked, columns: Sequence[str]) -> str | None:
    """The column of texts, by its name or because it is the only one that looks like texts."""
    looks = [c for c in columns if not seen.numeric(c) and seen.text(c)]
    named = named_like(looks, TEXTS)
    return named if named is not None else (looks[0] if len(looks) == 1 else None)
