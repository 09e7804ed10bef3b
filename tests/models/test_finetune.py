"""Chunks, tokenizers, and training of small models."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'language'")
pytest.importorskip("transformers", reason="needs the extra 'language'")

from divulge.data import tables
from divulge.errors import InputError
from divulge.models import finetune
from divulge.models.chunks import COLUMNS, chunks, token_matrix
from divulge.models.language import LanguageModel, load

SENTENCE = "the sea was calm and a small ship went slowly to the north with no wind at all"
WORDS = SENTENCE.split()


def document(seed: int, words: int = 120) -> str:
    return " ".join(np.random.default_rng(seed).choice(WORDS, words))


@pytest.fixture(scope="module")
def tokenizer():
    return finetune.byte_pairs([document(99)], 310)


def small(seed: int = 3):
    return finetune.tiny(310, 32, np.random.default_rng(seed), layers=1, width=32, heads=2)


def test_chunks_are_whole_equally_long_and_in_order(tokenizer):
    documents = {"a": document(1), "b": document(2, 8), "c": document(3, 60)}
    frame = chunks(documents, tokenizer, length=16, most=4)
    assert tuple(frame.columns) == COLUMNS
    assert token_matrix(frame).shape == (len(frame), 16)
    names, places = frame["document"].to_list(), frame["chunk"].to_list()
    assert [p for n, p in zip(names, places, strict=True) if n == "a"] == [0, 1, 2, 3]
    own = [t for n, t in zip(names, frame["text"].to_list(), strict=True) if n == "a"]
    assert documents["a"].startswith("".join(own))
    everything = chunks(documents, tokenizer, length=16, most=None)
    assert len(everything) > len(frame)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 1}, "at least two tokens"),
        ({"most": 0}, "at least 1"),
        ({"length": 1000}, "No document has 1000 tokens"),
    ],
)
def test_refuses_impossible_chunks(tokenizer, options, message):
    with pytest.raises(InputError, match=message):
        chunks({"a": document(1)}, tokenizer, **options)
    with pytest.raises(InputError, match="no documents"):
        chunks({}, tokenizer)


def test_refuses_ragged_tokens():
    with pytest.raises(InputError, match="from 1 to 2"):
        token_matrix(tables.read({"tokens": np.array([[1], [2, 3]], dtype=object)}))


def test_training_learns_and_repeats(tokenizer):
    rows = token_matrix(chunks({"a": document(1), "b": document(2)}, tokenizer, length=16))
    before = LanguageModel(small()).losses(rows).mean()
    found = []
    for _ in range(2):
        network = small()
        history = finetune.finetune(network, rows, np.random.default_rng(0), epochs=4, rate=5e-3)
        found.append(LanguageModel(network).losses(rows))
        assert [e.number for e in history] == [1, 2, 3, 4]
        assert history[-1].training < history[0].training
    assert np.array_equal(found[0], found[1])
    assert found[0].mean() < before


def test_keeps_the_best_epoch_on_held_out_chunks(tokenizer):
    rows = token_matrix(chunks({"a": document(1), "b": document(2)}, tokenizer, length=16))
    network, held = small(), rows[-6:]
    history = finetune.finetune(
        network, rows[:6], np.random.default_rng(0), epochs=25, rate=2e-2, validation=held
    )
    losses = [e.validation for e in history]
    assert LanguageModel(network).losses(held).mean() == pytest.approx(min(losses), abs=1e-6)
    assert min(losses) < losses[-1]


def test_training_leaves_the_generator_of_torch_alone(tokenizer):
    import torch

    rows = token_matrix(chunks({"a": document(1)}, tokenizer, length=16))
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    finetune.finetune(small(), rows, np.random.default_rng(0), epochs=1)
    assert torch.equal(torch.rand(3), expected)


def test_a_saved_model_comes_back_the_same(tokenizer, tmp_path):
    network = small()
    place = finetune.save(network, tokenizer, tmp_path / "model")
    assert not list(place.glob("*.bin"))
    back = load(place)
    rows = np.random.default_rng(0).integers(0, 310, (4, 16))
    assert back.losses(rows) == pytest.approx(LanguageModel(network).losses(rows), abs=1e-5)
    assert back.encode([document(1)]) == [tokenizer.encode(document(1))]


def test_refuses_bad_settings():
    with pytest.raises(InputError, match="epochs"):
        finetune.finetune(small(), np.zeros((2, 4), int), np.random.default_rng(0), epochs=0)
    with pytest.raises(InputError, match="no chunks"):
        finetune.finetune(small(), np.zeros((0, 4), int), np.random.default_rng(0))
    with pytest.raises(InputError, match="exceed 300"):
        finetune.byte_pairs(["a"], 10)
