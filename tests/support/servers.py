"""Servers on loopback that speak OpenAI's completions and the Open Inference Protocol V2.

Each wraps a tiny real model. test_endpoint_clients.py has the official client libraries talk to
them, so that our own client is tested against the protocol and not against our reading of it.
"""

from __future__ import annotations

import json
import re
import socketserver
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

import numpy as np

Response = tuple[int, Any] | tuple[int, Any, dict[str, str]]


@dataclass
class Asked:
    """One request as the server saw it."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@contextmanager
def serving(answer: Callable[[Asked], Response]) -> Iterator[tuple[str, list[Asked]]]:
    """Serve JSON answers; yields the URL and the list of requests, which grows."""
    log: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.loads(raw) if raw else None
            headers = {k.lower(): v for k, v in self.headers.items()}
            asked = Asked(self.command, self.path, headers, body)
            log.append(asked)
            status, content, *more = answer(asked)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in ({"Content-Type": "application/json"} | (more or [{}])[0]).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = handle_any  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    with _running(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield url, log


@contextmanager
def hostile(script: Callable[[Any], None]) -> Iterator[str]:
    """A server that reads a request and then lets the script write whatever it wants."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            try:
                self.request.settimeout(5)
                stream = self.request.makefile("rb")
                length = 0
                while (line := stream.readline()) not in (b"\r\n", b""):
                    name, _, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                stream.read(length)  # what is left unread would turn the end into a reset
                script(self.request)
            except OSError:
                pass

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads, allow_reuse_address = True, True

    with _running(Server(("127.0.0.1", 0), Handler)) as url:
        yield url


@contextmanager
def _running(server: Any) -> Iterator[str]:
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Bigrams:
    """A language model over words that counts pairs, smoothed by one half."""

    def __init__(self, texts: Sequence[str]) -> None:
        words = [self.tokens(t) for t in texts]
        self.known = len({w for row in words for w in row}) + 1
        self.pairs = Counter(p for row in words for p in pairwise(row))
        self.first = Counter(w for row in words for w in row[:-1])

    @staticmethod
    def tokens(text: str) -> list[str]:
        return re.findall(r"\s*\S+|\s+$", text)

    def log_probabilities(self, text: str) -> list[float | None]:
        words = self.tokens(text)
        rest = [
            float(np.log((self.pairs[a, b] + 0.5) / (self.first[a] + 0.5 * self.known)))
            for a, b in pairwise(words)
        ]
        return [None, *rest]


@dataclass
class CompletionsServer:
    """``/v1/completions`` and ``/v1/models``; the switches are habits of real servers."""

    model: Bigrams
    name: str = "bigrams"
    wants_a_token: bool = False
    """Refuses max_tokens 0."""
    echo: str = "yes"
    """"yes", "refused" (an error), "ignored" (the model's own tokens only) or "null"."""
    counts_a_token: bool = False
    """Writes at least one token and counts it, but shows none where none was asked for (vLLM)."""
    shows_a_token: bool = False
    """Writes at least one token and shows it."""
    prompt_logprobs: bool = False
    """Knows vLLM's parameter."""
    backwards: bool = False
    """Lists the choices in reverse order."""
    seen: list[int] = field(default_factory=list)
    """Number of prompts in each request."""

    def __call__(self, asked: Asked) -> Response:
        if asked.path == "/v1/models":
            return 200, {"object": "list", "data": [{"id": self.name, "object": "model"}]}
        if asked.path != "/v1/completions":
            return 404, {"error": {"message": f"no route {asked.path}"}}
        body = asked.body
        if body["model"] != self.name:
            return 404, {"error": {"message": f"The model {body['model']} does not exist"}}
        if self.wants_a_token and body["max_tokens"] < 1:
            return 400, {"error": {"message": "max_tokens must be at least 1"}}
        if self.echo == "refused" and body.get("echo"):
            return 400, {"error": {"message": "echo is not supported"}}
        prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
        self.seen.append(len(prompts))
        choices = [self._choice(i, p, body) for i, p in enumerate(prompts)]
        read = sum(len(self.model.tokens(p)) for p in prompts)
        written = self._written(body, self.counts_a_token or self.shows_a_token) * len(prompts)
        return 200, {
            "id": "cmpl-1",
            "object": "text_completion",
            "created": 1,
            "model": self.name,
            "choices": choices[::-1] if self.backwards else choices,
            "usage": {
                "prompt_tokens": read,
                "completion_tokens": written,
                "total_tokens": read + written,
            },
        }

    @staticmethod
    def _written(body: dict[str, Any], at_least_one: bool) -> int:
        return max(body["max_tokens"], int(at_least_one))

    def _choice(self, index: int, prompt: str, body: dict[str, Any]) -> dict[str, Any]:
        echoed = bool(body.get("echo")) and self.echo in ("yes", "null")
        tokens = self.model.tokens(prompt) if echoed else []
        values = self.model.log_probabilities(prompt) if echoed else []
        written = self._written(body, self.shows_a_token)
        tokens = tokens + [" and"] * written
        values = values + [-1.25] * written
        offsets = [0, *np.cumsum([len(t) for t in tokens[:-1]]).tolist()] if tokens else []
        found: dict[str, Any] = {
            "index": index,
            "text": "".join(tokens),
            "finish_reason": "length",
            "logprobs": None,
        }
        if body.get("logprobs") is not None and self.echo != "null":
            found["logprobs"] = {
                "tokens": tokens,
                "token_logprobs": values,
                "top_logprobs": [
                    None if v is None else {t: v} for t, v in zip(tokens, values, strict=True)
                ],
                "text_offset": offsets,
            }
        if self.prompt_logprobs and body.get("prompt_logprobs") is not None:
            found["prompt_logprobs"] = [
                None if v is None else {str(j): {"logprob": v, "rank": 1, "decoded_token": t}}
                for j, (t, v) in enumerate(
                    zip(
                        self.model.tokens(prompt), self.model.log_probabilities(prompt), strict=True
                    )
                )
            ]
        return found


@dataclass
class V2Server:
    """``/v2/models/<name>`` and ``/infer`` around a fitted scikit-learn classifier."""

    model: Any
    name: str = "iris"
    by_column: Sequence[str] = ()
    """Names of the inputs, if there is one per feature."""
    datatype: str = "FP64"
    nested: bool = False
    """Gives the data of outputs as nested lists."""

    def __call__(self, asked: Asked) -> Response:
        root = f"/v2/models/{self.name}"
        if asked.path in ("/v2/health/live", "/v2/health/ready", f"{root}/ready"):
            return 200, {}
        if asked.path == root:
            return 200, self.metadata()
        if asked.path != f"{root}/infer":
            return 404, {"error": f"no model at {asked.path}"}
        return self.infer(asked.body)

    def metadata(self) -> dict[str, Any]:
        width = int(self.model.n_features_in_)
        inputs = [{"name": "x", "datatype": self.datatype, "shape": [-1, width]}]
        if self.by_column:
            inputs = [
                {"name": c, "datatype": self.datatype, "shape": [-1, 1]} for c in self.by_column
            ]
        classes = len(self.model.classes_)
        return {
            "name": self.name,
            "versions": ["1"],
            "platform": "sklearn",
            "inputs": inputs,
            "outputs": [
                {"name": "label", "datatype": "INT64", "shape": [-1, 1]},
                {"name": "probabilities", "datatype": "FP64", "shape": [-1, classes]},
                {"name": "scores", "datatype": "FP64", "shape": [-1, classes]},
            ],
        }

    def infer(self, body: dict[str, Any]) -> Response:
        given = {t["name"]: t for t in body["inputs"]}
        for tensor in given.values():
            if tensor["datatype"] != self.datatype:
                return 400, {"error": f"{tensor['name']} must be {self.datatype}"}
        wanted = list(self.by_column) or ["x"]
        if set(given) != set(wanted):
            return 400, {"error": f"expected the inputs {wanted}"}
        x = np.hstack([np.reshape(given[n]["data"], given[n]["shape"]) for n in wanted])
        values = {
            "label": ("INT64", self.model.predict(x)[:, None]),
            "probabilities": ("FP64", self.model.predict_proba(x)),
        }
        if hasattr(self.model, "decision_function"):
            values["scores"] = ("FP64", self.model.decision_function(x))
        asked = [o["name"] for o in body.get("outputs", [])] or list(values)
        outputs = [
            {
                "name": n,
                "datatype": values[n][0],
                "shape": list(values[n][1].shape),
                "data": (values[n][1] if self.nested else values[n][1].ravel()).tolist(),
            }
            for n in asked
        ]
        return 200, {"model_name": self.name, "model_version": "1", "outputs": outputs}
