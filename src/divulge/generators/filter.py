"""The filter of low-quality samples (PANORAMIA, 002, Appendix C.1 and C.3).

A classifier learns to tell the generator's own records from generated ones that are used for
nothing else; of the rest, the ones it recognises most surely are removed. Neither the audited
members nor the target are involved, so the game stays as valid as it was: the filtered generator is
simply another generator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from divulge.data.tables import Frame, stack
from divulge.errors import InputError, require
from divulge.generators.base import Generator, Training, generate
from divulge.generators.encoding import Column, columns_of
from divulge.types import Array
from divulge.work.threads import Sized

MARGIN = 1.1
"""How many more records are asked for than should be needed."""
CATEGORIES = 250


@dataclass(frozen=True)
class Filtered:
    """A generator without the ``share`` of its records that a classifier recognises most surely."""

    generator: Generator
    share: float = 0.1
    rounds: int = 4

    def __post_init__(self) -> None:
        require(0.0 < self.share < 1.0, f"share must lie in (0, 1). Found {self.share!r}.")
        require(self.rounds >= 1, f"rounds must be at least 1. Found {self.rounds}.")

    @property
    def name(self) -> str:
        return f"{self.generator.name}, filtered"

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "generator": self.generator.name,
            **self.generator.settings,
            "filter_share": self.share,
            "filter_rounds": self.rounds,
        }

    def generate(self, records: Frame, count: int, rng: np.random.Generator) -> Frame:
        return self.generate_in_pieces(records, count, rng, Training())

    def generate_in_pieces(
        self, records: Frame, count: int, rng: np.random.Generator, training: Training
    ) -> Frame:
        """The pieces are those of the generator that is filtered."""
        size = len(records)
        ask = math.ceil(count / (1.0 - self.share) * MARGIN)
        batch = generate(self.generator, records, size + ask, rng, training)
        known, rest = batch[:size], batch[size:]
        suspicion, threshold = self._suspicion(records, known, rest, rng)
        kept = [rest.filter((suspicion < threshold).tolist())]
        for _ in range(self.rounds - 1):
            found = sum(len(part) for part in kept)
            if found >= count:
                break
            rest = generate(self.generator, records, ask, rng, training)
            suspicion, threshold = self._suspicion(records, known, rest, rng)
            kept.append(rest.filter((suspicion < threshold).tolist()))
        found = sum(len(part) for part in kept)
        if found < count:
            raise InputError(
                f"After {self.rounds} rounds the filter left {found:,} of {count:,} generated "
                f"records. Lower its share ({self.share:g}), allow more rounds, or use a better "
                "generator."
            )
        return joined(kept)[:count]

    def _suspicion(
        self, records: Frame, known: Frame, rest: Frame, rng: np.random.Generator
    ) -> tuple[Array, float]:
        """How surely each of ``rest`` is recognised, and above what it is removed.

        The classifier learns from one half of the known generated records; the threshold is the
        quantile of the other half, so that a share of fresh records lies above it.
        """
        from sklearn.ensemble import HistGradientBoostingClassifier

        pairs, _ = stack(known, rest)
        x, categorical = matrix(stack(records, pairs)[0])
        size, half = len(records), len(known) // 2
        rows = np.arange(size + half)
        model = HistGradientBoostingClassifier(
            categorical_features=categorical if any(categorical) else None,
            class_weight="balanced",
            early_stopping=False,
            learning_rate=0.06,
            max_iter=100,
            random_state=0,
        )
        fitted = Sized(model).fit(x[rows], rows >= size)
        p = fitted.predict_proba(x[size + half :])[:, 1]
        check = len(known) - half
        return p[check:], float(np.quantile(p[:check], 1.0 - self.share, method="higher"))


def matrix(frame: Frame) -> tuple[Array, list[bool]]:
    """Columns for gradient boosting: numbers with NaN for missing, frequent levels as codes."""
    columns = columns_of(frame, "the records and the generated ones")
    return np.column_stack([_values(c) for c in columns]), [c.kind == "category" for c in columns]


def _values(column: Column) -> Array:
    if column.kind == "number":
        return column.floats()
    place = np.full(column.levels + 1, CATEGORIES, dtype=float)
    place[np.argsort(-column.counts, kind="stable")] = np.arange(column.levels)
    place[-1] = np.nan
    out: npt.NDArray[np.float64] = np.minimum(place, CATEGORIES)[column.states]
    return out


def joined(parts: list[Frame]) -> Frame:
    """Tables of one form, one below the other."""
    import pyarrow as pa

    tables = [part.to_arrow() for part in parts]
    return nw.from_native(pa.concat_tables(tables).combine_chunks(), eager_only=True)
