"""Further estimators of scikit-learn's kind: untrained clones, or fresh ones from the user's code.

A clone has the parameters of the given estimator and nothing that it learned; every argument called
``random_state`` gets the seed. It reads a data frame if the given one was fitted on one.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models import code, layout
from divulge.models.base import Model, Reads, matrix
from divulge.models.estimator import Estimator
from divulge.models.rehearsal import library
from divulge.models.trainers import FACTORY, Factory, Labels
from divulge.models.untrained import same_kind
from divulge.work.threads import Sized


@dataclass(frozen=True)
class EstimatorTrainer:
    """Clones of an estimator, or estimators of a factory."""

    name: str
    fresh: Any = field(default=None, repr=False)
    factory: Factory | None = None
    settings: tuple[tuple[str, Any], ...] = ()
    framed: bool = False
    """Whether it is fitted on a data frame, because the given one was."""
    classes: tuple[Any, ...] | None = None
    note: str | None = None
    reads: Reads = "features"

    def identity(self) -> str | None:
        """By the parameters of the estimator, or by the source of the code."""
        if self.factory is not None:
            named = self.factory.identity()
            return None if named is None else f"{named} {self.settings}"
        import joblib

        parts = [self.fresh, *self.fresh.get_params(deep=True).values()]
        acting = [p for p in parts if hasattr(p, "get_params") or callable(p)]
        own = [p for p in acting if _home(p) not in _VERSIONED]
        sources = code.of(*own)
        if None in sources:
            return None
        homes = sorted({_home(p) for p in acting if _home(p) in _VERSIONED})
        try:
            parameters = joblib.hash(self.fresh)
        except Exception:  # the parameters may be any objects
            return None
        made_by = [(home, library(home, home).__version__) for home in homes]
        return f"{made_by} {sources} {parameters}"

    def train(self, records: Frame, labels: Labels | None, seed: int) -> Model:
        """Fit a fresh estimator; what it warns about, the given one's training did too."""
        assert labels is not None
        if self.factory is not None:
            model = self.factory(seed, **dict(self.settings))
        else:
            model, _ = same_kind(self.fresh, seed)
        framed = self.framed or bool(layout.words(records))
        given = records.to_pandas() if framed else matrix(records)
        values = labels.values
        require(
            np.unique(labels.codes).size > 1,
            "All records of a shadow model have the same label: give more records.",
        )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                Sized(model).fit(given, values)
        except InputError:
            raise
        except Exception as error:  # the user's own estimator
            said = str(error).strip().split("\n")[0]
            raise InputError(
                f"{self.name} cannot be fitted: {type(error).__name__}: {said}"
            ) from error
        return Estimator(model, self.name)

    def files(self, model: Model) -> dict[str, bytes]:
        """In skops, or in the own format of XGBoost and LightGBM."""
        assert isinstance(model, Estimator)
        fitted = model.model
        home = type(fitted).__module__.partition(".")[0]
        if home == "xgboost":
            return {".ubj": bytes(fitted.get_booster().save_raw("ubj"))}
        if home == "lightgbm":
            return {".txt": fitted.booster_.model_to_string().encode()}
        try:
            return {".skops": library("skops.io", "models").dumps(fitted)}
        except (TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{self.name} cannot be saved with skops: {error}") from error


_VERSIONED = ("sklearn", "xgboost", "lightgbm", "numpy", "scipy")
"""Whose code is named by its version; any other by its source."""


def _home(part: Any) -> str:
    return str(code.owner(part)).partition(".")[0]


def like_estimator(found: Any, settings: dict[str, Any]) -> EstimatorTrainer:
    """Clones of an estimator, with other parameters where the user says so."""
    fresh, name = same_kind(found, 0)
    require(
        name.startswith("untrained"),
        f"A {type(found).__name__} cannot be cloned by scikit-learn. {FACTORY}",
    )
    try:
        fresh.set_params(**settings)
    except (ValueError, TypeError) as error:
        said = str(error).split(". Valid")[0].split("\n")[0]
        raise InputError(f"The training of {type(found).__name__}: {said}.") from error
    told = getattr(found, "classes_", None)
    return EstimatorTrainer(
        name,
        fresh,
        framed=hasattr(found, "feature_names_in_"),
        classes=None if told is None else tuple(np.asarray(told).tolist()),
    )


def from_factory(factory: Factory, settings: dict[str, Any], classes: Any) -> EstimatorTrainer:
    """Estimators of the user's code, which gets the settings by name."""
    factory(0, **settings)
    return EstimatorTrainer(
        factory.name,
        factory=factory,
        settings=tuple(sorted(settings.items())),
        classes=None if classes is None else tuple(classes),
    )
