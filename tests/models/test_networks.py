"""PyTorch networks from exported programs and from safetensors weights with a class."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from model_data import NAMES, check_audit, expected, losses, two_classes

from divulge.data import tables
from divulge.errors import InputError
from divulge.models import layout, load
from divulge.models.networks import Network

torch = pytest.importorskip("torch", reason="torch is in the extra torch")
safetensors = pytest.importorskip("safetensors.torch", reason="safetensors is in the extra torch")

from own_network import Small, Sure  # noqa: E402 - needs torch


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return Small().eval()


def own_losses(network, frame):
    with torch.no_grad():
        logits = network(torch.tensor(frame[NAMES].to_numpy(), dtype=torch.float32)).double()
    return expected(logits.softmax(1).numpy(), frame["y"])


def exported(network, path, rows=6, dynamic=True, shape=(5,)):
    shapes = ({0: torch.export.Dim("n", min=2)},) if dynamic else None
    made = torch.export.export(network, (torch.zeros(rows, *shape),), dynamic_shapes=shapes)
    torch.export.save(made, path)
    return path


@pytest.mark.parametrize("dynamic", [pytest.param(True, marks=pytest.mark.slow), False])
def test_an_exported_program(tmp_path, network, dynamic):
    frame = two_classes()
    read = load(exported(network, tmp_path / "model.pt2", dynamic=dynamic))
    assert losses(read, frame) == pytest.approx(own_losses(network, frame), abs=1e-5)
    assert losses(read, frame[:1]) == pytest.approx(own_losses(network, frame[:1]), abs=1e-5)
    with pytest.raises(InputError, match="reads 5 numbers per record"):
        losses(read, frame, NAMES[:4])
    if dynamic:
        check_audit(read, frame)


def test_an_exported_program_that_reads_images(tmp_path):
    torch.manual_seed(1)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(1, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, 4),
    ).eval()  # fmt: skip
    images = np.random.default_rng(0).normal(size=(5, 64))
    table = tables.read({"image": images, "y": np.array([0, 1, 2, 3, 0])})
    read = load(exported(network, tmp_path / "model.pt2", shape=(1, 8, 8)))
    with torch.no_grad():
        x = torch.tensor(images, dtype=torch.float32).reshape(5, 1, 8, 8)
        own = expected(network(x).double().softmax(1).numpy(), table["y"].to_list())
    assert losses(read, table, ["image"]) == pytest.approx(own, abs=1e-5)


def test_small_records_are_read_in_large_portions_and_shown_in_small_ones(network, monkeypatch):
    x = np.random.default_rng(0).normal(size=(2500, 5))
    table = tables.read({**dict(zip(NAMES, x.T, strict=True)), "y": np.arange(2500) % 2})
    shown = []

    class Counting(torch.nn.Module):
        def forward(self, rows):
            shown.append(len(rows))
            return network(rows)

    with torch.no_grad():
        logits = network(torch.tensor(x, dtype=torch.float32)).double()
    own = expected(logits.softmax(1).numpy(), table["y"].to_list())
    read = Network(Counting(), "the network")
    assert losses(read, table) == pytest.approx(own, abs=1e-5)
    assert shown == [1024, 1024, 452]
    monkeypatch.setattr("divulge.models.layout.CELLS", 5 * 2048)
    shown.clear()
    assert losses(read, table[:2049]) == pytest.approx(own[:2049], abs=1e-5)
    assert shown == [1024, 1024, 2]  # never one row alone


def test_large_records_are_read_in_small_portions():
    records = tables.read({"a": np.arange(10.0)})
    for shape, sizes in (((1,), [10]), ((layout.CELLS,), [4, 4, 2]), ((3, None), [4, 4, 2])):
        assert [len(some) for some in layout.portions(records, shape, 4)] == sizes


def test_a_network_answers_once_per_record():
    wide = Network(torch.nn.Flatten(0), "the network")
    with pytest.raises(InputError, match=r"one row per record. Found torch.Size\(\[15\]\)"):
        wide.ask(tables.read(np.zeros((3, 5))))


def test_probabilities_are_read_where_they_are_said_to_be(tmp_path, network):
    sure = Sure()
    sure.load_state_dict(network.state_dict())
    path = exported(sure.eval(), tmp_path / "model.pt2")
    frame = two_classes()
    read = load(path, outputs="probabilities")
    assert losses(read, frame) == pytest.approx(own_losses(network, frame), abs=1e-4)


def test_weights_and_their_class(tmp_path, network):
    frame = two_classes()
    safetensors.save_file(network.state_dict(), tmp_path / "m.safetensors")
    read = load(tmp_path / "m.safetensors", class_name="own_network:Small")
    assert losses(read, frame) == pytest.approx(own_losses(network, frame), abs=1e-5)
    check_audit(read, frame)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "name the class"),
        ({"class_name": "own_network"}, "module:name"),
        ({"class_name": "own_network:Absent"}, "no attribute 'Absent'"),
        ({"class_name": "no_such_module:Small"}, "no module 'no_such_module'"),
        ({"class_name": "json:JSONDecoder"}, "must be a class of torch modules"),
        ({"class_name": "own_network:Small", "class_arguments": "{"}, "not JSON"),
        ({"class_name": "own_network:Small", "class_arguments": "[1]"}, "JSON object"),
        ({"class_name": "own_network:Small", "class_arguments": '{"depth": 1}'}, "Cannot build"),
        ({"class_name": "own_network:Small", "class_arguments": '{"width": 9}'}, "first.bias"),
        ({"class_name": "torch.nn:Identity"}, "first.bias"),
    ],
    ids=str,
)
def test_weights_and_class_must_match(tmp_path, network, given, message):
    safetensors.save_file(network.state_dict(), tmp_path / "m.safetensors")
    with pytest.raises(InputError, match=message):
        load(tmp_path / "m.safetensors", **given)


@pytest.mark.parametrize("name", ["model.pt", "model.pth", "model.ckpt"])
def test_pickles_are_refused(tmp_path, network, name):
    torch.save(network.state_dict(), tmp_path / name)
    with pytest.raises(InputError, match="can run any code"):
        load(tmp_path / name)


def altered(path, member, change):
    """Another archive with one member altered; without ``change``, with one more."""
    with zipfile.ZipFile(path) as archive:
        files = {n: archive.read(n) for n in archive.namelist()}
    name = f"{next(iter(files)).partition('/')[0]}/{member}"
    files[name] = change(files.get(name, b""))
    out = path.with_name("altered.pt2")
    with zipfile.ZipFile(out, "w") as archive:
        for n, data in files.items():
            archive.writestr(n, data)
    return out


def graph(change):
    def altering(data):
        found = json.loads(data)
        change(found)
        return json.dumps(found).encode()

    return altering


def node(found):
    return found["graph_module"]["graph"]["nodes"][0]


SYSTEM = "__import__('os').system('touch trap')"


@pytest.mark.parametrize(
    ("member", "change", "message"),
    [
        ("data/aotinductor/model/code.so", lambda _: b"x", "neither a tensor nor the graph"),
        ("data/weights/model.pt", lambda _: b"x", "neither a tensor nor the graph"),
        ("data/constants/custom_obj_0", lambda _: b"x", "neither a tensor nor the graph"),
        ("data/constants/opaque_obj_0", lambda _: b"x", "neither a tensor nor the graph"),
        (
            "data/weights/model_weights_config.json",
            lambda d: d.replace(b'"use_pickle": false', b'"use_pickle": true'),
            "as a pickle",
        ),
        ("models/model.json", graph(lambda g: node(g).update(target="torch.os.system")), "calls"),
        (
            "models/model.json",
            graph(lambda g: node(g).update(target="torch.ops.aten.from_file.default")),
            "calls",
        ),
        (
            "models/model.json",
            graph(lambda g: node(g).update(target="torch.ops.aten.save.default")),
            "calls",
        ),
        ("models/model.json", graph(lambda g: node(g).update(name=SYSTEM)), "could become code"),
        (
            "models/model.json",
            lambda d: d.replace(b"Symbol('s", b"[c for c in ().__class__.__mro__] + Symbol('s"),
            "could become code",
        ),
        (
            "models/model.json",
            lambda d: d.replace(b'"forward_arg_names": ["x"]', b'"forward_arg_names": ["x=f()"]'),
            "could become code",
        ),
        ("models/model.json", lambda d: d[:100], "Cannot load"),
        ("models/model.json", lambda _: b"[" * 100_000, "Cannot load"),
    ],
)  # fmt: skip
def test_what_could_run_code_in_an_exported_program_is_refused(
    tmp_path, network, member, change, message, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    path = exported(network, tmp_path / "model.pt2")
    with pytest.raises(InputError, match=message):
        load(altered(path, member, change))
    assert not (tmp_path / "trap").exists()


def test_guards_and_sample_inputs_are_never_looked_at(tmp_path, network, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = exported(network, tmp_path / "model.pt2")
    guarded = altered(path, "models/model.json", graph(lambda g: g.update(guards_code=[SYSTEM])))
    sampled = altered(
        guarded, "data/sample_inputs/model.pt", lambda _: b"cos\nsystem\n(S'touch trap'\ntR."
    )
    frame = two_classes()
    assert losses(load(sampled), frame) == pytest.approx(own_losses(network, frame), abs=1e-5)
    assert not (tmp_path / "trap").exists()
