"""Whatever a server does, one clear InputError comes in time, in little memory, without the key."""

from __future__ import annotations

import gzip
import json
import logging
import shutil
import socket
import ssl
import subprocess
import threading
import time
import traceback
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from servers import hostile, serving

from divulge.data import tables
from divulge.errors import InputError
from divulge.models import endpoint as endpoint_
from divulge.models.endpoint import Endpoint, Limits, quoted, scrubbed
from divulge.models.endpoints import open_endpoint
from divulge.models.scoring_server import ScoringServer

KEY = "sk-live-Qx7Rt9Lm2Zp4Vb8N"
VARIABLE = "DIVULGE_TEST_KEY"
LIMITS = Limits(timeout=10, patience=30, attempts=2, wait=0.01, longest_wait=0.2)
HASTY = replace(LIMITS, timeout=0.4)
"""Where it is the deadline that ends it."""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
RECORDS = tables.read({"x": [1.0, 2.0]})


def model_at(url: str, limits: Limits = LIMITS) -> ScoringServer:
    return ScoringServer(Endpoint(f"{url}/invocations?sig=hush", VARIABLE, limits=limits))


def sends(*parts: bytes, pause: float = 0.0, times: int = 1):
    """A script: send the parts, the last one as often as said, and hang up.

    Endless means here: longer than any limit of the client, which must be the one to stop.
    """

    def script(connection):
        for part in parts[:-1]:
            connection.sendall(part)
        for _ in range(times):
            connection.sendall(parts[-1])
            time.sleep(pause)

    return script


def whole(body: bytes, kind: str = "application/json", status: str = "200 OK", more: str = ""):
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return sends(head.encode() + body)


def waits(connection):
    while connection.recv(65536):  # until the client hangs up, or for 5 seconds
        pass


def echoes(form):
    """An error body that holds the key in some form."""
    return whole(json.dumps({"error": f"bad key: {form}"}).encode(), status="401 Unauthorized")


def text(value):
    return whole(json.dumps(value).encode())


SCENARIOS = {
    "no answer": (waits, "within 0.4 seconds"),
    "drips its headers": (sends(HEAD, b"X", pause=0.05, times=100), "within 0.4 seconds"),
    "drips its body": (
        sends(HEAD + b"Content-Length: 5000\r\n\r\n", b" ", pause=0.05, times=100),
        "within 0.4 seconds",
    ),
    "only says it goes on": (
        sends(b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.01, times=500),
        "within 0.4 seconds|bytes",
    ),
    "endless body": (sends(HEAD + b"\r\n", b"[" * 65536, times=2000), "196608 bytes"),
    "endless chunks": (
        sends(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
            b"10000\r\n" + b"1" * 65536 + b"\r\n",
            times=2000,
        ),
        "196608 bytes",
    ),
    "negative chunk": (
        sends(HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", b"1" * 65536, times=2000),
        "196608 bytes",
    ),
    "endless headers": (
        sends(b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"a" * 60000 + b"\r\n", times=2000),
        "bytes|valid HTTP",
    ),
    "one endless header": (
        sends(b"HTTP/1.1 200 OK\r\nX: ", b"a" * 65536, times=2000),
        "HTTP|bytes",
    ),
    "huge length": (
        sends(HEAD + b"Content-Length: 99999999999999\r\n\r\n[1"),
        "announced an answer of 99999999999999 bytes",
    ),
    "breaks off": (sends(HEAD + b"Content-Length: 50\r\n\r\n[1"), "broke off in the middle"),
    "breaks off a chunk": (
        sends(HEAD + b"Transfer-Encoding: chunked\r\n\r\n50\r\n[1"),
        "broke off in the middle",
    ),
    "closes at once": (sends(b""), "without an answer|cannot be reached"),
    "not HTTP": (sends(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), "does not answer with valid HTTP"),
    "binary": (sends(bytes(range(256)) * 40), "does not answer with valid HTTP"),
    "web page": (whole(b"<html>Sign in</html>", "text/html"), "'text/html' instead of JSON.*Sign"),
    "gzip bomb": (
        whole(gzip.compress(b"[" + b"0," * (1 << 22)), more="Content-Encoding: gzip\r\n"),
        "compressed answer",
    ),
    "not JSON": (whole(b"{'predictions'"), "not valid JSON"),
    "not UTF-8": (whole(b'["\xff\xfe"]'), "not valid JSON"),
    "empty": (whole(b""), "not valid JSON"),
    "NaN": (whole(b'{"predictions": [[NaN, 1], [0, 1]]}'), "holds the number NaN"),
    "Infinity": (whole(b'{"predictions": [[-Infinity, 1], [0, 1]]}'), "number -Infinity"),
    "overflow": (whole(b'{"predictions": [[1e999, 1], [0, 1]]}'), "not finite"),
    "long number": (whole(b"[" + b"9" * 6000 + b"]"), "not valid JSON"),
    "long but legal number": (
        whole(b'{"predictions": [[' + b"9" * 400 + b", 1], [0, 1]]}"),
        "a row of numbers",
    ),
    "deep": (whole(b"[" * 12000 + b"]" * 12000), "nested too deeply"),
    "deep objects": (whole(b'{"a":' * 12000 + b"1" + b"}" * 12000), "nested too deeply"),
    "many small lists": (whole(b"[" + b"[]," * 40000 + b"[]]"), "more values than are expected"),
    "many small texts": (whole(b"[" + b'"ab",' * 30000 + b'""]'), "more values than are expected"),
    "a number": (text(7), "must answer with 2 predictions. Found '7'"),
    "words": (text({"predictions": [["NaN", "1"], ["0", "1"]]}), "a row of numbers"),
    "null": (text({"predictions": [[None, 1.0], [0.5, 0.5]]}), "a row of numbers"),
    "true": (text({"predictions": [[True, False], [0.5, 0.5]]}), "a row of numbers"),
    "too few rows": (text({"predictions": [[0.5, 0.5]]}), "must answer with 2 predictions"),
    "too many rows": (text({"predictions": [[0.5, 0.5]] * 3}), "must answer with 2 predictions"),
    "ragged": (text({"predictions": [[0.5, 0.5], [1.0]]}), "a row of numbers"),
    "no columns": (text({"predictions": [[], []]}), "a row of numbers"),
    "too nested": (text({"predictions": [[[0.5], [0.5]], [[1.0], [0]]]}), "a row of numbers"),
    "no probabilities": (text({"predictions": [[0.5, 0.9], [1, 0]]}), "sum to 1"),
    "negative": (text({"predictions": [[-0.5, 1.5], [1, 0]]}), "sum to 1"),
    "mixed columns": (text({"predictions": [{"a": 1, "b": 0}, {"a": 1}]}), "the same columns"),
    "elsewhere": (
        whole(b"", status="307 Temporary Redirect", more="Location: http://example.com/take\r\n"),
        "redirects are not followed.*example.com/take",
    ),
    "a file": (
        whole(b"", status="302 Found", more="Location: file:///etc/passwd\r\n"),
        "redirects are not followed.*file:///etc/passwd",
    ),
    "storm": (whole(b"slow down", "text/plain", "429 Too Many Requests"), "429 Too.*2 tries"),
    "storm with a long wait": (
        whole(b"", status="429 Too Many Requests", more="Retry-After: 86400\r\n"),
        "429 Too Many Requests",
    ),
    "broken": (whole(b"oops", status="500 Internal Server Error"), "500 Internal.*oops"),
    "odd status": (whole(b"hm", status="999 What"), "answered 999"),
    "escapes": (
        whole("\x1b[31mred\x07\u202eevil".encode(), status="400 Bad Request"),
        r"\\x1b\[31mred\\x07\\u202eevil",
    ),
    "key": (echoes(KEY), r"bad key: \*\*\*"),
    "key in capitals": (echoes(KEY.upper()), r"bad key: \*\*\*"),
    "part of the key": (echoes(KEY[:9] + "..." + KEY[-7:]), r"\*\*\*\.\.\.\*\*\*"),
    "key in a header": (
        whole(b"", status="302 Found", more=f"Location: http://h/{KEY}?k={KEY}\r\n"),
        r"'http://h/\*\*\*'",
    ),
    "the query": (echoes("?sig=hush"), r"bad key: \?\*\*\*"),
    "a value of the query": (echoes("signed by HUSH!"), r"signed by \*\*\*"),
    "the query in a header": (
        whole(b"", status="302 Found", more="Location: /invocations/?sig=hush\r\n"),
        r"'/invocations/\?\*\*\*'",
    ),
    "another address": (echoes("go to https://h/p?token=other#part now"), "go to https://h/p now"),
    "key as a type": (whole(b"x", f"text/{KEY}"), r"\*\*\*"),
    "key as a column": (text({"predictions": [{KEY: 1}, {"b": 1}]}), r"\*\*\*"),
    "key for a status line": (sends(f"{KEY}\r\n\r\n".encode()), "valid HTTP"),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_one_clear_error_in_time_and_without_the_key(name, monkeypatch, caplog):
    monkeypatch.setenv(VARIABLE, KEY)
    caplog.set_level(logging.DEBUG)
    script, words = SCENARIOS[name]
    with hostile(script) as url:
        model = model_at(url, HASTY if "within" in words else LIMITS)
        with pytest.raises(InputError, match=words) as caught:
            model.ask(RECORDS)
    said = str(caught.value)
    everything = [said, repr(caught.value), repr(model), caplog.text]
    everything.append("".join(traceback.format_exception(caught.value)))
    for shown in everything:
        lowered = shown.lower()
        assert not any(KEY.lower()[i : i + 6] in lowered for i in range(len(KEY) - 5))
        assert "hush" not in lowered
        assert "other" not in shown
    assert said.startswith(f"{url}/invocations ")
    assert len(said) < 700
    assert said.isprintable()


@pytest.mark.parametrize(
    "name", ["endless body", "endless chunks", "negative chunk", "huge length"]
)
def test_memory_is_bounded(name, monkeypatch):
    monkeypatch.setenv(VARIABLE, KEY)
    script, _ = SCENARIOS[name]
    with hostile(script) as url:
        model = model_at(url)
        tracemalloc.start()
        try:
            with pytest.raises(InputError):
                model.ask(RECORDS)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 4 << 20


def test_a_hundred_thousand_lists_in_one_another(monkeypatch):
    monkeypatch.setenv(VARIABLE, KEY)
    with (
        hostile(whole(b"[" * 100_000 + b"]" * 100_000)) as url,
        pytest.raises(InputError, match="nested too deeply"),
    ):
        model_at(url).ask(tables.read({"x": np.zeros(40)}))


def test_a_server_that_recovers_is_asked_again():
    left = [429, 503, 500]

    def answer(asked):
        if left:
            return left.pop(), b"busy", {"Retry-After": "0"}
        return 200, {"predictions": [[0.5, 0.5], [0.25, 0.75]]}

    with serving(answer) as (url, log):
        found = open_endpoint(f"{url}/invocations").ask(RECORDS)
    assert len(log) == 4
    np.testing.assert_allclose(np.exp(found.log_probabilities[1]), [0.25, 0.75])


def test_waits_are_the_servers_up_to_a_limit_then_doubled(monkeypatch):
    waits, headers = (
        [],
        [{"Retry-After": "7"}, {"Retry-After": "1000"}, {}, {}, {"Retry-After": "x"}],
    )
    monkeypatch.setattr(endpoint_.time, "sleep", lambda s: waits.append(s) if s else None)
    with serving(lambda _: (503, b"", headers.pop(0) if headers else {})) as (url, log):
        limits = Limits(patience=1e4, longest_wait=30)
        with pytest.raises(InputError, match=r"503 Service Unavailable \(6 tries\)"):
            ScoringServer(Endpoint(f"{url}/invocations", limits=limits)).ask(RECORDS)
    assert len(log) == 6
    assert waits[:2] == [7, 30]
    for attempt, wait in zip((3, 4, 5), waits[2:], strict=True):
        assert 0.25 * 2 ** (attempt - 1) <= wait <= 0.5 * 2 ** (attempt - 1)


def test_refusals_are_not_repeated():
    with serving(lambda _: (400, {"message": "no"})) as (url, log):
        with pytest.raises(InputError, match="400 Bad Request"):
            open_endpoint(f"{url}/invocations").ask(RECORDS)
        assert len(log) == 1


def test_nobody_listens():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        model = ScoringServer(Endpoint(f"http://127.0.0.1:{port}/invocations", limits=LIMITS))
        with pytest.raises(InputError, match="cannot be reached"):
            model.ask(RECORDS)


def test_a_handshake_that_never_ends():
    with hostile(waits) as url:
        place = f"{url.replace('http:', 'https:')}/invocations"
        with pytest.raises(InputError, match=r"no complete answer within 0\.4 seconds"):
            ScoringServer(Endpoint(place, limits=HASTY)).ask(RECORDS)


def test_proxies_of_the_environment_are_not_used(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving(lambda _: (200, {"predictions": [[0.5, 0.5], [1, 0]]})) as (url, _):
        open_endpoint(f"{url}/invocations").ask(RECORDS)


def test_a_hostile_description_puts_no_key_into_the_model(monkeypatch):
    monkeypatch.setenv(VARIABLE, KEY)
    tensor = {"name": KEY, "datatype": "FP32", "shape": [-1, 2]}
    described = {"name": KEY, "inputs": [tensor], "outputs": [tensor]}
    with serving(lambda _: (200, described)) as (url, _):
        model = open_endpoint(f"{url}/v2/models/m", key_variable=VARIABLE)
        with pytest.raises(InputError) as caught:
            model.ask(RECORDS)
        assert KEY not in repr(model) + str(model) + model.name + str(caught.value)
    listed = {"data": [{"id": KEY}]}
    with serving(lambda a: (200, listed) if a.method == "GET" else (404, listed)) as (url, _):
        with pytest.raises(InputError) as caught:
            open_endpoint(f"{url}/v1", key_variable=VARIABLE)
        assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "described",
    [
        7,
        {"inputs": 7},
        {"inputs": [7]},
        {"inputs": [{"name": "x", "datatype": "FP32", "shape": []}]},
        {"inputs": [{"name": "x", "datatype": "FP32", "shape": [True]}]},
        {"inputs": [{"name": "x", "datatype": "FP99", "shape": [-1, 1]}]},
        {"outputs": [{"name": n, "datatype": "FP32", "shape": [-1, 1]} for n in "ab"]},
    ],
)
def test_descriptions_out_of_order(described):
    with serving(lambda _: (200, described)) as (url, _), pytest.raises(InputError, match="/v2/"):
        open_endpoint(f"{url}/v2/models/m")


OUTPUT = {"name": "p", "datatype": "FP32", "shape": [2, 2], "data": [0.5, 0.5, 0.5, 0.5]}


@pytest.mark.parametrize(
    "answer",
    [
        [],
        {"outputs": 7},
        {"outputs": []},
        {"outputs": [OUTPUT, OUTPUT]},
        {"outputs": [OUTPUT | {"datatype": "INT64"}]},
        {"outputs": [OUTPUT | {"shape": [3, 2]}]},
        {"outputs": [OUTPUT | {"shape": [2, 10**12]}]},
        {"outputs": [OUTPUT | {"shape": [2, -1]}]},
        {"outputs": [OUTPUT | {"shape": [2, "2"]}]},
        {"outputs": [OUTPUT | {"shape": None}]},
        {"outputs": [OUTPUT | {"data": [0.5]}]},
        {"outputs": [OUTPUT | {"data": "AAAA"}]},
        {"outputs": [OUTPUT | {"data": [[0.5, 0.5]]}]},
        {"outputs": [OUTPUT | {"data": [[0.5, 0.5], 3]}]},
    ],
)
def test_tensors_out_of_order(answer):
    def served(asked):
        return 200, {"inputs": [], "outputs": []} if asked.method == "GET" else answer

    with serving(served) as (url, _), pytest.raises(InputError, match=r"/v2/models/m (must|gave)"):
        open_endpoint(f"{url}/v2/models/m").ask(RECORDS)


def choice(values, **more):
    return {"index": 0, "logprobs": {"token_logprobs": values}, **more}


@pytest.mark.parametrize(
    "choices",
    [
        None,
        [],
        [7],
        [choice([None, -1.0]), choice([None, -1.0], index=1)],
        [choice([None, -1.0], index="0")],
        [choice([None, -1.0], index=True)],
        [choice([])],
        [choice([None])],
        [choice([None, None, -1.0])],
        [choice([None, "-1"])],
        [choice([None, 0.5])],
        [choice([None, True])],
        [choice({"0": -1.0})],
        [{"index": 0}],
    ],
)
def test_choices_out_of_order(choices):
    def served(asked):
        return 200, {"choices": choices, "usage": 7}

    with serving(served) as (url, _), pytest.raises(InputError, match=r"/v1 (must|gave)"):
        open_endpoint(f"{url}/v1", name="m")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_certificates_are_checked(tmp_path, monkeypatch):
    pem = tmp_path / "cert.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(pem)]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, tmp_path / "key.pem")
    body = json.dumps({"predictions": [[0.5, 0.5], [1, 0]]}).encode()

    def accept(listener):
        for _ in range(3):
            connection, _ = listener.accept()
            try:
                with context.wrap_socket(connection, server_side=True) as secured:
                    while b"[2.0]" not in secured.recv(65536):
                        pass
                    whole(body)(secured)
            except OSError:
                connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, args=(listener,), daemon=True)
        thread.start()
        port = listener.getsockname()[1]
        model = ScoringServer(Endpoint(f"https://localhost:{port}/invocations", limits=LIMITS))
        with pytest.raises(InputError, match="no trusted TLS certificate"):
            model.ask(RECORDS)
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        assert len(model.ask(RECORDS)) == 2
        other = ScoringServer(Endpoint(f"https://127.0.0.1:{port}/invocations", limits=LIMITS))
        with pytest.raises(InputError, match="no trusted TLS certificate"):
            other.ask(RECORDS)
        thread.join(5)


@pytest.mark.parametrize("length", [1, 4, 8, 40])
def test_scrubbing(length):
    key = "Zk9-Wq3_Xv7.Bn1~Hy5+Jd2/Lf8=Gs4MtRcPuTeA"[:length]
    for form in (key, key.lower(), key[::-1], key.encode().hex()):
        assert form not in scrubbed(f"a {form} b", key)
    assert scrubbed("nothing", "") == "nothing"


def test_quoting():
    assert quoted("a\n\tb\x00") == "'a b\\x00'"
    assert len(quoted("x" * 10**6)) < 220
