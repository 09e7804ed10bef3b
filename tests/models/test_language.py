"""Language models from local directories, and the errors of directories that are not models."""

from __future__ import annotations

import json

import numpy as np
import pytest

from divulge.errors import InputError, MissingExtra
from divulge.models import language

TEXT = "It is a truth universally acknowledged, that a single man in possession of a fortune. " * 8


def test_says_which_extra_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"divulge\[language\]"):
        language.libraries()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "holds no config.json"),
        (["config.json"], "model.safetensors is missing"),
        (["config.json", "pytorch_model.bin"], "weights as a pickle"),
    ],
)
def test_refuses_directories_without_safe_weights(tmp_path, files, message):
    for name in files:
        (tmp_path / name).write_text("{}")
    with pytest.raises(InputError, match=message):
        language.load(tmp_path)


def test_refuses_what_is_no_directory(tmp_path):
    with pytest.raises(InputError, match="There is no directory"):
        language.load(tmp_path / "none")
    (tmp_path / "weights.safetensors").write_text("")
    with pytest.raises(InputError, match="is a file"):
        language.load(tmp_path / "weights.safetensors")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InputError, match="Cannot read"):
        language.load(tmp_path)


@pytest.mark.parametrize("shard", ["pytorch_model.bin", "../away.safetensors"])
def test_refuses_an_index_that_names_other_files(tmp_path, shard):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_text("")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"wte": shard}}))
    with pytest.raises(InputError, match="not a safetensors file beside it"):
        language.load(tmp_path)
    index.write_text("{}")
    with pytest.raises(InputError, match="no weight_map"):
        language.load(tmp_path)
    index.write_text("[]")
    with pytest.raises(InputError, match="JSON object"):
        language.load(tmp_path)


def test_refuses_an_adapter(tmp_path):
    for name in ("config.json", "adapter_config.json", "adapter_model.safetensors"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(InputError, match="merge it"):
        language.load(tmp_path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("torch", reason="needs the extra 'language'")
    pytest.importorskip("transformers", reason="needs the extra 'language'")
    from divulge.models import finetune

    tokenizer = finetune.byte_pairs([TEXT], 320)
    network = finetune.tiny(320, 16, np.random.default_rng(1), layers=1, width=16, heads=2)
    return finetune.save(network, tokenizer, tmp_path_factory.mktemp("model"))


def test_log_probabilities_are_those_of_the_model(folder):
    import torch

    model = language.load(folder)
    rows = np.random.default_rng(0).integers(0, 320, (7, 12))
    answers = model.ask(rows)
    with torch.no_grad():
        out = model.network(torch.from_numpy(rows), output_hidden_states=True)
        expected = out.logits.log_softmax(2)[:, :-1].gather(2, torch.from_numpy(rows[:, 1:, None]))
    assert answers.log_probabilities == pytest.approx(expected[..., 0].numpy(), abs=1e-5)
    logs = out.logits.log_softmax(2)[:, :-1].numpy()
    assert answers.best == pytest.approx(logs.max(axis=2), abs=1e-5)
    first = logs.argmax(axis=2) == rows[:, 1:]
    assert np.array_equal(answers.log_probabilities == answers.best, first)  # to the last bit
    assert answers.embeddings == pytest.approx(out.hidden_states[-1].mean(1).numpy(), abs=1e-5)
    assert answers.losses == pytest.approx(-answers.log_probabilities.mean(1))


def test_batches_and_padding_change_nothing(folder):
    model = language.load(folder)
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 320, n).tolist() for n in (5, 12, 2, 7, 12)]
    together = model.ask(rows)
    seen = []
    small = language.LanguageModel(model.network, model.tokenizer, batch=2).ask(
        rows, progress=lambda done, count: seen.append((done, count))
    )
    assert seen == [(2, 5), (4, 5), (5, 5)]
    for i, row in enumerate(rows):
        alone = model.ask([row])
        for found in (together, small):
            own = found.log_probabilities[i]
            assert own[: len(row) - 1] == pytest.approx(alone.log_probabilities[0], abs=1e-5)
            assert np.isnan(own[len(row) - 1 :]).all()
            assert found.embeddings[i] == pytest.approx(alone.embeddings[0], abs=1e-5)
            assert found.losses[i] == pytest.approx(alone.losses[0], abs=1e-5)


def test_texts_are_encoded_by_the_models_own_tokenizer(folder):
    model = language.load(folder)
    texts = ["a single man", "universally acknowledged"]
    assert model.losses(texts) == pytest.approx(model.losses(model.encode(texts)))
    bare = language.LanguageModel(model.network)
    with pytest.raises(InputError, match="without a tokenizer"):
        bare.losses(texts)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "no records"),
        ([[1, 2], [3]], "Record 1 has fewer"),
        ([list(range(17))], "at most 16 tokens"),
        ([[1, 320]], "Found 320"),
        ([[1, -4]], "Found -4"),
        (["a", TEXT], "fewer"),
    ],
)
def test_refuses_records_the_model_cannot_read(folder, records, message):
    with pytest.raises(InputError, match=message):
        language.load(folder).ask(records)


def copy_of(folder, place):
    for path in folder.iterdir():
        (place / path.name).write_bytes(path.read_bytes())
    return place


def test_refuses_damaged_weights(folder, tmp_path):
    place = copy_of(folder, tmp_path)
    raw = (place / "model.safetensors").read_bytes()
    (place / "model.safetensors").write_bytes(raw[: len(raw) // 2])
    with pytest.raises(InputError, match="Cannot load"):
        language.load(place)


def test_refuses_weights_that_are_not_all_there(folder, tmp_path):
    place = copy_of(folder, tmp_path)
    configuration = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps({**configuration, "n_layer": 2}))
    with pytest.raises(InputError, match="does not hold all weights"):
        language.load(place)


def test_never_runs_code_that_comes_with_a_model(folder, tmp_path):
    place = copy_of(folder, tmp_path)
    trap = tmp_path / "trap"
    (place / "modeling_own.py").write_text(f"open({str(trap)!r}, 'w').close()\nclass Own: pass\n")
    configuration = json.loads((place / "config.json").read_text())
    configuration["model_type"] = "own"
    configuration["auto_map"] = {
        "AutoConfig": "modeling_own.Own",
        "AutoModelForCausalLM": "modeling_own.Own",
    }
    (place / "config.json").write_text(json.dumps(configuration))
    with pytest.raises(InputError, match="Cannot load"):
        language.load(place)
    assert not trap.exists()


def test_weights_in_pickle_are_not_taken_beside_other_safetensors(folder, tmp_path):
    place = copy_of(folder, tmp_path)
    (place / "model.safetensors").rename(place / "other.safetensors")
    (place / "pytorch_model.bin").write_bytes(b"not even a pickle")
    with pytest.raises(InputError, match="Cannot load"):
        language.load(place)


def test_a_model_in_several_files_is_loaded(folder, tmp_path):
    whole = language.load(folder)
    whole.network.save_pretrained(tmp_path, max_shard_size="10KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    rows = np.random.default_rng(0).integers(0, 320, (3, 12))
    assert language.load(tmp_path).losses(rows) == pytest.approx(whole.losses(rows), abs=1e-5)


def test_takes_safetensors_where_a_pickle_lies_beside_them(folder, tmp_path):
    place = copy_of(folder, tmp_path)
    (place / "pytorch_model.bin").write_bytes(b"not even a pickle")
    assert language.load(place).vocabulary == 320
