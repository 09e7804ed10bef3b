"""CatBoost classifiers from the library's own formats: ``.cbm`` and JSON, which cannot run code.

The file is opened in a process of its own first (``rehearsal``). Names of classes and of features
and the categorical columns are the model's own. Text and embedding features are not read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models import layout, outputs
from divulge.models.base import BATCH, Answers, Gives, Reads, matrix
from divulge.models.rehearsal import library, made_up, rehearse
from divulge.work.threads import number

OBJECTIVES = ("Logloss", "CrossEntropy", "MultiClass")


@dataclass(frozen=True)
class CatBoost:
    """A model and the classes it was trained with."""

    model: Any = field(repr=False)
    name: str
    classes: tuple[Any, ...] | None = None
    reads: Reads = "features"
    gives: Gives = "probabilities"
    batch: int = BATCH

    @property
    def names(self) -> list[str]:
        """Names of the features; CatBoost counts them where there are none."""
        return list(self.model.feature_names_)

    def ask(self, records: Frame) -> Answers:
        """Log-probabilities from the raw values of the formula."""
        names = self.names
        counted = names == [str(j) for j in range(len(names))]
        categories = list(self.model.get_cat_feature_indices())
        if counted and not categories and len(records.columns) == 1:
            return self._answers(layout.shaped(records, [len(names)], self.name), [])
        ordered = layout.ordered(records, names, self.name, made_up=counted)
        if not categories:
            return self._answers(matrix(ordered), [])
        data = ordered.to_pandas()
        for j in categories:
            column = ordered.columns[j]
            kind = ordered.schema[column]
            require(
                not kind.is_float() and not ordered[column].null_count(),
                f"{self.name} reads column {column!r} as categories: give text or whole numbers "
                f"without gaps. Found {kind}.",
            )
            data[column] = data[column].astype(str)
        return self._answers(data, categories)

    def _answers(self, data: Any, categories: list[int]) -> Answers:
        catboost = library("catboost", "catboost")
        try:
            pool = catboost.Pool(data, cat_features=categories or None)
            raw = self.model.predict(
                pool, prediction_type="RawFormulaVal", thread_count=number(len(data))
            )
        except Exception as error:  # the library raises one type for everything
            raise InputError(f"{self.name} cannot be queried: {error}") from error
        return Answers(log_probabilities=outputs.margins(raw, self.name))

    def try_out(self) -> None:
        """Ask about made-up records."""
        categories = list(self.model.get_cat_feature_indices())
        rows = made_up(len(self.names)).astype(np.float32).astype(object)
        for j in categories:
            rows[:, j] = [str(i) for i in range(len(rows))]
        self._answers(rows, categories)


def load(place: Path) -> CatBoost:
    """A classifier from a .cbm or .json file; InputError that says what is wrong."""
    library("catboost", "catboost")
    with place.open("rb") as stream:
        start = stream.read(64)
    wanted = b"{" if _format(place) == "json" else b"CBM1"
    require(
        start.lstrip().startswith(wanted),
        f"Cannot load {place}: it is not a CatBoost model of this kind; it may be a pickle. Save "
        "it again with model.save_model('model.cbm').",
    )
    rehearse(__name__, place)
    return open_file(place)


def open_file(place: Path) -> CatBoost:
    """A classifier from a file that is known not to crash the library."""
    catboost = library("catboost", "catboost")
    model = catboost.CatBoost()
    try:
        model.load_model(str(place), format=_format(place))
        objective = str(model.get_all_params().get("loss_function", "none")).split(":")[0]
    except Exception as error:  # the library raises one type for everything
        raise InputError(f"Cannot load {place}: {error}") from error
    require(
        objective in OBJECTIVES,
        f"{place.name} was trained for {objective!r}, which does not give probabilities that sum "
        f"to one. Supported objectives: {', '.join(OBJECTIVES)}.",
    )
    further = [*model.get_text_feature_indices(), *model.get_embedding_feature_indices()]
    require(not further, f"{place.name} reads text or embeddings, which are not supported here.")
    classes = tuple(np.asarray(model.classes_).tolist())
    return CatBoost(model, place.name, classes or None)


def _format(place: Path) -> str:
    return "json" if place.suffix.lower() == ".json" else "cbm"
