"""Texts as records: cut alike, generated from the public model, known to fine-tuned helpers."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'language'")
pytest.importorskip("transformers", reason="needs the extra 'language'")

import divulge
from divulge.data import tables
from divulge.errors import InputError
from divulge.games.synthetic.reading import Reader, token_losses
from divulge.models import finetune
from divulge.models.chunks import decode

LENGTH = 12
WORDS = [
    "the",
    "sea",
    "was",
    "calm",
    "and",
    "a",
    "small",
    "ship",
    "went",
    "slowly",
    "north",
    "with",
    "no",
    "wind",
    "at",
    "all",
]


def documents(rng, count):
    return [" " + " ".join(rng.choice(WORDS, 14)) for _ in range(count)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A public model, and one that learned the members by heart."""
    place, rng = tmp_path_factory.mktemp("texts"), np.random.default_rng(0)
    tokenizer = finetune.byte_pairs(documents(rng, 100), 310)
    network = finetune.tiny(310, 32, rng, layers=1, width=16, heads=2)
    finetune.save(network, tokenizer, place / "public")
    members = documents(rng, 950)
    rows = [tokenizer(t)["input_ids"][:LENGTH] for t in members]
    finetune.finetune(network, np.array(rows), rng, epochs=4, rate=1e-2)
    finetune.save(network, tokenizer, place / "target")
    return place, members, rng


@pytest.fixture(scope="module")
def reader(folder):
    return Reader("words", str(folder[0] / "public"))


def frame(texts):
    return tables.read({"words": texts})


def test_texts_are_cut_to_the_length_of_the_shortest(reader, folder):
    _, members, _ = folder
    short = frame([*members[:5], members[5][:50]])
    length = reader.shortest(short)
    known = reader.public.encode(short["words"].to_list())
    assert length == min(map(len, known))
    cut = reader.cut(short, length)
    spelt = decode(reader.public.tokenizer, np.array([k[:length] for k in known]))
    assert cut["words"].to_list() == spelt
    with pytest.raises(InputError, match="Leave short texts out"):
        reader.shortest(frame([" the sea"]))
    with pytest.raises(InputError, match="--public-model"):
        Reader("words").shortest(short)
    with pytest.raises(InputError, match="must hold a text in every row"):
        reader.check(frame(["a", ""]), "the records")


def test_tokens_and_losses_stand_side_by_side(reader, folder):
    place, members, _ = folder
    some = frame([members[0], members[1][:30]])
    target = token_losses(str(place / "target"), some, "words")
    helper = np.stack([target, 2 * target], axis=2)
    found = reader.spelled(some, helper, target)
    lengths = [len(t) for t in reader.public.encode(some["words"].to_list())]
    assert found.tokens.shape == (2, max(lengths))
    assert (found.tokens[1, lengths[1] :] == reader.public.vocabulary).all()
    np.testing.assert_allclose(found.target[0, :, 0], target[0])
    np.testing.assert_allclose(found.helper[:, :, 1], 2 * np.nan_to_num(target))
    assert (found.target[1, lengths[1] - 1 :] == 0.0).all()
    with pytest.raises(InputError, match="tokens of the public model"):
        reader.spelled(some, helper, target[:, 1:])
    with pytest.raises(InputError, match="log-probability of every token"):
        token_losses(lambda rows: np.zeros(len(rows)), some, "words")


@pytest.mark.slow
def test_from_texts_to_a_result(folder, tmp_path):
    place, members, _ = folder
    given = {"text": "words", "model": place / "target", "cache": tmp_path}
    told = []
    result = divulge.synthetic(
        frame(members),
        **given,
        public_model=place / "public",
        attack=("columns", "text"),
        progress=lambda stage, done, total: told.append(stage),
    )
    assert result.diagnostics.models.generator == "text"
    assert result.diagnostics.models.helper == "the public model, fine-tuned"
    assert result.trials["taught_generator"] == 475
    assert any("cut to its first" in odd.remark for odd in result.diagnostics.odd)
    assert any("a text is more than its features" in r for r in result.verdict.reasons) or (
        result.verdict.status != "leak"
    )
    assert {"epoch", "helper", "target", "contest"} <= {
        p.name.split("-")[0] for p in tmp_path.glob("*.piece")
    }
    before = {p: p.stat().st_mtime_ns for p in tmp_path.glob("*.piece")}
    again = divulge.synthetic(
        frame(members), **given, public_model=place / "public", attack=("columns", "text")
    )
    assert again.dumps() == result.dumps()
    assert {p: p.stat().st_mtime_ns for p in tmp_path.glob("*.piece")} == before


@pytest.mark.slow
def test_a_model_of_texts_needs_no_label(folder):
    place, members, rng = folder
    result = divulge.synthetic(
        frame(members[:500]),
        generated=frame(documents(rng, 500)),
        text="words",
        model=place / "target",
    )
    assert result.diagnostics.models.helper == "none"
    assert result.diagnostics.models.generator == "given"
    assert result.measurements["c_lb"] < 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": "word"}, "Did you mean 'words'"),
        ({"text": None, "public_model": "x"}, "A public model reads texts"),
        ({"generator": "trees"}, "not generated by 'trees'"),
        ({"drop_poor": 0.1}, "not filtered"),
        ({"public_model": None}, "name its folder"),
        ({"features": "page"}, "Only texts are generated"),
        ({"text": None, "attack": "text"}, "name their column"),
    ],
)
def test_refusals(folder, change, message):
    place, members, _ = folder
    table = tables.read({"words": members, "page": np.arange(len(members))})
    given = {"text": "words", "model": place / "target", "public_model": place / "public"}
    with pytest.raises(InputError, match=message):
        divulge.synthetic(table, **{**given, **change})
