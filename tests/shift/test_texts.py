"""What a text shows without the target, and helpers that are a public model, fine-tuned."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.errors import InputError
from divulge.shift import texts

SEA = [f"the sea was calm and the ship number {k} went north" for k in range(30)]
LAND = [f"A FIELD of {k} wheat ears, ripe; no wind!" for k in range(30)]


def test_words_topics_length_and_form():
    found = texts.describe([*SEA, *LAND])
    assert np.isfinite(found.matrix).all()
    np.testing.assert_allclose(found.matrix.std(axis=0), 1.0)
    for name in ("word: sea", "topic 1", "share of capitals", "log words"):
        assert name in found.names
    capitals = found.matrix[:, found.names.index("share of capitals")]
    assert capitals[:30].max() < capitals[30:].min()


def test_no_words_is_an_error():
    with pytest.raises(InputError, match="No words"):
        texts.describe(["1 2 3", "? !"] * 5)


@pytest.fixture
def public(tmp_path):
    pytest.importorskip("torch", reason="needs the extra 'language'")
    pytest.importorskip("transformers", reason="needs the extra 'language'")
    from divulge.models import finetune

    rng = np.random.default_rng(0)
    tokenizer = finetune.byte_pairs([*SEA, *LAND], 320)
    network = finetune.tiny(320, 64, rng, layers=1, width=16)
    return finetune.save(network, tokenizer, tmp_path / "public")


def test_a_public_model_adds_its_view_and_becomes_a_helper(public):
    from divulge.models.language import load

    model = load(public)
    found = texts.describe([*SEA, *LAND], model)
    assert "loss of the public model" in found.names
    lessons = texts.TextLessons((*SEA, *LAND), str(public), epochs=2)
    loss = lessons.losses(np.arange(20), 3)
    before = model.losses([*SEA, *LAND])
    assert loss[20:30].mean() < before[20:30].mean()  # of the kind that it learned from
    np.testing.assert_array_equal(loss, lessons.losses(np.arange(20), 3))
    assert lessons.identity() != texts.TextLessons(tuple(SEA), str(public)).identity()


def test_texts_of_unequal_length_are_cut_into_blocks(public):
    from divulge.models.language import load

    rows = texts.blocks([*SEA, *LAND], load(public))
    assert rows.ndim == 2
    assert texts.blocks(SEA[:9], load(public), rows.shape[1]).shape[1] == rows.shape[1]
