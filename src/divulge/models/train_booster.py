"""Further boosters from a file of XGBoost or LightGBM: what the file says, and defaults otherwise.

A LightGBM file holds its training parameters; of these only the ones that shape the trees are
taken, never one that names a file, a device or a machine. An XGBoost file holds the objective, the
number of rounds and the trees, from which the depth is read, but no learning rate, sampling or
regularisation: the user says them, or XGBoost's defaults are taken, and a note says so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models import layout
from divulge.models.base import Model, Reads, matrix
from divulge.models.lightgbm import LightGBM
from divulge.models.rehearsal import library
from divulge.models.source import Source
from divulge.models.trainers import FACTORY, Labels
from divulge.models.xgboost import XGBoost
from divulge.work.threads import number

SHAPING = (
    "boosting", "objective", "num_class", "learning_rate", "num_leaves", "max_depth",
    "min_data_in_leaf", "min_sum_hessian_in_leaf", "bagging_fraction", "pos_bagging_fraction",
    "neg_bagging_fraction", "bagging_freq", "feature_fraction", "feature_fraction_bynode",
    "extra_trees", "max_delta_step", "lambda_l1", "lambda_l2", "linear_lambda", "min_gain_to_split",
    "drop_rate", "max_drop", "skip_drop", "xgboost_dart_mode", "uniform_drop", "top_rate",
    "other_rate", "path_smooth", "linear_tree", "max_bin", "min_data_in_bin", "use_missing",
    "zero_as_missing", "is_unbalance", "scale_pos_weight", "sigmoid", "boost_from_average",
    "data_sample_strategy",
)  # fmt: skip
"""LightGBM's parameters that a file may say."""
ROUNDS = "rounds"


@dataclass(frozen=True)
class BoosterTrainer:
    """Boosters of one library with these parameters."""

    name: str
    home: str
    """``xgboost`` or ``lightgbm``."""
    parameters: tuple[tuple[str, Any], ...]
    rounds: int
    width: int
    """Columns of the probabilities."""
    names: tuple[str, ...] | None = field(default=None, repr=False)
    note: str | None = None
    reads: Reads = "features"

    @property
    def classes(self) -> tuple[Any, ...]:
        """Boosters count their classes."""
        return tuple(range(self.width))

    def identity(self) -> str:
        """By the parameters and the version of the library."""
        version = library(self.home, self.home).__version__
        return f"{self.home} {version} {self.parameters} {self.rounds} {self.names}"

    def train(self, records: Frame, labels: Labels | None, seed: int) -> Model:
        """Boost from nothing."""
        assert labels is not None
        words = layout.words(records)
        require(
            not words,
            f"Columns of text ({', '.join(words[:3])}) cannot be shown to further boosters. "
            f"{FACTORY}",
        )
        found = layout.ordered(records, self.names, self.name)
        x, y = matrix(found), labels.codes.astype(np.float64)
        grow = _grown_by_xgboost if self.home == "xgboost" else _grown_by_lightgbm
        try:
            return grow(self, x, y, seed, found.columns)
        except Exception as error:  # the library raises one type for everything
            said = str(error).strip().split("\n")[0]
            raise InputError(f"{self.name} cannot be trained: {said}") from error

    def files(self, model: Model) -> dict[str, bytes]:
        """In the library's own format."""
        if isinstance(model, XGBoost):
            return {".ubj": bytes(model.booster.save_raw("ubj"))}
        assert isinstance(model, LightGBM)
        return {".txt": model.booster.model_to_string().encode()}


def _grown_by_xgboost(
    trainer: BoosterTrainer, x: Any, y: Any, seed: int, columns: list[str]
) -> XGBoost:
    xgboost = library("xgboost", "xgboost")
    names = None if trainer.names is None else columns
    data = xgboost.DMatrix(x.astype(np.float32), y, feature_names=names)
    extra = {"seed": seed, "nthread": number(len(x)), "verbosity": 0}
    booster = xgboost.train({**dict(trainer.parameters), **extra}, data, trainer.rounds)
    return XGBoost(booster, trainer.name, (0, 0))


def _grown_by_lightgbm(
    trainer: BoosterTrainer, x: Any, y: Any, seed: int, columns: list[str]
) -> LightGBM:
    lightgbm = library("lightgbm", "lightgbm")
    names: Any = "auto" if trainer.names is None else columns
    extra = {
        "seed": seed, "num_threads": number(len(x)), "verbosity": -1, "deterministic": True,
        "force_col_wise": True,
    }  # fmt: skip
    given = {**dict(trainer.parameters), **extra}
    data = lightgbm.Dataset(x, y, feature_name=names, params=given)
    booster = lightgbm.train(given, data, trainer.rounds)
    averaged = given.get("boosting") == "rf"
    factor = float(given.get("sigmoid", 1.0)) if trainer.width == 2 else 1.0
    return LightGBM(booster, trainer.name, factor / (trainer.rounds if averaged else 1))


def like_xgboost(source: Source, settings: dict[str, Any]) -> BoosterTrainer:
    """Boosters with the rounds, the objective and the depth of a file."""
    model = source.open()
    assert isinstance(model, XGBoost)
    booster = model.booster
    learner = json.loads(booster.save_config())["learner"]
    kinds = booster.feature_types
    require(not (kinds and "c" in kinds), f"{model.name} has columns of categories. {FACTORY}")
    kind = learner["gradient_booster"]["name"]
    require(kind != "gblinear", f"{model.name} is linear, and has no trees to repeat. {FACTORY}")
    classes = int(learner["learner_model_param"]["num_class"])
    known: dict[str, Any] = {"objective": learner["objective"]["name"], "booster": kind}
    if classes > 1:
        known["num_class"] = classes
    shape = learner["gradient_booster"]
    trees = shape.get("gbtree", shape)["gbtree_model_param"]
    known["num_parallel_tree"] = int(trees["num_parallel_tree"])
    known["max_depth"] = max(1, _deepest(booster))
    rounds = model.trees[1] or booster.num_boosted_rounds()
    return BoosterTrainer(
        f"booster like {model.name}",
        "xgboost",
        tuple(sorted({**known, **_without_rounds(settings)}.items())),
        _rounds(settings, rounds),
        max(2, classes),
        None if booster.feature_names is None else tuple(booster.feature_names),
        note=_unsaid(settings),
    )


def _unsaid(settings: dict[str, Any]) -> str | None:
    if {"eta", "learning_rate"} & set(settings):
        return None
    return (
        "An XGBoost file does not say its learning rate, sampling and regularisation: shadow "
        "models have XGBoost's defaults for what --training does not say, such as "
        "--training eta=0.1."
    )


def _deepest(booster: Any) -> int:
    """The depth of the deepest tree, which the limit of the training is read from."""

    def depth(node: dict[str, Any]) -> int:
        return 1 + max(map(depth, node["children"])) if "children" in node else 0

    return max(
        (depth(json.loads(tree)) for tree in booster.get_dump(dump_format="json")), default=1
    )


def like_lightgbm(source: Source, settings: dict[str, Any]) -> BoosterTrainer:
    """Boosters with the parameters that a file says."""
    model = source.open()
    assert isinstance(model, LightGBM)
    booster = model.booster
    require(not booster.pandas_categorical, f"{model.name} has columns of categories. {FACTORY}")
    said = {name: booster.params[name] for name in SHAPING if name in booster.params}
    parameters = {**said, **_without_rounds(settings)}
    names = model.names
    counted = names == [f"Column_{j}" for j in range(len(names))]
    trainer = BoosterTrainer(
        f"booster like {model.name}",
        "lightgbm",
        tuple(sorted(parameters.items())),
        _rounds(settings, booster.current_iteration()),
        max(2, booster.num_model_per_iteration()),
        None if counted else tuple(names),
    )
    unsaid = "objective" not in said
    note = f"{model.name} does not say its parameters: LightGBM's defaults are taken."
    objective = "binary" if trainer.width == 2 else "multiclass"
    if unsaid and "objective" not in settings:
        known = {"objective": objective, **parameters}
        if trainer.width > 2:
            known["num_class"] = trainer.width
        return replace(trainer, parameters=tuple(sorted(known.items())), note=note)
    return trainer


def _without_rounds(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != ROUNDS}


def _rounds(settings: dict[str, Any], known: int) -> int:
    found = settings.get(ROUNDS, known)
    whole = isinstance(found, int) and not isinstance(found, bool) and found >= 1
    require(whole, f"The setting rounds must be a whole number of at least 1. Found {found!r}.")
    return int(found)
