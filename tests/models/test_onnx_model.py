"""ONNX models: matrices, named inputs, images; probabilities and logits; tensors elsewhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from model_data import NAMES, check_audit, expected, losses, members, three_classes, two_classes
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from divulge.data import tables
from divulge.errors import InputError
from divulge.models import load, rehearsal
from divulge.models import onnx as onnx_

onnx = pytest.importorskip("onnx", reason="onnx is in the extra onnx")
pytest.importorskip("onnxruntime", reason="onnxruntime is in the extra onnx")
pytestmark = pytest.mark.usefixtures("sound_files")


def converted(model, path, **options):
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is in the extra examples")
    made = skl2onnx.to_onnx(model, target_opset=17, **options)
    path.write_bytes(made.SerializeToString())
    return path


def linear(path, weights, *, rows="n", shape=(3,), softmax=True, external=None):
    """x -> x W, flattened first; the weights in the file or beside it."""
    helper = onnx.helper
    inside = [
        helper.make_node("Flatten", ["x"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["z"]),
    ]
    if softmax:
        inside.append(helper.make_node("Softmax", ["z"], ["probabilities"]))
    tensor = onnx.numpy_helper.from_array(np.asarray(weights, np.float32), "w")
    if external is not None:
        (path.parent / "weights.bin").write_bytes(tensor.raw_data)
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=external)
    graph = helper.make_graph(
        inside,
        "linear",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [rows, *shape])],
        [
            helper.make_tensor_value_info(
                "probabilities" if softmax else "z", onnx.TensorProto.FLOAT, [rows, 2]
            )
        ],
        [tensor],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


WEIGHTS = np.array([[1.0, -1.0], [0.5, 0.0], [0.0, 2.0]])
TABLE = pd.DataFrame(np.random.default_rng(0).normal(size=(7, 3)), columns=["a", "b", "c"]).assign(
    y=[0, 1, 1, 0, 1, 0, 0]
)


def by_hand(z, y):
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return expected(p, y)


@pytest.mark.parametrize("zipmap", [True, False])
def test_a_forest_from_the_file_to_the_verdict(tmp_path, zipmap):
    frame = two_classes()
    seen = members(frame)
    model = RandomForestClassifier(10, random_state=0).fit(seen[NAMES].to_numpy(), seen["y"])
    x = frame[NAMES].to_numpy(dtype=np.float32)
    path = converted(model, tmp_path / "m.onnx", X=x[:1], options={"zipmap": zipmap})
    read = load(path)
    own = np.clip(model.predict_proba(x), 1e-12, 1)
    found = np.minimum(losses(read, frame), -np.log(1e-12))
    assert found == pytest.approx(expected(own, frame["y"]), abs=1e-4)
    assert read.classes == ((0, 1) if zipmap else None)
    if zipmap:
        check_audit(read, frame)


def test_three_classes_have_their_names(tmp_path):
    frame, names = three_classes(), NAMES[:4]
    codes = frame["y"].to_numpy()
    frame["y"] = np.array(["tulip", "rose", "lily"])[codes]
    model = LogisticRegression(max_iter=500).fit(frame[names].to_numpy(), frame["y"])
    x = frame[names].to_numpy(dtype=np.float32)
    read = load(converted(model, tmp_path / "m.onnx", X=x[:1]))
    assert read.classes == ("lily", "rose", "tulip")
    own = expected(model.predict_proba(x), 2 - codes)
    assert losses(read, frame, names) == pytest.approx(own, abs=1e-4)


def test_an_input_per_column_takes_text_and_numbers(tmp_path):
    types = pytest.importorskip(
        "skl2onnx.common.data_types", reason="skl2onnx is in the extra examples"
    )
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.choice(["a", "b", "c"], 60), "v": rng.normal(size=60)})
    frame["y"] = ((frame["c"] == "b") ^ (frame["v"] > 0)).astype(int)
    encode = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression()).fit(frame[["c", "v"]], frame["y"])
    inputs = [("c", types.StringTensorType([None, 1])), ("v", types.FloatTensorType([None, 1]))]
    read = load(converted(model, tmp_path / "m.onnx", initial_types=inputs))
    own = expected(model.predict_proba(frame[["c", "v"]]), frame["y"])
    assert losses(read, frame, ["v", "c"]) == pytest.approx(own, abs=1e-4)
    with pytest.raises(InputError, match="no column 'v'"):
        losses(read, frame, ["c"])


@pytest.mark.parametrize("rows", ["n", 1, 4])
def test_rows_are_asked_in_the_number_that_the_model_reads(tmp_path, rows):
    read = load(linear(tmp_path / "m.onnx", WEIGHTS, rows=rows))
    own = by_hand(TABLE[["a", "b", "c"]].to_numpy() @ WEIGHTS, TABLE["y"])
    assert losses(read, TABLE, ["a", "b", "c"]) == pytest.approx(own, abs=1e-5)


def test_lists_take_the_shape_of_the_input(tmp_path):
    rng = np.random.default_rng(1)
    images, weights = rng.normal(size=(5, 12)), rng.normal(size=(12, 2))
    table = tables.read({"image": images, "y": np.array([0, 1, 0, 1, 1])})
    read = load(linear(tmp_path / "m.onnx", weights, shape=(1, 3, 4)))
    own = by_hand(images @ weights, table["y"].to_list())
    assert losses(read, table, ["image"]) == pytest.approx(own, abs=1e-5)
    other = load(linear(tmp_path / "o.onnx", rng.normal(size=(16, 2)), shape=(1, 4, 4)))
    with pytest.raises(InputError, match=r"1 x 4 x 4 numbers per record\. Found 12"):
        losses(other, table, ["image"])


def test_logits_must_be_said_to_be_logits(tmp_path):
    path = linear(tmp_path / "m.onnx", WEIGHTS, softmax=False)
    with pytest.raises(InputError, match="--with outputs=logits"):
        losses(load(path), TABLE, ["a", "b", "c"])
    own = by_hand(TABLE[["a", "b", "c"]].to_numpy() @ WEIGHTS, TABLE["y"])
    read = load(path, outputs="logits")
    assert losses(read, TABLE, ["a", "b", "c"]) == pytest.approx(own, abs=1e-5)
    with pytest.raises(InputError, match="Unknown outputs"):
        load(path, outputs="words")


def test_tensors_in_a_file_beside_the_model(tmp_path):
    own = by_hand(TABLE[["a", "b", "c"]].to_numpy() @ WEIGHTS, TABLE["y"])
    read = load(linear(tmp_path / "m.onnx", WEIGHTS, external="weights.bin"))
    assert losses(read, TABLE, ["a", "b", "c"]) == pytest.approx(own, abs=1e-5)


@pytest.mark.parametrize("place", ["../weights.bin", "absent.bin", "/etc/hostname", "link.bin"])
def test_tensors_elsewhere_are_refused(tmp_path, place):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "weights.bin").write_bytes(bytes(24))
    (folder / "link.bin").symlink_to(tmp_path / "weights.bin")
    with pytest.raises(InputError, match="not a file in its own folder"):
        load(linear(folder / "m.onnx", WEIGHTS, external=place))


def test_operators_of_somebody_else_are_refused(tmp_path):
    path = linear(tmp_path / "m.onnx", WEIGHTS)
    model = onnx.load(path)
    model.graph.node[1].domain = "somebody.else"
    model.opset_import.add(domain="somebody.else", version=1)
    path.write_bytes(model.SerializeToString())
    with pytest.raises(InputError, match="Cannot load"):
        load(path)


def graph(path, nodes, constants, *, width="w"):
    """x -> probabilities of as many columns, through nodes that make y of it."""
    helper, numbers = onnx.helper, onnx.TensorProto.FLOAT
    made = helper.make_graph(
        [*nodes, helper.make_node("Softmax", ["y"], ["probabilities"])],
        "hostile",
        [helper.make_tensor_value_info("x", numbers, ["n", width])],
        [helper.make_tensor_value_info("probabilities", numbers, ["n", width])],
        [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def endless(path, **options):
    """A loop that goes on as long as its condition holds, which is for ever."""
    helper, numbers, truth = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.BOOL
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["on"]),
            helper.make_node("Mul", ["s", "one"], ["t"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
            helper.make_tensor_value_info("go", truth, []),
            helper.make_tensor_value_info("s", numbers, None),
        ],
        [
            helper.make_tensor_value_info("on", truth, []),
            helper.make_tensor_value_info("t", numbers, None),
        ],
        [onnx.numpy_helper.from_array(np.float32(1), "one")],
    )
    node = helper.make_node("Loop", ["most", "yes", "x"], ["y"], body=body)
    return graph(path, [node], {"most": np.int64(2**62), "yes": np.array(True)}, **options)


def swelling(path, **options):
    """Numbers as many as the square of a constant, which no input names."""
    helper = onnx.helper
    one = onnx.numpy_helper.from_array(np.array([1], np.float32))
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["many"], value=one),
        helper.make_node("ReduceSum", ["many"], ["sum"], keepdims=0),
        helper.make_node("Add", ["x", "sum"], ["y"]),
    ]
    return graph(path, nodes, {"shape": np.array([300_000, 300_000])}, **options)


def test_a_loop_has_a_deadline(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_, "SECONDS", 1.0)
    read = load(endless(tmp_path / "m.onnx"))
    with pytest.raises(InputError, match=r"m\.onnx did not finish within 1 seconds"):
        losses(read, TABLE, ["a", "b", "c"])


def test_a_graph_that_grows_is_stopped(tmp_path):
    read = load(swelling(tmp_path / "m.onnx"))
    with pytest.raises(InputError, match=r"more than half of the memory.*DIVULGE_BUDGET"):
        losses(read, TABLE, ["a", "b", "c"])


@pytest.mark.slow
def test_the_rehearsal_stops_a_loop_of_unknown_width(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_, "rehearse", rehearsal.rehearse)
    monkeypatch.setattr(rehearsal, "SECONDS", 4.0)
    with pytest.raises(InputError, match="did not finish within 4 seconds of work"):
        load(endless(tmp_path / "m.onnx"))


@pytest.mark.parametrize("width", ["w", 3])
def test_the_rehearsal_notices_growth_whatever_the_width(tmp_path, monkeypatch, width):
    monkeypatch.setattr(onnx_, "rehearse", rehearsal.rehearse)
    with pytest.raises(InputError, match="memory"):
        load(swelling(tmp_path / "m.onnx", width=width))


def test_a_model_of_any_width_passes_the_rehearsal(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_, "rehearse", rehearsal.rehearse)
    read = load(linear(tmp_path / "m.onnx", WEIGHTS, shape=("w",)))
    own = by_hand(TABLE[["a", "b", "c"]].to_numpy() @ WEIGHTS, TABLE["y"])
    assert losses(read, TABLE, ["a", "b", "c"]) == pytest.approx(own, abs=1e-5)
    many = pd.concat([TABLE] * 40)
    assert losses(read, many, ["a", "b", "c"]) == pytest.approx(np.tile(own, 40), abs=1e-5)
