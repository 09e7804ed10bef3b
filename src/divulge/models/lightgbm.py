"""LightGBM classifiers from the library's text format (``.txt``), which cannot run code.

The file is opened in a process of its own first (``rehearsal``). Categories are those of the data
frame that the model was trained on: columns of text are given to it as such.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models import layout, outputs
from divulge.models.base import BATCH, Answers, Gives, Reads, matrix
from divulge.models.rehearsal import library, made_up, rehearse
from divulge.types import Array
from divulge.work.threads import number

OBJECTIVES = ("binary", "multiclass", "cross_entropy")


@dataclass(frozen=True)
class LightGBM:
    """A booster and the factor that turns its raw scores into margins."""

    booster: Any = field(repr=False)
    name: str
    factor: float = 1.0
    classes: tuple[Any, ...] | None = None
    reads: Reads = "features"
    gives: Gives = "probabilities"
    batch: int = BATCH

    @property
    def names(self) -> list[str]:
        """Names of the features; LightGBM writes ``_`` for a blank, and counts where none are."""
        return list(self.booster.feature_name())

    def ask(self, records: Frame) -> Answers:
        """Log-probabilities from the raw scores."""
        names = self.names
        given = records.rename({c: re.sub(r"\s", "_", c) for c in records.columns})
        counted = names == [f"Column_{j}" for j in range(len(names))]
        if len(given.columns) == 1 and counted:
            return self._answers(layout.shaped(given, [len(names)], self.name))
        ordered = layout.ordered(given, names, self.name, made_up=counted)
        words = layout.words(ordered)
        known = self.booster.pandas_categorical or []
        require(
            len(words) == len(known),
            f"{self.name} was trained with {len(known)} columns of categories, the features hold "
            f"{len(words)} columns of text: {', '.join(words[:5]) or 'none'}.",
        )
        if not words:
            return self._answers(matrix(ordered))
        frame = ordered.to_pandas()
        return self._answers(frame.astype(dict.fromkeys(words, "category")))

    def _answers(self, data: Any) -> Answers:
        found = self.booster.predict(data, raw_score=True, num_threads=number(len(data)))
        raw: Array = found * self.factor
        return Answers(log_probabilities=outputs.margins(raw, self.name))

    def try_out(self) -> None:
        """Ask about made-up records."""
        self._answers(made_up(len(self.names)))


def load(place: Path) -> LightGBM:
    """A classifier from a text file; InputError that says what is wrong."""
    library("lightgbm", "lightgbm")
    with place.open("rb") as stream:
        start = stream.read(5)
    require(
        start.strip() == b"tree",
        f"Cannot load {place}: it is not a LightGBM model in text form. Save it again with "
        "booster.save_model('model.txt').",
    )
    rehearse(__name__, place)
    return open_file(place)


def open_file(place: Path) -> LightGBM:
    """A classifier from a file that is known not to crash the library."""
    lightgbm = library("lightgbm", "lightgbm")
    try:
        text = place.read_text(encoding="utf-8")
        require("\nend of trees\n" in text, "the file ends before its last tree.")
        header = text.split("\n\n", 1)[0].splitlines()
        booster = lightgbm.Booster(model_file=str(place))
    except Exception as error:  # the library raises one type for everything
        raise InputError(f"Cannot load {place}: {error}") from error
    require(booster.num_trees() > 0, f"Cannot load {place}: it holds no trees.")
    objective = next((h.split("=", 1)[1] for h in header if h.startswith("objective=")), "none")
    kind, *options = objective.split()
    require(
        kind in OBJECTIVES,
        f"{place.name} was trained for {kind!r}, which does not give probabilities that sum to "
        f"one. Supported objectives: {', '.join(OBJECTIVES)}.",
    )
    steepness = next((o.split(":")[1] for o in options if o.startswith("sigmoid:")), "1")
    # A random forest's trees are averaged, but its raw score is their sum.
    count = booster.current_iteration() if "average_output" in header else 1
    return LightGBM(booster, place.name, float(steepness) / count)
