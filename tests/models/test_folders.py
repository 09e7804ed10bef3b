"""Hugging Face folders made to do harm: nothing fetched, nothing outside read, nothing huge."""

from __future__ import annotations

import json
import os
import shutil
import socket

import numpy as np
import pytest

from divulge.data import tables
from divulge.errors import InputError
from divulge.models import Source, folders, load

torch = pytest.importorskip("torch", reason="torch is in the extra language")
transformers = pytest.importorskip("transformers", reason="transformers is in the extra language")

KERNEL = "kernels-community/flash-attn"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    from divulge.models import finetune

    words = finetune.byte_pairs(["a single man in want of a wife"] * 20, 320)
    network = finetune.tiny(320, 24, np.random.default_rng(1), layers=1, width=16, heads=2)
    return finetune.save(network, words, tmp_path_factory.mktemp("sound"))


@pytest.fixture
def place(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "model")


@pytest.fixture(autouse=True)
def reached(monkeypatch):
    """Every attempt to reach another machine; there must be none."""
    found = []

    def refuse(*args, **_):
        found.append(args)
        raise OSError("there is no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    yield found
    assert found == []


def change(place, name="config.json", **fields):
    path = place / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def answers(place):
    return load(place).ask(tables.read({"text": ["a single man", "in want"]})).tokens


@pytest.mark.parametrize(
    "fields",
    [
        {"_attn_implementation": KERNEL},
        {"attn_implementation": KERNEL},
        {"_attn_implementation": {"": KERNEL}, "_experts_implementation": KERNEL},
        {"experts_implementation": KERNEL},
        {"text_config": {"_attn_implementation": KERNEL, "model_type": "gpt2"}},
        {"auto_map": {"AutoConfig": "org/repo--a.B", "AutoModelForCausalLM": "org/repo--a.B"}},
        {"use_kernels": True, "kernel_config": {"Linear": KERNEL}, "trust_remote_code": True},
        {"_name_or_path": "org/repo", "name_or_path": "/etc", "dtype": "bfloat16"},
        {"junk": "org/repo", "deep": {"junk": ["org/repo"]}},
    ],
)
def test_what_reaches_elsewhere_is_left_out(sound, place, fields):
    change(place, **fields)
    np.testing.assert_array_equal(answers(place), answers(sound))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, "names a quantization"),
        ({"model_type": "weird", "auto_map": {"AutoConfig": "o/r--a.B"}}, "not support by itself"),
        ({"activation_function": KERNEL}, "which is not a plain word"),
        ({"n_layer": 1_000_000}, r"n_layer of 1,000,000, but its weights hold no more than"),
        ({"num_experts": 10**9}, "num_experts of 1,000,000,000"),
    ],
)
def test_what_would_change_the_model_is_refused(place, fields, message):
    change(place, **fields)
    with pytest.raises(InputError, match=message):
        load(place)


def test_a_tokenizer_names_no_code_and_no_file(sound, place):
    change(
        place,
        "tokenizer_config.json",
        auto_map={"AutoTokenizer": ["org/repo--a.B", None]},
        tokenizer_file="/etc/passwd",
        chat_template="{{ 1 / 0 }}",
        fix_mistral_regex=True,
    )
    (place / "chat_template.jinja").write_text("{{ 1 / 0 }}")
    (place / "tokenizer.py").write_text("1 / 0")
    np.testing.assert_array_equal(answers(place), answers(sound))
    with folders.fresh(place) as folder:
        names = {p.name for p in folder.iterdir()}
        assert names <= {*folders.TABLES, "config.json", "tokenizer_config.json",
                         "special_tokens_map.json", "model.safetensors"}  # fmt: skip
        assert "etc" not in (folder / "tokenizer_config.json").read_text()
    assert not folder.exists()
    change(place, "tokenizer_config.json", tokenizer_class="../a.B")
    with pytest.raises(InputError, match="not the name of a class"):
        load(place)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors", "extra"])
def test_links_that_leave_the_folder_are_refused(place, name, tmp_path):
    outside = tmp_path / "outside"
    if (place / name).exists():
        (place / name).rename(outside)
    else:
        outside.write_text("x")
    (place / name).symlink_to(outside)
    for read in (load, lambda p: Source(str(p)).fingerprint()):
        with pytest.raises(InputError, match="a link that leads out of its folder"):
            read(place)


def test_links_inside_the_folder_are_followed(sound, place):
    (place / "blobs").mkdir()
    for path in [p for p in place.iterdir() if p.is_file()]:
        path.rename(place / "blobs" / path.name)
        path.symlink_to(place / "blobs" / path.name)
    np.testing.assert_array_equal(answers(place), answers(sound))


@pytest.mark.parametrize("what", ["device", "pipe", "circle"])
def test_only_files_are_read(place, what):
    path = place / "config.json"
    path.unlink()
    if what == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if what == "device" else path)
    with pytest.raises(InputError, match=r"link that leads|a pipe, not a file|cannot be followed"):
        load(place)


def test_json_and_heads_of_weights_are_bounded(place, monkeypatch):
    monkeypatch.setattr(folders, "JSON", 1000)
    change(place, junk="x" * 1000)
    with pytest.raises(InputError, match="larger than 1,000 bytes"):
        load(place)
    monkeypatch.undo()
    (place / "config.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match="Cannot read"):
        load(place)


@pytest.mark.slow
@pytest.mark.rehearsed
def test_a_network_far_larger_than_its_weights_is_never_allocated(place):
    change(place, n_embd=1 << 16, n_head=1, vocab_size=1 << 24)
    with pytest.raises(InputError, match=r"describes [\d,]+ numbers; its weights allow for"):
        load(place)
