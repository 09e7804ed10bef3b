"""Official clients understand our servers, and our client understands MLflow's own server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from servers import Bigrams, CompletionsServer, V2Server, serving
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import divulge
from divulge.data import tables
from divulge.errors import InputError
from divulge.models import base
from divulge.models.endpoints import open_endpoint
from divulge.models.estimator import adapt

TEXTS = ["the sea was calm", "a small ship went slowly north", "the ship was small and calm"]


@pytest.fixture(scope="module")
def iris():
    frame = load_iris(as_frame=True)
    return LogisticRegression(max_iter=500).fit(frame.data, frame.target), frame.data, frame.target


def test_openai_client_and_ours_read_the_same():
    openai = pytest.importorskip("openai", reason="needs the extra 'endpoints-test'")
    language = Bigrams(TEXTS)
    with serving(CompletionsServer(language, backwards=True)) as (url, _):
        with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            assert [m.id for m in client.models.list()] == ["bigrams"]
            found = client.completions.create(
                model="bigrams", prompt=TEXTS, max_tokens=0, echo=True, logprobs=1
            )
        model = open_endpoint(f"{url}/v1")
        ours = model.ask(tables.read({"text": TEXTS})).tokens
    choices = sorted(found.choices, key=lambda c: c.index)
    assert [c.text for c in choices] == TEXTS
    assert found.usage.completion_tokens == 0
    for choice, row, text in zip(choices, ours, TEXTS, strict=True):
        theirs = choice.logprobs.token_logprobs
        assert theirs == language.log_probabilities(text)
        assert "".join(choice.logprobs.tokens) == text
        np.testing.assert_array_equal(row[np.isfinite(row)], theirs[1:])
        offsets = choice.logprobs.text_offset
        assert [
            text[i:].startswith(t) for i, t in zip(offsets, choice.logprobs.tokens, strict=True)
        ]


def test_triton_client_and_ours_read_the_same(iris):
    client_ = pytest.importorskip("tritonclient.http", reason="needs the extra 'endpoints-test'")
    classifier = LogisticRegression(max_iter=500).fit(iris[1].to_numpy(), iris[2])
    x = iris[1].to_numpy()[::10]
    with serving(V2Server(classifier)) as (url, _):
        client = client_.InferenceServerClient(url.removeprefix("http://"))
        try:
            assert client.is_server_live()
            assert client.is_model_ready("iris")
            described = client.get_model_metadata("iris")
            sent = client_.InferInput("x", list(x.shape), "FP64")
            sent.set_data_from_numpy(x, binary_data=False)
            wanted = client_.InferRequestedOutput("probabilities", binary_data=False)
            theirs = client.infer("iris", [sent], outputs=[wanted]).as_numpy("probabilities")
        finally:
            client.close()
        model = open_endpoint(f"{url}/v2/models/iris")
        ours = model.ask(tables.read(x)).log_probabilities
    assert described["inputs"] == [{"name": "x", "datatype": "FP64", "shape": [-1, 4]}]
    np.testing.assert_array_equal(theirs, classifier.predict_proba(x))
    np.testing.assert_allclose(np.exp(ours), theirs, rtol=1e-12)


@pytest.fixture(scope="module", params=["predict_proba", "predict"])
def mlflow_server(request, iris, tmp_path_factory):
    """``mlflow models serve`` in a process of its own."""
    folder = tmp_path_factory.mktemp("mlflow") / request.param
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mlflow warns of its own type hints
        flavour = pytest.importorskip("mlflow.sklearn", reason="needs the extra 'endpoints-test'")
        flavour.save_model(
            iris[0], folder, pyfunc_predict_fn=request.param, pip_requirements=["scikit-learn"]
        )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": f"{place}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "mlflow", "models", "serve", "--env-manager", "local"]
    with (folder.parent / f"{request.param}.log").open("wb") as log:
        server = subprocess.Popen(
            [*command, "-m", str(folder), "-h", "127.0.0.1", "-p", str(port)],
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None, Path(log.name).read_text()[-2000:]
            time.sleep(0.1)
        yield request.param, f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, 15)
        server.wait()


@pytest.mark.slow
def test_mlflow_scoring_server(mlflow_server, iris):
    kind, url = mlflow_server
    classifier, x, y = iris
    model = open_endpoint(f"{url}/invocations", batch=40)
    records = tables.read(x)
    if kind == "predict":
        with pytest.raises(InputError, match="pyfunc_predict_fn='predict_proba'"):
            base.ask(model, records)
        return
    np.testing.assert_array_equal(
        base.ask(model, records).log_probabilities,
        base.ask(adapt(classifier), records).log_probabilities,
    )
    with pytest.raises(InputError, match="400 Bad Request"):
        model.ask(records.select(records.columns[:2]))
    frame = x.assign(label=y, member=np.arange(len(x)) % 2)
    options = {"features": list(x.columns), "label": "label", "seed": 1}
    found = [divulge.membership(frame, model=m, **options).to_json() for m in (model, classifier)]
    named = [result.pop("provenance")["model"]["name"] for result in found]
    assert found[0] == found[1]
    assert named[0] != named[1]
