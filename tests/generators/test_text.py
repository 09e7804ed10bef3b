"""Generated text: same columns, same length, the same again for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'language'")
pytest.importorskip("transformers", reason="needs the extra 'language'")

from divulge.errors import InputError
from divulge.generators.base import Training
from divulge.generators.text import TextGenerator, continuations
from divulge.models import finetune
from divulge.models.chunks import chunks, token_matrix
from divulge.work.pieces import Pieces

SENTENCE = "the sea was calm and a small ship went slowly to the north with no wind at all"
WORDS = SENTENCE.split()


def documents(count: int) -> dict[str, str]:
    return {
        f"d{i}": " ".join(np.random.default_rng(i).choice(WORDS, 150)) + "." for i in range(count)
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    tokenizer = finetune.byte_pairs(list(documents(3).values()), 310)
    network = finetune.tiny(310, 32, np.random.default_rng(0), layers=1, width=32, heads=2)
    return finetune.save(network, tokenizer, tmp_path_factory.mktemp("model")), tokenizer


@pytest.fixture(scope="module")
def records(folder):
    return chunks(documents(5), folder[1], length=16)


def make(folder, **options):
    return TextGenerator(**{"model": str(folder[0]), "epochs": 3, "rate": 1e-2, **options})


def test_same_columns_types_and_length(folder, records):
    new = make(folder).generate(records, 40, np.random.default_rng(1))
    assert new.to_arrow().schema.equals(records.to_arrow().schema)
    assert len(new) == 40
    assert token_matrix(new).shape == (40, 16)
    assert new["text"].to_list()[0] == folder[1].decode(token_matrix(new)[0])
    assert set(new["document"].to_list()) <= set(documents(5))


def test_equal_seeds_give_equal_text(folder, records):
    first, second, third = (
        make(folder).generate(records, 12, np.random.default_rng(s))["text"].to_list()
        for s in (1, 1, 2)
    )
    assert first == second
    assert first != third


def test_learns_the_records(folder, records):
    new = make(folder, epochs=12).generate(records, 40, np.random.default_rng(1))
    words = " ".join(new["text"].to_list()).replace(".", " ").split()
    assert np.mean([w in WORDS for w in words]) > 0.5


def test_no_prompt_is_used_more_often_than_allowed(folder, records):
    held = len(records) - round(0.7 * len(records))
    options = {"most_per_prompt": 2, "epochs": 1}
    new = make(folder, **options).generate(records, 2 * held, np.random.default_rng(1))
    places = list(zip(new["document"].to_list(), new["chunk"].to_list(), strict=True))
    assert max(places.count(p) for p in places) == 2
    with pytest.raises(InputError, match="do not give"):
        make(folder, **options).generate(records, 2 * held + 1, np.random.default_rng(1))


def test_only_the_likeliest_tokens_are_drawn(folder):
    from divulge.models.language import load

    network = load(folder[0]).network
    prompts = np.random.default_rng(0).integers(0, 310, (6, 20))
    a, b = (
        continuations(network, prompts, np.random.default_rng(s), length=12, top_k=1)
        for s in (1, 2)
    )
    assert np.array_equal(a, b)
    wide = continuations(network, prompts, np.random.default_rng(1), length=12, top_k=300)
    assert not np.array_equal(a, wide)
    whole = network.generate(
        input_ids=__import__("torch").from_numpy(prompts),
        attention_mask=__import__("torch").ones(6, 20).long(),
        do_sample=False,
        max_new_tokens=12,
        eos_token_id=309,
        pad_token_id=309,
    )
    alike = [
        np.array_equal(x, y[20:]) for x, y in zip(a, whole.numpy(), strict=True) if 309 not in y
    ]
    assert alike
    assert all(alike)


def test_a_long_continuation_reads_no_more_than_the_window(folder):
    """The greedy continuation is the one that reads the whole window again for every block."""
    import torch

    from divulge.models.language import load

    network = load(folder[0]).network
    prompts = np.random.default_rng(0).integers(0, 310, (3, 20))
    for options in ({"length": 40}, {"length": 20, "window": 8}):
        limit = options.get("window", 32)
        found = continuations(network, prompts, np.random.default_rng(1), top_k=1, **options)
        whole, read = prompts, limit
        for _ in range(options["length"]):
            read = 3 * limit // 4 if read == limit else read + 1
            with torch.no_grad():
                logits = network(torch.from_numpy(whole[:, -read:])).logits[:, -1]
            whole = np.column_stack([whole, logits.argmax(1).numpy()])
        assert np.array_equal(found, whole[:, 20:])
    with pytest.raises(InputError, match="at least two"):
        continuations(network, prompts, np.random.default_rng(1), length=4, window=1)


def test_without_a_model_a_tiny_one_is_learned(records):
    texts = records.select("text")
    own = TextGenerator(length=8, epochs=2, vocabulary=310, layers=1, width=32)
    new = own.generate(texts, 9, np.random.default_rng(0))
    assert new.columns == ["text"]
    assert len(new) == 9
    with pytest.raises(InputError, match="fewer than 60 tokens"):
        TextGenerator(length=60, vocabulary=310).generate(texts, 9, np.random.default_rng(0))


def test_settings_name_everything_that_changes_the_text(folder):
    settings = make(folder).settings
    assert settings["top_k"] == 200
    assert settings["temperature"] == 1.0
    assert len(settings["model"]) == 64
    assert "progress" not in settings
    assert make(folder).name == "text"


def test_refuses_what_it_cannot_make(folder, records):
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="Found also: 'loss'"):
        make(folder).generate(records.with_columns(loss=records["chunk"]), 4, rng)
    with pytest.raises(InputError, match="tokenizer that made it"):
        TextGenerator().generate(records, 4, rng)
    with pytest.raises(InputError, match="no column 'text'"):
        make(folder).generate(records.select("tokens"), 4, rng)
    with pytest.raises(InputError, match="There is no directory"):
        _ = TextGenerator(model="nowhere").settings
    for bad in (
        {"top_k": 0},
        {"temperature": 0.0},
        {"training_share": 1.0},
        {"most_per_prompt": 0},
    ):
        with pytest.raises(InputError, match=next(iter(bad))):
            TextGenerator(**bad)


def test_a_second_run_goes_on_after_the_last_epoch(folder, records, tmp_path, monkeypatch):
    expected = make(folder).generate(records, 12, np.random.default_rng(1)).to_arrow()
    told, honest = [], finetune._pass

    def stopped(*given):
        if len(told) == 2:
            raise KeyboardInterrupt
        return honest(*given)

    def run():
        training = Training(pieces=Pieces(tmp_path), progress=lambda *now: told.append(now))
        rng = np.random.default_rng(1)
        return make(folder).generate_in_pieces(records, 12, rng, training).to_arrow()

    with monkeypatch.context() as broken:
        broken.setattr(finetune, "_pass", stopped)
        with pytest.raises(KeyboardInterrupt):
            run()
    assert told == [("epochs", 1, 3), ("epochs", 2, 3)]
    assert run().equals(expected)
    monkeypatch.setattr(finetune, "_pass", None)
    assert run().equals(expected)
    assert told[-1] == ("continuations", 12, 12)
