"""Results in runs of MLflow, by its evaluator and by ``--mlflow``."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import run
from needing import needs
from sklearn.tree import DecisionTreeClassifier

from divulge import Result
from divulge.errors import InputError, MissingExtra
from divulge.integrations import mlflow_run

mlflow = needs("mlflow", "mlflow")
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own
ENTRY = "mlflow.model_evaluator"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store of runs in files."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    mlflow.set_tracking_uri(None)
    return tmp_path


@pytest.fixture(scope="module")
def evaluator():
    """What the entry point names, known to MLflow whether or not this tree is installed."""
    from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry as registry

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, name = project["entry-points"][ENTRY]["divulge"].partition(":")
    registry.register("divulge", getattr(import_module(module), name))


@pytest.fixture
def without_charts(monkeypatch):
    """As if the extra that draws charts were not there."""

    def missing():
        raise MissingExtra("altair", "report")

    monkeypatch.setattr("divulge.report.html.require_charts", missing)


def people() -> tuple[pd.DataFrame, DecisionTreeClassifier]:
    """Labels are noise, so that a deep tree knows those of its members only."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    label, member = rng.choice(["no", "yes"], 400), np.arange(400) < 200
    tree = DecisionTreeClassifier(random_state=0).fit(frame[member], label[member])
    return frame.assign(job=label, member=member), tree


WORDS = {"truth": "member", "quick": True, "seed": 3}


def check_run(run_id: str, found: dict[str, float], *, page: bool = True) -> None:
    logged = mlflow.get_run(run_id)
    assert logged.data.metrics.items() >= found.items()
    assert logged.data.params["divulge/membership/seed"] == "3"
    assert logged.data.tags["divulge/membership/status"] == "leak"
    result = mlflow.artifacts.load_dict(
        f"{logged.info.artifact_uri}/divulge/membership/result.json"
    )
    bounds = {f"{b['parameter']}_at_{b['delta']:g}" if b["delta"] is not None else b["parameter"]:
              b["value"] for b in result["bounds"] if b["headline"]}  # fmt: skip
    assert bounds
    for name, value in bounds.items():
        assert logged.data.metrics[f"divulge/membership/{name}"] >= value
    held = mlflow.artifacts.list_artifacts(f"{logged.info.artifact_uri}/divulge/membership")
    names = [Path(one.path).name for one in held]
    assert sorted(names) == (["report.html", "result.json"] if page else ["result.json"])


def evaluated(model, frame, **words):
    return mlflow.models.evaluate(
        model, frame, targets="job", model_type="classifier", evaluators="divulge",
        evaluator_config={**WORDS, **words},
    )  # fmt: skip


def test_the_evaluator_plays_and_logs(store, evaluator, without_charts):
    frame, tree = people()
    with mlflow.start_run() as own:
        found = evaluated(lambda records: tree.predict_proba(records), frame)
    assert found.metrics["divulge/membership/epsilon_at_1e-05"] > 0.0
    check_run(own.info.run_id, found.metrics, page=False)
    found.save(store / "evaluation")
    assert isinstance(found.artifacts["divulge_result"].content, Result)
    loaded = mlflow.models.EvaluationResult.load(store / "evaluation")
    assert loaded.artifacts["divulge_result"].content.verdict.status == "leak"


def test_scores_without_a_model(store, evaluator, without_charts):
    scores = pd.read_csv(table(store))
    with mlflow.start_run():
        found = mlflow.models.evaluate(
            data=scores.assign(label=0, guess=0), targets="label", predictions="guess",
            model_type="classifier", evaluators="divulge", evaluator_config=WORDS,
        )  # fmt: skip
    assert found.metrics["divulge/membership/mu"] > 0.5


def test_it_takes_no_part_in_the_evaluations_of_others(evaluator):
    from divulge.integrations.mlflow_evaluator import DivulgeEvaluator

    for config in (None, {}, {"log_model_explainability": False}):
        assert not DivulgeEvaluator.can_evaluate(model_type="classifier", evaluator_config=config)


@pytest.mark.parametrize(
    ("model", "words", "message"),
    [
        (lambda x: np.zeros(len(x)), {}, "must give 2 probabilities per record"),
        (lambda x: x, {"seeed": 1}, "Did you mean 'seed'"),
        (lambda x: x, {"truth": "membr"}, "Did you mean 'member'"),
    ],
)
def test_bad_calls_are_named(store, evaluator, model, words, message):
    with mlflow.start_run(), pytest.raises(InputError, match=message):
        evaluated(model, people()[0], **words)


def test_a_missing_package_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingExtra, match=r"divulge\[mlflow\]"):
        mlflow_run.load()


def table(place: Path) -> Path:
    rng = np.random.default_rng(0)
    member = np.arange(400) % 2 == 0
    frame = pd.DataFrame({"member": member, "loss": rng.normal(size=400) - 3.0 * member})
    frame.to_csv(place / "scores.csv", index=False)
    return place / "scores.csv"


def audit(place: Path) -> subprocess.CompletedProcess[str]:
    return run("membership", table(place), "--seed", "3", "--mlflow", "--json", cwd=place)


def test_the_option_of_the_command_line(store):
    done = audit(store)
    assert done.returncode == 0, done.stderr
    run_id = done.stderr.split("Logged to run ")[1].split()[0]
    check_run(run_id, {})
    assert json.loads(done.stdout)["game"] == "membership"


def test_a_server_that_is_not_there_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    mlflow.set_tracking_uri(None)
    done = audit(tmp_path)
    assert done.returncode == 2
    assert "MLflow did not take the result" in done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout)["game"] == "membership"  # printed before it is logged


def test_a_real_tracking_server(tmp_path, evaluator, monkeypatch):
    """The whole of MLflow, which ``make mlflow`` installs."""
    for package in ("flask", "sqlalchemy", "alembic"):
        pytest.importorskip(package, reason="needs the whole of MLflow")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    uri = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", "sqlite:///runs.db",
         "--artifacts-destination", str(tmp_path / "artifacts"), "--port", str(port),
         "--workers", "1"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{uri}/health", timeout=2).read()
                break
            except OSError:
                time.sleep(0.2)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        mlflow.set_tracking_uri(uri)
        done = audit(tmp_path)
        assert done.returncode == 0, done.stderr
        check_run(done.stderr.split("Logged to run ")[1].split()[0], {})
        frame, tree = people()
        with mlflow.start_run() as own:
            logged = mlflow.sklearn.log_model(
                tree, name="tree", serialization_format="skops",
                skops_trusted_types=["sklearn.tree._tree.Tree"],
            )  # fmt: skip
            found = evaluated(logged.model_uri, frame)
        check_run(own.info.run_id, found.metrics)
    finally:
        mlflow.set_tracking_uri(None)
        server.terminate()
        server.wait(30)
