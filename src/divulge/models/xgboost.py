"""XGBoost classifiers from the library's own formats: JSON (``.json``) and UBJSON (``.ubj``).

Neither can run code. The file is opened in a process of its own first (``rehearsal``). The old
binary format and pickles are refused. Margins become log-probabilities without a detour over
rounded probabilities.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models import layout, outputs
from divulge.models.base import BATCH, Answers, Gives, Reads, matrix
from divulge.models.rehearsal import library, made_up, rehearse
from divulge.types import Array
from divulge.work.threads import number

OBJECTIVES = ("binary:logistic", "binary:logitraw", "multi:softprob", "multi:softmax")
SUFFIXES = (".json", ".ubj")


@dataclass(frozen=True)
class XGBoost:
    """A booster; after early stopping the trees up to the best iteration, as XGBClassifier does."""

    booster: Any = field(repr=False)
    name: str
    trees: tuple[int, int]
    classes: tuple[Any, ...] | None = None
    in_place: bool = False
    """Whether it reads an array as it is: trees do, with the same margins to the last bit."""
    reads: Reads = "features"
    gives: Gives = "probabilities"
    batch: int = BATCH

    def ask(self, records: Frame) -> Answers:
        """Log-probabilities from the margins."""
        ordered = layout.ordered(records, self.booster.feature_names, self.name)
        layout.require_width(self.name, self.booster.num_features(), _width(ordered))
        kinds = self.booster.feature_types
        if not (kinds and "c" in kinds):
            return Answers(log_probabilities=self._margins(matrix(ordered, dtype=np.float32)))
        given = ordered.to_pandas()
        for column, kind in zip(ordered.columns, kinds, strict=True):
            given[column] = given[column].astype("category" if kind == "c" else float)
        data = library("xgboost", "xgboost").DMatrix(given, enable_categorical=True)
        return Answers(log_probabilities=self._margins(data))

    def _margins(self, data: Any) -> Array:
        """Log-probabilities of the rows of a matrix, or of XGBoost's own form of one."""
        rows = len(data) if isinstance(data, np.ndarray) else data.num_row()
        self.booster.set_param({"nthread": number(rows)})
        options = {"validate_features": False, "iteration_range": self.trees}
        if isinstance(data, np.ndarray) and self.in_place:
            found = self.booster.inplace_predict(data, predict_type="margin", **options)
            return outputs.margins(found, self.name)
        if isinstance(data, np.ndarray):
            data = library("xgboost", "xgboost").DMatrix(data)
        return outputs.margins(self.booster.predict(data, output_margin=True, **options), self.name)

    def try_out(self) -> None:
        """Ask about made-up records."""
        rows = made_up(self.booster.num_features())
        kinds = self.booster.feature_types
        if not (kinds and "c" in kinds):
            self._margins(rows)
            return
        for j, kind in enumerate(kinds):
            if kind == "c":
                rows[:, j] = np.arange(len(rows)) % 3
        xgboost = library("xgboost", "xgboost")
        self._margins(xgboost.DMatrix(rows, feature_types=kinds, enable_categorical=True))


def _width(records: Frame) -> int:
    """Columns after lists are spread: those of one row are enough to know."""
    words = layout.words(records)
    numbers = records.select(*(c for c in records.columns if c not in words))
    return len(words) + (matrix(numbers[:1]).shape[1] if numbers.columns else 0)


def load(place: Path) -> XGBoost:
    """A classifier from a .json or .ubj file; InputError that says what is wrong."""
    library("xgboost", "xgboost")
    require(
        place.suffix.lower() in SUFFIXES,
        f"Cannot load {place}: XGBoost models are read as .json or .ubj. Save it again with "
        "booster.save_model('model.ubj').",
    )
    with place.open("rb") as stream:
        start = stream.read(64)
    require(
        start.lstrip()[:1] == b"{",
        f"Cannot load {place}: it is neither JSON nor UBJSON; it may be a pickle or XGBoost's "
        "old binary format. Save it again with booster.save_model('model.ubj').",
    )
    rehearse(__name__, place)
    return open_file(place)


def open_file(place: Path) -> XGBoost:
    """A classifier from a file that is known not to crash the library."""
    xgboost = library("xgboost", "xgboost")
    try:
        booster = xgboost.Booster(model_file=str(place))
        learner = json.loads(booster.save_config())["learner"]
        objective = str(learner["objective"]["name"])
        kind = str(learner["gradient_booster"]["name"])
    except Exception as error:  # the library raises one type for everything
        raise InputError(f"Cannot load {place}: {_first(error)}") from error
    require(
        objective in OBJECTIVES,
        f"{place.name} was trained for {objective!r}, which does not give a probability per "
        f"class. Supported objectives: {', '.join(OBJECTIVES)}.",
    )
    best = booster.attr("best_iteration")
    trees = (0, 0) if best is None else (0, int(best) + 1)
    return XGBoost(booster, place.name, trees, in_place=kind == "gbtree")


def _first(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
