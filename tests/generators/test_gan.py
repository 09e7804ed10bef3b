"""Adversarial images: the form of the records, a resumable training, and labels of a labeler."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'torch'")

from divulge.data import tables
from divulge.errors import InputError
from divulge.generators import gan
from divulge.generators.base import Training
from divulge.generators.copies import exact_copies, same_schema
from divulge.generators.gan import AdversarialImages
from divulge.work.pieces import Pieces

TINY = {"epochs": 3, "width": 4, "latent": 8}


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    found = load_digits()
    pixels = {f"p_{j}": found.data[:, j].astype(np.uint8) for j in range(64)}
    return tables.read({**pixels, "digit": found.target.astype(str)})


def made(records, count=50, seed=0, pieces=None, told=None, **changes):
    training = Training(pieces=Pieces(pieces), progress=told)
    maker = AdversarialImages("digit", **{**TINY, **changes})
    return maker.generate_in_pieces(records, count, np.random.default_rng(seed), training)


def test_the_form_is_that_of_the_records(digits):
    found = made(digits[:300], labeler=False)
    assert same_schema(digits, found) == []
    assert found.to_arrow().schema.equals(digits.to_arrow().schema)
    assert exact_copies(digits, found).size == 0
    pixels = found.drop("digit").to_numpy()
    assert 0 <= pixels.min() < pixels.max() <= 16


def test_images_in_one_column_and_without_a_class(rng):
    source = tables.read({"image": rng.normal(size=(80, 64)).astype(np.float32)})
    found = AdversarialImages(**TINY).generate(source, 20, rng)
    assert found.schema == source.schema
    assert {len(v) for v in found["image"].to_list()} == {64}


def test_a_training_that_was_stopped_goes_on_where_it_was(digits, tmp_path, monkeypatch):
    whole = made(digits[:200]).to_arrow()
    epoch, calls = gan.Networks.epoch, []

    def stopped(self, *given):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(1)
        epoch(self, *given)

    with monkeypatch.context() as broken:
        broken.setattr(gan.Networks, "epoch", stopped)
        with pytest.raises(KeyboardInterrupt):
            made(digits[:200], pieces=tmp_path)
    assert len(list(tmp_path.glob("adversarial-*.piece"))) == 2
    told = []
    again = made(digits[:200], pieces=tmp_path, told=lambda *now: told.append(now))
    assert again.to_arrow().equals(whole)
    assert told == [("epochs", k, 3) for k in (1, 2, 3)]
    assert not made(digits[:200], seed=1).to_arrow().equals(whole)


def test_the_labeler_has_the_last_word(digits, monkeypatch):
    monkeypatch.setattr(gan, "labels", lambda images, classes, new, rng: np.full(len(new), 7))
    assert set(made(digits[:200])["digit"].to_list()) == {"7"}
    assert len(set(made(digits[:200], labeler=False)["digit"].to_list())) > 3


def test_the_labeler_knows_the_records(digits):
    images = digits.drop("digit").to_numpy().astype(float)
    classes = np.array([int(v) for v in digits["digit"].to_list()])
    found = gan.labels(images[:1200], classes[:1200], images[1200:], np.random.default_rng(0))
    assert np.mean(found == classes[1200:]) > 0.85


@pytest.mark.slow
def test_digits_become_readable(digits):
    from sklearn.ensemble import RandomForestClassifier

    def split(frame):
        return frame.drop("digit").to_numpy(), np.array(frame["digit"].to_list())

    forest = RandomForestClassifier(50, random_state=0).fit(*split(digits))
    few, many = (
        forest.score(*split(made(digits, 500, epochs=n, width=16, latent=32, labeler=False)))
        for n in (1, 60)
    )
    assert few < 0.4
    assert many > 0.75


def test_refusals(digits, rng):
    with pytest.raises(InputError, match="too few to train a network on"):
        made(digits[:30])
    with pytest.raises(InputError, match="must be square"):
        AdversarialImages().generate(tables.read({"image": rng.normal(size=(70, 65))}), 2, rng)
    with pytest.raises(InputError, match="no column 'y'"):
        AdversarialImages("y").generate(digits, 2, rng)
    with pytest.raises(InputError, match="epochs must be at least 1"):
        AdversarialImages(epochs=0)
    with pytest.raises(InputError, match="rate must be positive"):
        AdversarialImages(rate=0.0)
