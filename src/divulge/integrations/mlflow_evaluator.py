"""An evaluator of MLflow: ``mlflow.models.evaluate(..., evaluators="divulge")``.

Known to MLflow by the entry point ``mlflow.model_evaluator``. The data are members and
non-members together, and ``evaluator_config={"truth": "member"}`` names the column that says which
is which; without it the evaluator does not take part, so that nobody's other evaluations change.
The rest of the configuration are words of ``divulge.membership``.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from mlflow.models.evaluation.base import EvaluationArtifact, EvaluationResult, ModelEvaluator

from divulge.errors import InputError
from divulge.games.membership.play import membership
from divulge.integrations import mlflow_run
from divulge.result import Result

TRUTH, LABEL = "truth", "label"
OWN = ("data", "members", "nonmembers", "model", "progress", "command")
"""Words of ``divulge.membership`` that MLflow says, or that mean nothing here."""


class DivulgeEvaluator(ModelEvaluator):  # type: ignore[misc]
    """The membership game on a model, or on scores in the data where there is none."""

    @classmethod
    def can_evaluate(cls, *, model_type: Any, evaluator_config: Any, **kwargs: Any) -> bool:
        return TRUTH in (evaluator_config or {})

    def evaluate(
        self,
        *,
        model_type: Any,
        dataset: Any,
        run_id: Any,
        evaluator_config: Any,
        model: Any = None,
        **kwargs: Any,
    ) -> EvaluationResult:
        """Play, log to the run of the evaluation, and hand the figures back."""
        words = dict(evaluator_config)
        _check(words)
        table, label = _table(dataset)
        if model is None:
            result = membership(table, **words)
        else:
            shown = [c for c in table if c not in (words[TRUTH], label)]
            asked = {"features": shown, **({} if label is None else {LABEL: label}), **words}
            classes = None if label is None else table[label]
            result = membership(table, model=_asked(model, classes), **asked)
        mlflow_run.log(result)
        found = ResultArtifact(uri=_uri(run_id, result.game), content=result)
        return EvaluationResult(mlflow_run.metrics(result), {"divulge_result": found}, run_id)


class ResultArtifact(EvaluationArtifact):  # type: ignore[misc]
    """A ``divulge.Result`` among the artifacts of an evaluation."""

    def _save(self, output_artifact_path: str) -> None:
        self._content.save(output_artifact_path)

    def _load_content_from_file(self, local_artifact_path: str) -> Result:
        found = Result.load(local_artifact_path)
        self._content = found
        return found


@dataclass(frozen=True)
class _Probabilities:
    """A model of MLflow's that gives a row of probabilities per record."""

    model: Any = field(repr=False)
    classes_: Any

    def predict_proba(self, records: Any) -> Any:
        found = np.asarray(self.model.predict(records))
        if found.ndim != 2 or found.shape[1] != len(self.classes_):
            raise InputError(
                f"The model must give {len(self.classes_)} probabilities per record. Found an "
                f"array of shape {found.shape}. Log it with pyfunc_predict_fn='predict_proba', or "
                "evaluate a function that returns them."
            )
        return found


def _asked(model: Any, labels: Any) -> Any:
    """The estimator behind a model where it has ``predict_proba``, or what the model returns."""
    try:
        raw = model.get_raw_model()
    except (AttributeError, NotImplementedError):
        raw = None
    if hasattr(raw, "predict_proba"):
        return raw
    if labels is None:
        raise InputError("The model predicts something: name its column as targets.")
    return _Probabilities(model, np.unique(labels))


def _table(dataset: Any) -> tuple[dict[str, Any], str | None]:
    """The columns of MLflow's data by name, and the name of the label."""
    features = dataset.features_data
    if isinstance(features, np.ndarray):
        table = {str(n): features[:, j] for j, n in enumerate(dataset.feature_names)}
    else:
        table = {str(c): features[c].to_numpy() for c in features.columns}
    if not dataset.has_targets:
        return table, None
    label = str(dataset.targets_name or LABEL)
    return {**table, label: np.asarray(dataset.labels_data)}, label


def _check(words: Mapping[str, Any]) -> None:
    """InputError for a word that ``divulge.membership`` does not have."""
    known = [w for w in inspect.signature(membership).parameters if w not in OWN]
    for word in words:
        if word not in known:
            near = difflib.get_close_matches(word, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InputError(f"evaluator_config has no word {word!r} of divulge.membership.{hint}")


def _uri(run: str, game: str) -> str:
    return f"runs:/{run}/divulge/{game}/result.json"
