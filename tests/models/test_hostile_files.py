"""Files that are damaged or made to do harm: one clear error, nothing run, nothing huge."""

from __future__ import annotations

import io
import json
import os
import pickle
import tracemalloc
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from model_data import NAMES, members, two_classes
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from divulge.data import tables
from divulge.errors import InputError
from divulge.models import archives, load, rehearsal

PACKAGES = {
    "skops": ("skops",),
    "json": ("xgboost",),
    "ubj": ("xgboost",),
    "txt": ("lightgbm",),
    "cbm": ("catboost",),
    "onnx": ("onnx", "onnxruntime", "skl2onnx"),
    "pt2": ("torch",),
    "safetensors": ("torch", "safetensors"),
}


def need(kind):
    for package in PACKAGES[kind]:
        pytest.importorskip(package, reason=f"{package} is not installed")


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self):
        return (os.mkdir, (str(self.place),))


@pytest.mark.parametrize("protocol", [0, 4])
@pytest.mark.parametrize("kind", [*PACKAGES, "pkl", "joblib", "pt", "pth", "bin"])
def test_a_pickle_by_any_name_is_refused_and_runs_nothing(tmp_path, kind, protocol):
    if kind in PACKAGES:
        need(kind)
    trap = tmp_path / "sprung"
    place = tmp_path / f"model.{kind}"
    place.write_bytes(pickle.dumps(Trap(trap), protocol=protocol))
    with pytest.raises(InputError):
        load(place, class_name="torch.nn:Identity")
    assert not trap.exists()
    pickle.loads(place.read_bytes())  # the trap works
    assert trap.exists()


def saved(kind, place):
    """A small sound model of each kind."""
    frame = two_classes()
    seen = members(frame)
    x, y = seen[NAMES].to_numpy(), seen["y"].to_numpy()
    if kind in ("json", "ubj"):
        import xgboost

        xgboost.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(x, y).save_model(place)
    elif kind == "txt":
        import lightgbm

        options = {"objective": "binary", "verbose": -1, "num_threads": 1}
        lightgbm.train(options, lightgbm.Dataset(x, y), 4).save_model(place)
    elif kind == "cbm":
        import catboost

        model = catboost.CatBoostClassifier(
            iterations=4, depth=3, verbose=0, allow_writing_files=False
        )
        model.fit(x, y).save_model(place)
    elif kind == "onnx":
        import skl2onnx

        forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(x, y)
        made = skl2onnx.to_onnx(forest, x[:1].astype(np.float32), target_opset=17)
        place.write_bytes(made.SerializeToString())
    elif kind == "skops":
        import skops.io

        skops.io.dump(LogisticRegression(max_iter=500).fit(x, y), place)
    elif kind == "pt2":
        import torch

        torch.export.save(torch.export.export(torch.nn.Linear(5, 2), (torch.zeros(3, 5),)), place)
    else:
        import safetensors.torch
        import torch

        safetensors.torch.save_file(torch.nn.Linear(5, 2).state_dict(), place)
    return place


LINEAR = {"class_name": "torch.nn:Linear", "class_arguments": '{"in_features":5,"out_features":2}'}


@pytest.mark.parametrize(
    "shares", [(0.0, 0.55), pytest.param((0.2, 0.9), marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize("kind", PACKAGES)
def test_a_sound_file_passes_and_a_truncated_one_is_an_error(tmp_path, kind, shares):
    """Each is opened in a process of its own, which takes a second."""
    need(kind)
    place = saved(kind, tmp_path / f"model.{kind}")
    assert load(place, **LINEAR) is not None
    whole = place.read_bytes()
    for share in shares:
        place.write_bytes(whole[: int(share * len(whole))])
        if kind == "txt" and b"\nend of trees\n" in place.read_bytes():
            continue  # what follows are the parameters of training
        with pytest.raises(InputError, match="Cannot load"):
            load(place, **LINEAR)


def header(words, data=bytes(48)):
    text = json.dumps(words).encode()
    return len(text).to_bytes(8, "little") + text + data


def tensor(shape, start, stop):
    return {"dtype": "F32", "shape": shape, "data_offsets": [start, stop]}


@pytest.mark.parametrize(
    "content",
    [
        (1 << 60).to_bytes(8, "little") + b"{}",
        (1 << 27).to_bytes(8, "little") + b"{}",
        header({"weight": tensor([2, 5], 0, 1 << 50), "bias": tensor([2], 40, 48)}),
        header({"weight": tensor([1 << 40, 5], 0, 40), "bias": tensor([2], 40, 48)}),
        header({"weight": tensor([2, 5], 8, 48), "bias": tensor([2], 0, 16)}),
        header({"weight": tensor([2, 5], -40, 0), "bias": tensor([2], 40, 48)}),
        header({"weight": {"dtype": "O", "shape": [], "data_offsets": [0, 48]}}),
        header([1, 2]),
    ],
)
def test_safetensors_that_lie_about_their_size(tmp_path, content):
    need("safetensors")
    place = tmp_path / "model.safetensors"
    place.write_bytes(content)
    with pytest.raises(InputError, match="Cannot load"):
        load(place, **LINEAR)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("crash", r"library crashed \(exit code -11\)"),
        ("swell", "more memory than a file of its size"),
        ("ask", "RuntimeError: first line$"),
    ],
)
def test_what_a_library_does_to_the_rehearsal_becomes_words(tmp_path, what, message):
    place = tmp_path / "model.own"
    place.write_text(what)
    with pytest.raises(InputError, match=message):
        rehearsal.rehearse("own_native", place)
    place.write_text("nothing")
    rehearsal.rehearse("own_native", place)


@pytest.mark.slow
def test_a_rehearsal_comes_to_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(rehearsal, "SECONDS", 1.0)
    place = tmp_path / "model.own"
    place.write_text("loop")
    with pytest.raises(InputError, match="did not finish"):
        rehearsal.rehearse("own_native", place)


def zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("_json", ".json").replace("_npz", ".npz"), data)
    return buffer.getvalue()


def listed(name, content):
    return {
        "__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "__id__": name,
        "content": content,
    }  # fmt: skip


def laughing(depth):
    """Lists of two mentions each of the list before: 2 to the power of the depth when followed."""
    node = listed(0, [])
    for k in range(1, depth):
        node = listed(k, [node, listed(k - 1, [])])
    return json.dumps({**node, "protocol": 2, "_skops_version": "0.16"})


def matryoshka(depth):
    """Archives in archives, each of which unpacks to a hundred times as much."""
    inner = bytes(60 << 20)
    for _ in range(depth):
        inner = zipped(a_npz=inner)
    return inner


SKOPS = {
    "nested": (lambda: zipped(schema_json=b"{}", x_npz=matryoshka(2)), "archive in an archive"),
    "many": (
        lambda: zipped(schema_json=b"{}", **{f"x{k}_npz": matryoshka(1) for k in range(3)}),
        "claims to unpack to",
    ),
    "laughs": (lambda: zipped(schema_json=laughing(60)), "refer to each other so often"),
    "circle": (
        lambda: zipped(schema_json=json.dumps(listed(0, [listed(1, [listed(0, [])])]))),
        "or in a cycle",
    ),
    "words": (lambda: zipped(schema_json=b"[" + b"[]," * (3 << 20) + b"[]]"), "its description"),
    "deep": (lambda: zipped(schema_json=b"[" * 100_000 + b"]" * 100_000), "RecursionError"),
    "crowd": (lambda: zipped(**{f"x{k}": b"" for k in range(300)}), "holds 300 files"),
}


@pytest.mark.parametrize("name", SKOPS)
def test_a_small_skops_archive_cannot_become_large(tmp_path, monkeypatch, name):
    need("skops")
    monkeypatch.setattr(archives, "MEMBERS", 256)
    made, message = SKOPS[name]
    place = tmp_path / "model.skops"
    place.write_bytes(made())
    tracemalloc.start()
    with pytest.raises(InputError, match=message):
        load(place)
    assert tracemalloc.get_traced_memory()[1] < 200 << 20
    tracemalloc.stop()


def test_a_budget_can_be_raised(tmp_path, monkeypatch):
    need("skops")
    monkeypatch.setattr(archives, "MEMBERS", 256)
    place = tmp_path / "model.skops"
    place.write_bytes(SKOPS["crowd"][0]())
    with pytest.raises(InputError, match="DIVULGE_BUDGET=10"):
        load(place)
    monkeypatch.setenv("DIVULGE_BUDGET", "10")
    with pytest.raises(InputError, match="Cannot load") as later:
        load(place)
    assert "300 files" not in str(later.value)
    for wrong in ("much", "0", "nan", "-1"):
        monkeypatch.setenv("DIVULGE_BUDGET", wrong)
        with pytest.raises(InputError, match="DIVULGE_BUDGET must be a number"):
            load(place)


@pytest.mark.parametrize("kind", [*PACKAGES, "pkl", "csv", "parquet"])
def test_what_is_not_a_file_is_not_read(tmp_path, kind):
    if kind in PACKAGES:
        need(kind)
    read = tables.read if kind in ("csv", "parquet") else partial(load, allow_pickle=True, **LINEAR)
    pipe, device = tmp_path / f"pipe.{kind}", tmp_path / f"device.{kind}"
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    for place, what in ((pipe, "a pipe"), (device, "a device")):
        with pytest.raises(InputError, match=f"it is {what}, not a file"):
            read(place)
        with pytest.raises(InputError, match=f"it is {what}, not a file"):
            tables.fingerprint(place, None, "")
