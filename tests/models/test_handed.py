"""One way to hand over a model: every game takes it in every form, and its result names it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from commands import run
from hostile import csv
from sklearn.linear_model import LogisticRegression

import divulge
from divulge.errors import InputError
from divulge.models.handed import described, handed, open_model

RNG = np.random.default_rng(3)
X = RNG.normal(size=(600, 2))
Y = (X[:, 0] + RNG.normal(size=600) > 0).astype(int)
TABLE = {"x_0": X[:, 0], "x_1": X[:, 1], "y": Y}
FITTED = LogisticRegression().fit(X, Y)
MODULE = """
import numpy as np

classes = (0, 1)


def chances(rows):
    p = 1.0 / (1.0 + np.exp(-np.asarray(rows["x_0"].to_pylist())))
    return np.column_stack([1.0 - p, p])


class Fixed:
    classes_ = np.array([0, 1])

    def predict_proba(self, x):
        p = 1.0 / (1.0 + np.exp(-np.asarray(x)[:, 0]))
        return np.column_stack([1.0 - p, p])


fixed = Fixed()
"""


def chances(rows):
    p = 1.0 / (1.0 + np.exp(-np.asarray(rows["x_0"].to_pylist())))
    return np.column_stack([1.0 - p, p])


def loss(rows):
    return np.abs(np.asarray(rows["x_0"].to_pylist()))


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "own_chances.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def test_a_place_as_text_is_a_source(tmp_path):
    assert handed("own:model") == divulge.Source("own:model")
    assert handed(tmp_path / "m.skops") == divulge.Source(str(tmp_path / "m.skops"))
    assert handed(FITTED) is FITTED
    assert open_model(FITTED, "the target").name == "the target"


def test_what_a_result_says_of_a_model(tmp_path):
    secret = divulge.Source("https://models.example.org/v1?key=abc123")
    assert described(secret) == {"kind": "endpoint", "name": "https://models.example.org/v1"}
    about = described(FITTED)
    assert about["kind"] == "object"
    assert about["name"].endswith("LogisticRegression")
    assert len(about["fingerprint"]) == 32
    assert described(loss)["kind"] == "function"
    assert described(loss)["name"].endswith("test_handed.loss")
    file = tmp_path / "m.onnx"
    file.write_bytes(b"not looked at")
    assert described(file) == {
        "kind": "onnx", "name": "m.onnx", "sha256": divulge.Source(str(file)).fingerprint(),
    }  # fmt: skip


@pytest.mark.parametrize(
    "model", ["own_chances:fixed", FITTED, chances], ids=["text", "fit", "fun"]
)
def test_attribute_takes_a_model_in_every_form(model, module):
    found = divulge.attribute(
        TABLE, label="y", features="x_*", model=model, proxy_exact=True,
        proxy_model=divulge.Source("own_chances:chances") if model is FITTED else FITTED, repeats=1,
    )  # fmt: skip
    assert found.provenance["model"] == described(model)
    assert found.trials


def test_a_function_of_losses_cannot_be_the_target_of_attribute():
    with pytest.raises(InputError, match="not give a probability per class"):
        divulge.attribute(TABLE, label="y", features="x_*", model=loss)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["own_chances:fixed", FITTED, loss], ids=["text", "fit", "fun"])
def test_synthetic_takes_a_model_in_every_form(model, module):
    other = RNG.normal(size=(600, 2))
    made = {"x_0": other[:, 0], "x_1": other[:, 1], "y": RNG.permutation(Y)}
    found = divulge.synthetic(
        TABLE, generated=made, model=model, label=None if model is loss else "y", features="x_*"
    )
    assert found.provenance["model"] == described(model)


def test_membership_takes_a_place_as_text(module):
    table = {**{k: v[:80] for k, v in TABLE.items()}, "member": np.arange(80) % 2}
    given = {"label": "y", "features": "x_*"}
    by_text = divulge.membership(table, model="own_chances:fixed", **given)
    by_source = divulge.membership(table, model=divulge.Source("own_chances:fixed"), **given)
    assert by_text.to_json() == by_source.to_json()
    assert by_text.provenance["model"] == {"kind": "callable", "name": "own_chances:fixed"}
    with pytest.raises(InputError, match="name them as attack"):
        divulge.membership(table, model="own_chances:fixed", score="loss", **given)


def test_a_result_without_a_conclusion_names_the_model_too(module, tmp_path):
    (tmp_path / "t.csv").write_bytes(csv({k: v[:30] for k, v in TABLE.items()}))
    words = ["attribute", "t.csv", "--label", "y", "--features", "x_*", "--model",
             "own_chances:fixed", "--out", "r.json"]  # fmt: skip
    assert run(*words, cwd=tmp_path).returncode == 3
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["provenance"]["model"]["name"] == "own_chances:fixed"
