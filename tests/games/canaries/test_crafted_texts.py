"""Crafted texts: each one's own, among the data's, and never told by what is new in them."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from divulge import canaries
from divulge.errors import InputError

BODIES = [f"letter {k} to somebody who lives far away" for k in range(90)]
LETTERS = {"body": BODIES, "n": np.arange(90)}
HAS_MODELS = all(importlib.util.find_spec(m) for m in ("torch", "transformers"))


def test_new_tokens_end_texts_of_the_data_and_stand_nowhere_else():
    made = canaries.plan(LETTERS, strategy="new-tokens", text="body", count=40, tokens=3, seed=0)
    shown, train = made.canaries().to_pandas(), made.records().to_pandas()
    assert shown["token"].nunique() == 40
    for text, token in zip(shown["body"], shown["token"], strict=True):
        assert text.endswith(" " + token)
        assert text.startswith("letter")
        assert len(text.split()) == 4
    inside = [text in set(train["body"]) for text in shown["body"]]
    assert inside == list(made.included)
    assert len(train) == 90 + sum(made.included)
    assert list(train["body"])[:90] != BODIES
    assert list(train[train["n"].notna()]["n"]) == list(range(90))
    assert list(shown["row"]) == list(made.ids) == list(range(90, 130))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"data": None}, "give either"),
        ({"strategy": "random-tokens"}, "folder of a language model"),
        ({"strategy": "sampled"}, "folder of a language model"),
        ({"strategy": "sampled", "temperature": 0.5}, "repeats itself"),
        ({"temperature": 1.0}, "temperature are of no use to new-tokens"),
        ({"tokens": 1}, "at least 2 tokens"),
        ({"count": 3}, "at least 20"),
        ({"text": "title"}, "title"),
        ({"text": "n"}, "no text"),
        ({"id": "n"}, "id are of no use"),
    ],
)
def test_bad_plans_are_said(words, message):
    given = {"data": LETTERS, "strategy": "new-tokens", "text": "body", "count": 40, **words}
    with pytest.raises(InputError, match=message):
        canaries.plan(**given)


@pytest.mark.skipif(not HAS_MODELS, reason="needs the extra language")
def test_random_and_sampled_tokens_of_a_model(tmp_path):
    from divulge.models import finetune

    tokenizer = finetune.byte_pairs([f"{a} {b}" for a in BODIES for b in "xyz"], 320)
    rng = np.random.default_rng(0)
    network = finetune.tiny(len(tokenizer), 32, rng, layers=1, width=16)
    place = finetune.save(network, tokenizer, tmp_path / "llm")
    words = {"model": place, "tokens": 12, "count": 30, "seed": 1}
    shown = {}
    for strategy in ("random-tokens", "sampled", "new-tokens"):
        made = canaries.plan(LETTERS, strategy=strategy, text="body", **words)
        shown[strategy] = made.canaries().to_pandas()["body"]
        assert shown[strategy].nunique() == 30
    assert "\ufffd" not in "".join(shown["random-tokens"])
    again = canaries.plan(LETTERS, strategy="sampled", text="body", **words)
    assert list(shown["sampled"]) == list(again.canaries().to_pandas()["body"])
    alone = canaries.plan(strategy="random-tokens", **words)
    assert len(alone.records()) == sum(alone.included)
    with pytest.raises(InputError, match="no directory"):
        canaries.plan(strategy="sampled", model=tmp_path / "nothing", count=30)
