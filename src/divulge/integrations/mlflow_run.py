"""A result in a run of MLflow: bounds and measurements as metrics, result and report as artifacts.

Where the run is kept follows MLflow's own variables (``MLFLOW_TRACKING_URI``, ``MLFLOW_RUN_ID``,
``MLFLOW_EXPERIMENT_NAME``); a run that is active is used. Everything stands under
``divulge/<game>/``, so that several games fit into one run.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from divulge import __version__
from divulge.errors import DivulgeError, MissingExtra
from divulge.result import Result
from divulge.text.visible import one_line

EXTRA = "mlflow"
_LONGEST = 500
"""Characters of a parameter that every store of MLflow takes."""


class NotLogged(DivulgeError):
    """MLflow did not take the result."""


def load() -> Any:
    """The package; MissingExtra names what installs it."""
    try:
        import mlflow
    except ImportError as error:
        raise MissingExtra("mlflow", EXTRA) from error
    return mlflow


def metrics(result: Result) -> dict[str, float]:
    """The bounds that hold together, rounded down, and every measurement that is one number."""
    found: dict[str, float] = {}
    for bound in result.headline():
        at = "" if bound.delta is None else f"_at_{bound.delta:g}"
        name = f"{bound.parameter}{at}"
        found[name] = max(bound.to_json()["value"], found.get(name, 0.0))
    plain = {k: v for k, v in result.measurements.items() if _number(v) and k not in found}
    whole = {**found, **{k: float(v) for k, v in plain.items()}}
    return {f"{_prefix(result)}{name}": value for name, value in whole.items()}


def parameters(result: Result) -> dict[str, str]:
    """What was asked, in the words of the result's provenance."""
    asked: dict[str, Any] = {"version": __version__}
    asked |= {
        k: v for k, v in result.provenance.items() if k in ("seed", "command") and v is not None
    }
    asked |= {f"trials_{k}": v for k, v in result.trials.items() if isinstance(v, int)}
    if result.headline():
        asked["confidence"] = result.headline()[0].confidence
    return {f"{_prefix(result)}{k}": one_line(str(v))[:_LONGEST] for k, v in asked.items()}


def tags(result: Result) -> dict[str, str]:
    """The verdict."""
    said = result.verdict
    about = {"status": said.status, "robust": str(said.robust).lower(), "sentence": said.sentence}
    return {f"{_prefix(result)}{k}": one_line(v) for k, v in about.items()}


def log(result: Result, *, claim: Mapping[str, Any] | None = None) -> str:
    """Log a result to the active run, or to a new one; the id of the run is returned."""
    mlflow = load()
    try:
        active = mlflow.active_run()
        if active is not None:
            return _log(mlflow, result, claim, active.info.run_id)
        with mlflow.start_run() as run:
            return _log(mlflow, result, claim, run.info.run_id)
    except mlflow.exceptions.MlflowException as error:
        said = one_line(str(error).strip().split("\n")[0])
        raise NotLogged(
            f"MLflow did not take the result: {said} See MLFLOW_TRACKING_URI."
        ) from error


def _log(mlflow: Any, result: Result, claim: Mapping[str, Any] | None, run: str) -> str:
    mlflow.log_params(parameters(result))
    mlflow.set_tags(tags(result))
    mlflow.log_metrics(metrics(result))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        result.save(place / "result.json")
        _page(result, place / "report.html", claim)
        mlflow.log_artifacts(folder, _prefix(result).rstrip("/"))
    return run


def _page(result: Result, path: Path, claim: Mapping[str, Any] | None) -> None:
    """The report, where the extra that draws its charts is installed."""
    from divulge.report import html

    try:
        html.require_charts()
    except MissingExtra:
        return
    html.write(result, path, claim=claim)


def _prefix(result: Result) -> str:
    return f"divulge/{result.game}/"


def _number(value: Any) -> bool:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain and math.isfinite(value)
