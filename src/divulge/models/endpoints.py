"""A model behind a URL, by the API that its server speaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import quote, urlsplit, urlunsplit

from divulge.errors import InputError, require
from divulge.models.base import Model
from divulge.models.cells import OUTPUTS, Outputs
from divulge.models.completions import open_completions
from divulge.models.endpoint import Endpoint, Limits, Pace
from divulge.models.inference_v2 import open_inference_v2
from divulge.models.scoring_server import PER_REQUEST, ScoringServer

Api = Literal["openai", "kserve", "mlflow"]
APIS: tuple[Api, ...] = ("openai", "kserve", "mlflow")


def open_endpoint(
    url: str,
    *,
    api: str | None = None,
    name: str | None = None,
    key_variable: str | None = None,
    key_header: str = "Authorization",
    allow_plain_key: bool = False,
    rate: float | None = None,
    timeout: float = 60.0,
    patience: float = 300.0,
    connections: int = 4,
    batch: int | None = None,
    outputs: Outputs = "probabilities",
    output: str | None = None,
    classes: Sequence[Any] | None = None,
) -> Model:
    """The model at a URL, ready to be asked; InputError that says what is wrong with it.

    ``api`` is guessed from the path where that is clear: ``/v1`` is OpenAI's, ``/v2/models/...``
    the Open Inference Protocol's, ``/invocations`` MLflow's. ``name`` is the model's on the server.
    ``key_variable`` names the environment variable that holds the key. ``rate`` is the most
    requests a second, ``timeout`` the seconds for one reply, ``patience`` those for one answer with
    every further try, ``connections`` the requests at a time, ``batch`` the records in one request.
    ``outputs`` says what a classifier gives, ``output`` which of several outputs holds it, and
    ``classes`` what its columns stand for.
    """
    require(connections >= 1, f"connections must be at least 1. Found {connections!r}.")
    require(batch is None or batch >= 1, f"batch must be at least 1. Found {batch!r}.")
    require(outputs in OUTPUTS, f"outputs must be {' or '.join(OUTPUTS)}. Found {outputs!r}.")
    limits = Limits(timeout=timeout, patience=max(patience, timeout))
    first = Endpoint(url, key_variable, key_header, limits, Pace(rate), allow_plain_key)
    spoken = _guessed(first) if api is None else api
    require(spoken in APIS, f"api must be one of {', '.join(APIS)}. Found {spoken!r}.")
    path = _PATHS[spoken](urlsplit(url).path.rstrip("/"), name)
    found = Endpoint(
        urlunsplit(urlsplit(url)._replace(path=path, fragment="")),
        key_variable,
        key_header,
        limits,
        first.pace,
        allow_plain_key,
    )
    named = None if classes is None else tuple(classes)
    if spoken == "openai":
        require(
            named is None and output is None and outputs == "probabilities",
            "A language model has no classes and no outputs to choose from.",
        )
        return open_completions(found, name=name, batch=batch, connections=connections)
    if spoken == "kserve":
        return open_inference_v2(
            found,
            output=output,
            outputs=outputs,
            classes=named,
            batch=batch,
            connections=connections,
        )
    require(output is None, "MLflow's scoring server has one output only.")
    return ScoringServer(found, outputs, named, batch or PER_REQUEST, connections)


def _guessed(endpoint: Endpoint) -> str:
    path = urlsplit(endpoint.url).path.rstrip("/")
    if "/v2/models/" in path + "/":
        return "kserve"
    if path.endswith("/invocations"):
        return "mlflow"
    if path.endswith(("/v1", "/completions")):
        return "openai"
    raise InputError(
        f"Which API does {endpoint.address} speak? Name it (--with api=...): {', '.join(APIS)}."
    )


def _completions_path(path: str, name: str | None) -> str:
    require(
        not path.endswith("/chat/completions"),
        "A chat endpoint gives no log-probabilities of a given text: use /v1/completions.",
    )
    return path.removesuffix("/completions") or "/v1"


def _model_path(path: str, name: str | None) -> str:
    path = path.removesuffix("/infer")
    if "/v2/models/" in path:
        return path
    require(name is not None, "Name the model to query, or give the URL up to /v2/models/<name>.")
    return f"{path.removesuffix('/v2')}/v2/models/{quote(name or '', safe='')}"


def _invocations_path(path: str, name: str | None) -> str:
    return path if path.endswith("/invocations") else f"{path}/invocations"


_PATHS = {"openai": _completions_path, "kserve": _model_path, "mlflow": _invocations_path}
