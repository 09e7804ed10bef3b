"""One description for every kind of model: recognised, opened once, fingerprinted."""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
from types import ModuleType

import joblib
import pytest
from model_data import NAMES, members, two_classes
from sklearn.linear_model import LogisticRegression

from divulge.errors import InputError, MissingExtra
from divulge.models import Source, load
from divulge.models.source import KINDS, recognise


@pytest.fixture
def path(tmp_path):
    seen = members(two_classes())
    place = tmp_path / "model.joblib"
    joblib.dump(LogisticRegression(max_iter=500).fit(seen[NAMES], seen["y"]), place)
    return place


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("https://example.org/v1", "endpoint"),
        ("http://127.0.0.1:8000/invocations", "endpoint"),
        ("package.module:model", "callable"),
        ("model.skops", "skops"),
        ("model.PKL", "pickle"),
        ("model.ubj", "xgboost"),
        ("model.txt", "lightgbm"),
        ("model.cbm", "catboost"),
        ("model.onnx", "onnx"),
        ("model.pt2", "export"),
        ("model.safetensors", "safetensors"),
    ],
)
def test_kinds_are_recognised(where, kind):
    assert recognise(where) == kind


def test_json_is_told_apart_by_content(tmp_path):
    place = tmp_path / "model.json"
    for content, kind in (({"learner": {}}, "xgboost"), ({"model_info": {}}, "catboost")):
        place.write_text(json.dumps(content))
        assert recognise(str(place)) == kind
    for content, message in (("{}", "neither"), ("[1]", "neither"), ("{", "not JSON")):
        place.write_text(content)
        with pytest.raises(InputError, match=message):
            recognise(str(place))
    assert recognise(str(tmp_path)) == "hub"


def test_unknown_kinds_list_the_known(tmp_path):
    with pytest.raises(InputError, match="Choose from skops, pickle, xgboost"):
        Source("model.skops", kind="words").open()
    (tmp_path / "model").write_bytes(b"")
    with pytest.raises(InputError, match=r"Cannot tell what kind.*safetensors"):
        Source(str(tmp_path / "model")).open()
    for name in ("absent", "absent.cbm", "absent.json"):
        with pytest.raises(InputError, match="no file"):
            Source(str(tmp_path / name)).open()


def test_a_kind_can_be_said(path):
    other = path.rename(path.with_suffix(".what"))
    assert load(other, kind="pickle", allow_pickle=True).classes_.tolist() == [0, 1]


def test_a_source_travels_and_opens_once(path):
    source = Source(str(path), allow_pickle=True, options={"rate": 1})
    again = pickle.loads(pickle.dumps(source))
    assert again == source
    assert again.open() is source.open()
    other = Source(str(path), allow_pickle=True)
    assert other.open() is not source.open()
    joblib.dump(LogisticRegression().fit([[0.0] * 5, [1.0] * 5], [0, 1]), path)
    assert again.open().model.coef_ == pytest.approx(load(path, allow_pickle=True).coef_)


def test_fingerprints(path, tmp_path):
    assert Source(str(path)).fingerprint() == hashlib.sha256(path.read_bytes()).hexdigest()
    folder = tmp_path / "folder"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a").write_text("1")
    first = Source(str(folder)).fingerprint()
    (folder / "in" / "a").rename(folder / "in" / "b")
    assert Source(str(folder)).fingerprint() != first
    assert Source("own_models:losses").fingerprint() is None
    assert Source("https://example.org/v1").fingerprint() is None


def test_classes_can_be_named_where_the_model_does_not(path):
    with pytest.raises(InputError, match="names its own classes"):
        Source(str(path), allow_pickle=True, classes=("a", "b")).open()


def test_an_endpoint_is_given_its_options(monkeypatch):
    seen = {}
    module = ModuleType("divulge.models.endpoints")

    def open_endpoint(url, **options):
        seen.update(options, url=url)
        return lambda rows: rows

    module.open_endpoint = open_endpoint
    monkeypatch.setitem(sys.modules, "divulge.models.endpoints", module)
    Source("https://example.org/v1", outputs="logits", options={"api": "openai"}).open()
    assert seen == {"url": "https://example.org/v1", "outputs": "logits", "api": "openai"}


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("m.ubj", "xgboost", "xgboost"),
        ("m.txt", "lightgbm", "lightgbm"),
        ("m.cbm", "catboost", "catboost"),
        ("m.onnx", "onnxruntime", "onnx"),
        ("m.pt2", "torch", "torch"),
        ("m.safetensors", "torch", "torch"),
        ("m.skops", "skops.io", "models"),
    ],
)
def test_a_missing_package_names_its_extra(tmp_path, monkeypatch, name, package, extra):
    (tmp_path / name).write_bytes(b"{}")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"divulge\[{extra}\]"):
        load(tmp_path / name)


def test_every_kind_has_an_opener():
    assert set(KINDS) >= {"endpoint", "callable", "hub", "export", "safetensors"}
