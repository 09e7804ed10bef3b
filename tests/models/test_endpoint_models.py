"""Models behind endpoints say what the same models say locally."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest
from servers import Asked, Bigrams, CompletionsServer, V2Server, serving
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import divulge
from divulge.data import tables
from divulge.errors import InputError
from divulge.models import base
from divulge.models import endpoint as endpoint_
from divulge.models.endpoints import open_endpoint
from divulge.models.estimator import adapt

WORDS = ["the", "sea", "was", "calm", "and", "a", "small", "ship", "went", "north", "slowly"]
KEY = "sk-test-0123456789abcdef"


def texts(count: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(3, 15))) for _ in range(count)]


@pytest.fixture(scope="module")
def language():
    return Bigrams(texts(30))


@pytest.fixture(scope="module")
def iris():
    found = load_iris()
    rng = np.random.default_rng(1)
    x = found.data + rng.normal(0, 0.3, found.data.shape)
    return LogisticRegression(max_iter=1000).fit(x[::2], found.target[::2]), x, found.target


def table(x):
    return {f"x_{j}": x[:, j] for j in range(x.shape[1])}


# completions


@pytest.mark.parametrize(
    ("habits", "way"),
    [
        ({}, "echo"),
        ({"backwards": True}, "echo"),
        ({"counts_a_token": True}, "echo"),
        ({"shows_a_token": True}, "echo and drop"),
        ({"wants_a_token": True}, "echo and drop"),
        ({"echo": "refused", "prompt_logprobs": True}, "prompt_logprobs"),
        ({"echo": "ignored", "prompt_logprobs": True}, "prompt_logprobs"),
        ({"echo": "null", "prompt_logprobs": True, "wants_a_token": True}, "prompt_logprobs"),
    ],
)
def test_token_log_probabilities(language, habits, way):
    asked = texts(23, seed=5)
    with serving(CompletionsServer(language, **habits)) as (url, _):
        model = open_endpoint(f"{url}/v1", batch=4, connections=3)
        assert isinstance(model, base.Model)
        assert (model.reads, model.gives, model.way) == ("text", "tokens", way)
        answers = base.ask(model, tables.read({"text": asked}))
    expected = [language.log_probabilities(t)[1:] for t in asked]
    for row, own in zip(answers.tokens, expected, strict=True):
        np.testing.assert_array_equal(row[: len(own)], own)
        assert np.isnan(row[len(own) :]).all()


def test_prompts_are_sent_in_batches(language):
    server = CompletionsServer(language)
    with serving(server) as (url, log):
        model = open_endpoint(url, api="openai", batch=8)
        base.ask(model, tables.read({"text": texts(21)}))
    assert sorted(server.seen[1:]) == [5, 8, 8]
    assert {a.path for a in log} == {"/v1/models", "/v1/completions"}


@pytest.mark.parametrize("echo", ["refused", "ignored", "null"])
def test_a_server_without_prompt_log_probabilities_is_told_apart(language, echo):
    with (
        serving(CompletionsServer(language, echo=echo)) as (url, _),
        pytest.raises(InputError, match=r"127\.0\.0\.1.*(log-probabilities|echo)"),
    ):
        open_endpoint(f"{url}/v1", name="bigrams")


def test_wrong_names_and_texts(language):
    with serving(CompletionsServer(language)) as (url, _):
        with pytest.raises(InputError, match=r"404 Not Found.*does not exist"):
            open_endpoint(f"{url}/v1", name="another")
        model = open_endpoint(f"{url}/v1")
        with pytest.raises(InputError, match="an empty one in row 1 of 2"):
            model.ask(tables.read({"text": ["a b", ""]}))
        with pytest.raises(InputError, match="at least one"):
            model.ask(tables.read({"text": ["word"]}))


# Open Inference Protocol


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("by_column", [False, True])
def test_tensors(iris, nested, by_column):
    classifier, x, _ = iris
    records = tables.read(table(x))
    server = V2Server(classifier, by_column=records.columns if by_column else (), nested=nested)
    with serving(server) as (url, log):
        model = open_endpoint(f"{url}/v2/models/iris", batch=40)
        answers = base.ask(model, records)
    np.testing.assert_allclose(np.exp(answers.log_probabilities), classifier.predict_proba(x))
    assert len(log) == 1 + 4
    assert max(len(a.body["inputs"][0]["data"]) for a in log[1:]) == (40 if by_column else 160)


def test_logits(iris):
    classifier, x, _ = iris
    with serving(V2Server(classifier)) as (url, _):
        model = open_endpoint(url, api="kserve", name="iris", output="scores", outputs="logits")
        answers = base.ask(model, tables.read(table(x)))
        np.testing.assert_allclose(np.exp(answers.log_probabilities), classifier.predict_proba(x))
        with pytest.raises(InputError, match=r"sum to 1.*--with outputs=logits"):
            open_endpoint(f"{url}/v2/models/iris", output="scores").ask(tables.read(table(x)))
        with pytest.raises(InputError, match="not the predicted class"):
            open_endpoint(f"{url}/v2/models/iris", output="label").ask(tables.read(table(x)))
        with pytest.raises(InputError, match="has no output 'other'"):
            open_endpoint(f"{url}/v2/models/iris", output="other")


def test_integer_tensors(iris):
    _, x, y = iris
    whole = np.rint(x).astype(int)
    classifier = LogisticRegression(max_iter=1000).fit(whole, y)
    with serving(V2Server(classifier, datatype="INT64")) as (url, _):
        model = open_endpoint(f"{url}/v2/models/iris")
        answers = model.ask(tables.read(table(whole)))
        np.testing.assert_allclose(
            np.exp(answers.log_probabilities), classifier.predict_proba(whole)
        )
        with pytest.raises(InputError, match=r"'x_0' cannot be sent.*whole numbers"):
            model.ask(tables.read(table(x)))


def test_text_tensors():
    def answer(asked: Asked):
        if asked.method == "GET":
            tensor = {"name": "text", "datatype": "BYTES", "shape": [-1]}
            return 200, {"name": "m", "inputs": [tensor], "outputs": []}
        (sent,) = asked.body["inputs"]
        assert sent == {"name": "text", "shape": [2], "datatype": "BYTES", "data": ["a", "bbb"]}
        data = [[1 - 0.1 * len(t), 0.1 * len(t)] for t in sent["data"]]
        return 200, {"outputs": [{"name": "p", "datatype": "FP32", "shape": [2, 2], "data": data}]}

    with serving(answer) as (url, _):
        model = open_endpoint(f"{url}/v2/models/m")
        found = model.ask(tables.read({"note": ["a", "bbb"]}))
    np.testing.assert_allclose(np.exp(found.log_probabilities), [[0.9, 0.1], [0.7, 0.3]])


def test_tables_that_do_not_fit(iris):
    classifier, x, _ = iris
    with serving(V2Server(classifier)) as (url, _):
        model = open_endpoint(f"{url}/v2/models/iris")
        with pytest.raises(InputError, match="3 feature columns"):
            model.ask(tables.read(table(x[:, :3])))
        x = x.copy()
        x[7, 2] = np.nan
        with pytest.raises(InputError, match=r"'x_2' cannot be sent.*row 7"):
            model.ask(tables.read(table(x)))
    with (
        serving(V2Server(classifier, by_column=list("abcd"))) as (url, _),
        pytest.raises(InputError, match=r"names are not the names of the columns.*'a', 'b'"),
    ):
        open_endpoint(f"{url}/v2/models/iris").ask(tables.read(table(x)))


# MLflow's scoring server, as far as its form goes; test_endpoint_clients.py has the real one


def mlflow_like(predictions):
    return serving(lambda asked: (200, {"predictions": predictions(asked.body["dataframe_split"])}))


def test_rows_of_a_data_frame():
    def predictions(frame):
        assert frame["columns"] == ["age", "town"]
        assert frame["data"] == [[31, "Ulm"], [None, "Bonn"]]
        return [{"yes": 0.25, "no": 0.75}, {"yes": 0.5, "no": 0.5}]

    records = tables.read({"age": [31.0, np.nan], "town": ["Ulm", "Bonn"]})
    with mlflow_like(predictions) as (url, log):
        model = open_endpoint(url, api="mlflow", classes=["no", "yes"])
        found = model.ask(records)
    np.testing.assert_allclose(np.exp(found.log_probabilities), [[0.75, 0.25], [0.5, 0.5]])
    assert log[0].path == "/invocations"


@pytest.mark.parametrize(
    "labels", [[0, 2, 1], ["a", "b", "a"], [0.0, 1.0, 1.0], [True, False, True]]
)
@pytest.mark.parametrize("classes", [None, [0, 1]])
def test_predicted_classes_are_told_apart(labels, classes):
    with mlflow_like(lambda _: labels) as (url, _):
        model = open_endpoint(f"{url}/invocations", classes=classes)
        with pytest.raises(InputError, match="pyfunc_predict_fn='predict_proba'"):
            model.ask(tables.read({"x": [1.0, 2.0, 3.0]}))


def test_one_probability_per_record():
    with mlflow_like(lambda _: [0.25, 1.0]) as (url, _):
        found = open_endpoint(f"{url}/invocations", classes=["n", "y"]).ask(
            tables.read({"x": [1.0, 2.0]})
        )
    np.testing.assert_allclose(np.exp(found.log_probabilities), [[0.75, 0.25], [0, 1]], atol=1e-9)


# the client


def test_membership_is_the_same_as_with_the_local_model(rng, monkeypatch):
    monkeypatch.setenv("DIVULGE_TEST_KEY", KEY)
    x, y = rng.normal(size=(700, 4)), rng.integers(0, 3, 700)
    member = np.arange(700) < 350
    forest = RandomForestClassifier(20, random_state=0).fit(x[member], y[member])
    frame = table(x) | {"label": y, "member": member, "half": np.full(700, 0.5)}
    options = {"features": "x_*", "label": "label", "propensity": "half", "seed": 3}
    with serving(V2Server(forest)) as (url, log):
        model = open_endpoint(f"{url}/v2/models/iris", key_variable="DIVULGE_TEST_KEY", batch=100)
        shown = base.shown(model, tables.read(frame), ["x_*"], None, "the table")
        np.testing.assert_array_equal(
            base.ask(model, shown).log_probabilities,
            base.ask(adapt(forest), shown).log_probabilities,
        )
        remote = divulge.membership(frame, model=model, **options)
    local = divulge.membership(frame, model=forest, **options)
    assert remote.verdict.status == "leak"
    found, expected = remote.to_json(), local.to_json()
    assert found.pop("provenance")["model"] != expected.pop("provenance")["model"]
    assert found == expected
    assert {a.headers["authorization"] for a in log} == {f"Bearer {KEY}"}
    assert KEY not in json.dumps(remote.to_json())
    assert KEY not in repr(model)


def test_requests_run_side_by_side_but_never_more_than_allowed(language):
    inner, running, most, lock = CompletionsServer(language), [0], [0], threading.Lock()

    def answer(asked: Asked):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.05)
        with lock:
            running[0] -= 1
        return inner(asked)

    with serving(answer) as (url, _):
        model = open_endpoint(f"{url}/v1", name="bigrams", batch=1, connections=3)
        model.ask(tables.read({"text": texts(9)}))
    assert most[0] == 3


def test_rate(monkeypatch):
    now, slept = [100.0], []
    monkeypatch.setattr(endpoint_.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(endpoint_.time, "sleep", lambda s: (slept.append(s), now.append(0)))
    pace = endpoint_.Pace(4.0)
    for _ in range(4):
        pace.wait()
    np.testing.assert_allclose(slept, [0.0, 0.25, 0.5, 0.75])


def test_large_requests_are_cut(iris, monkeypatch):
    classifier, x, _ = iris
    monkeypatch.setattr(endpoint_, "MOST_SENT", 4000)
    with serving(V2Server(classifier)) as (url, log):
        answers = open_endpoint(f"{url}/v2/models/iris").ask(tables.read(table(x)))
    np.testing.assert_allclose(np.exp(answers.log_probabilities), classifier.predict_proba(x))
    assert all(int(a.headers.get("content-length", 0)) <= 4000 for a in log)


def test_many_classes():
    wide = np.full(5003, 1 / 5003).tolist()
    with mlflow_like(lambda frame: [wide] * len(frame["data"])) as (url, _):
        records = tables.read({"x": [1.0, 2.0]})
        with pytest.raises(InputError, match=r"bytes.*--with classes.*--with batch"):
            open_endpoint(f"{url}/invocations").ask(records)
        named = open_endpoint(f"{url}/invocations", classes=range(5003)).ask(records)
    np.testing.assert_allclose(np.exp(named.log_probabilities), 1 / 5003)


def test_another_header_for_the_key_and_the_query(iris, monkeypatch):
    monkeypatch.setenv("DIVULGE_TEST_KEY", KEY)
    inner = V2Server(iris[0])

    def answer(asked: Asked):
        path, _, query = asked.path.partition("?")
        assert query == "version=7&sig=hush"
        return inner(Asked(asked.method, path, asked.headers, asked.body))

    with serving(answer) as (url, log):
        model = open_endpoint(
            f"{url}/v2/models/iris?version=7&sig=hush",
            key_variable="DIVULGE_TEST_KEY",
            key_header="api-key",
        )
        model.ask(tables.read(table(iris[1])))
    assert all(a.headers["api-key"] == KEY and "authorization" not in a.headers for a in log)
    assert all(a.headers["accept-encoding"] == "identity" for a in log)
    assert "hush" not in repr(model)
    assert "hush" not in model.name


@pytest.mark.parametrize(
    ("url", "options", "words"),
    [
        ("http://u:pw@host/v1", {}, "must not hold a user name or password"),
        ("ftp://host/v1", {}, "http:// or https:// URL"),
        ("file:///etc/passwd", {}, "http:// or https:// URL"),
        ("http://host:99999/v1", {}, "malformed"),
        ("http://host/v1 x", {}, "plain ASCII"),
        ("http://127.0.0.1/", {}, "Which API"),
        ("http://127.0.0.1/", {"api": "rest"}, "api must be one of"),
        ("http://127.0.0.1/", {"api": "kserve"}, "Name the model"),
        ("http://127.0.0.1/v1/chat/completions", {}, "chat endpoint"),
        ("http://127.0.0.1/v1", {"key_variable": "NO_SUCH_KEY"}, "NO_SUCH_KEY holds no key"),
        ("http://127.0.0.1/v1", {"key_variable": "sk-12"}, "never the key itself"),
        ("http://10.0.0.1/v1", {"key_variable": "DIVULGE_TEST_KEY"}, "not encrypted"),
        ("http://127.0.0.1/v1", {"rate": 0}, "rate must be above 0"),
        ("http://127.0.0.1/v1", {"timeout": -1}, "timeout must be seconds"),
        ("http://127.0.0.1/v1", {"connections": 0}, "connections must be"),
        ("http://127.0.0.1/v1", {"batch": 0}, "batch must be"),
        ("http://127.0.0.1/v1", {"outputs": "odds"}, "outputs must be"),
        ("http://127.0.0.1/v1", {"classes": ["a"]}, "no classes"),
    ],
)
def test_what_is_refused_before_anything_is_sent(url, options, words, monkeypatch):
    monkeypatch.setenv("DIVULGE_TEST_KEY", KEY)
    with pytest.raises(InputError, match=words) as caught:
        open_endpoint(url, **options)
    assert not any(secret in str(caught.value) for secret in ("pw", "sk-12", KEY))
