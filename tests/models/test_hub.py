"""Hugging Face directories: classifiers of text and causal language models."""

from __future__ import annotations

import json

import numpy as np
import pytest

import divulge
from divulge.attacks import scoring
from divulge.data import tables
from divulge.errors import InputError
from divulge.models import base, load

torch = pytest.importorskip("torch", reason="torch is in the extra language")
transformers = pytest.importorskip("transformers", reason="transformers is in the extra language")

TEXTS = ["a single man", "in possession of a good fortune", "must be in want", "of a wife, indeed"]


def tokenizer(pad=True):
    from divulge.models import finetune

    made = finetune.byte_pairs(TEXTS * 5, 320)
    if pad:
        made.pad_token = finetune.END
    return made


def classifier(folder, pad=True, **options):
    torch.manual_seed(0)
    made = tokenizer(pad)
    if pad:
        configuration = transformers.BertConfig(
            vocab_size=320, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16, max_position_embeddings=24, pad_token_id=0, **options,
        )  # fmt: skip
        network = transformers.BertForSequenceClassification(configuration)
    else:
        configuration = transformers.GPT2Config(
            vocab_size=320, n_positions=24, n_embd=16, n_layer=1, n_head=2, **options
        )
        network = transformers.GPT2ForSequenceClassification(configuration)
    network.save_pretrained(folder)
    made.save_pretrained(folder)
    return network.eval(), made


def by_hand(network, made, text):
    with torch.no_grad():
        given = made(text, return_tensors="pt")
        return network(**given).logits.double().log_softmax(1).numpy()[0]


@pytest.mark.parametrize("pad", [True, False])
def test_a_classifier_of_text(tmp_path, pad):
    labels = {0: "glad", 1: "sad", 2: "neither"}
    network, made = classifier(tmp_path, pad, num_labels=3, id2label=labels)
    read = load(tmp_path)
    assert read.classes == ("glad", "sad", "neither")
    frame = tables.read({"text": TEXTS, "y": ["sad", "glad", "neither", "sad"]})
    own = np.array([by_hand(network, made, t) for t in TEXTS])
    found = base.ask(read, base.shown(read, frame, (), "text", "the table"))
    assert found.log_probabilities == pytest.approx(own, abs=1e-5)
    losses = scoring.losses(read, frame, (), "y", "the table", text="text")
    assert losses == pytest.approx(-own[np.arange(4), [1, 0, 2, 1]], abs=1e-5)


def test_a_text_too_long_is_an_error_unless_cutting_is_asked_for(tmp_path):
    network, made = classifier(tmp_path, num_labels=2)
    assert load(tmp_path).classes is None
    long = tables.read({"text": [TEXTS[0], TEXTS[1] * 6]})
    with pytest.raises(
        InputError, match=r"at most 24 tokens\. Record 1 has \d+.*--with truncate=yes"
    ):
        load(tmp_path).ask(long)
    ids = made(TEXTS[1] * 6)["input_ids"][:24]
    with torch.no_grad():
        own = network(torch.tensor([ids])).logits.double().log_softmax(1).numpy()[0]
    found = load(tmp_path, truncate=True).ask(long)
    assert found.log_probabilities[1] == pytest.approx(own, abs=1e-5)


@pytest.mark.parametrize("rows", [["a", None], ["a", ""]])
def test_a_row_without_text_is_named(tmp_path, rows):
    classifier(tmp_path, num_labels=2)
    with pytest.raises(InputError, match="Row 1 does not"):
        load(tmp_path).ask(tables.read({"text": rows}))


def test_an_encoder_without_a_head_is_refused(tmp_path):
    network, _ = classifier(tmp_path, num_labels=2)
    configuration = (tmp_path / "config.json").read_text()
    network.bert.save_pretrained(tmp_path)
    with pytest.raises(InputError, match="names the architecture 'BertModel'"):
        load(tmp_path)
    (tmp_path / "config.json").write_text(configuration)
    with pytest.raises(InputError, match=r"does not hold all weights of its model: classifier"):
        load(tmp_path)


@pytest.mark.parametrize(
    "change", [{"id2label": {"0": "one"}, "label2id": {"one": 0}}, {"problem_type": "regression"},
               {"problem_type": "multi_label_classification"}],
)  # fmt: skip
def test_what_does_not_tell_classes_apart_is_refused(tmp_path, change):
    classifier(tmp_path, num_labels=1 if "id2label" in change else 2)
    found = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**found, **change}))
    with pytest.raises(InputError, match="does not tell classes apart"):
        load(tmp_path)


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    from divulge.models import finetune

    network = finetune.tiny(320, 24, np.random.default_rng(1), layers=1, width=16, heads=2)
    return finetune.save(network, tokenizer(), tmp_path_factory.mktemp("causal"))


def test_a_causal_model_gives_tokens_and_moments(causal):
    read = load(causal)
    assert (read.reads, read.gives) == ("text", "tokens")
    found = read.ask(tables.read({"text": TEXTS}))
    for i, text in enumerate(TEXTS):
        ids = torch.tensor(read.model.encode([text]))
        with torch.no_grad():
            every = read.model.network(ids).logits[0, :-1].double().log_softmax(1)
        width = len(every)
        own = every.gather(1, ids[0, 1:, None])[:, 0]
        p = every.exp()
        mean = (p * every).sum(1)
        deviation = ((p * every**2).sum(1) - mean**2).sqrt()
        for values, wanted in zip(
            (found.tokens, found.means, found.deviations), (own, mean, deviation), strict=True
        ):
            assert values[i, :width] == pytest.approx(wanted.numpy(), abs=1e-4)
            assert np.isnan(values[i, width:]).all()


def test_a_causal_model_without_moments_computes_none(causal):
    plain = load(causal).model.ask(TEXTS)
    assert plain.means is None
    assert plain.deviations is None


def test_a_causal_model_cuts_texts_only_when_told(causal):
    long = tables.read({"text": [TEXTS[1] * 6]})
    with pytest.raises(InputError, match="at most 24 tokens"):
        load(causal).ask(long)
    assert load(causal, truncate=True).ask(long).tokens.shape == (1, 23)


def test_a_causal_model_is_audited_from_its_directory(causal):
    rng = np.random.default_rng(0)
    words = " ".join(TEXTS).split()
    texts = [" ".join(rng.choice(words, 4)) for _ in range(300)]
    frame = tables.read({"text": texts, "member": np.arange(300) % 2})
    losses = scoring.losses(load(causal), frame, (), None, "the table", text="text")
    table = {"loss": losses, "member": np.arange(300) % 2}
    result = divulge.membership(table, score="loss")
    assert result.verdict.status == "no evidence"  # it was never trained
