"""Images pixel by pixel: causal, resumable, in the form of the records, labelled by a labeler."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'torch'")

import torch

from divulge.data import tables
from divulge.errors import InputError
from divulge.generators import pixel_network, pixels
from divulge.generators.base import Training
from divulge.generators.copies import exact_copies, same_schema
from divulge.generators.pixels import Greys, Outline, PixelByPixel
from divulge.work.pieces import Pieces

TINY = {"steps": 3, "width": 4, "depth": 2, "levels": 8}


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    found = load_digits()
    columns = {f"p_{j}": found.data[:, j].astype(np.uint8) for j in range(64)}
    return tables.read({**columns, "digit": found.target.astype(str)})


def made(records, count=50, seed=0, pieces=None, told=None, **changes):
    training = Training(pieces=Pieces(pieces), progress=told)
    maker = PixelByPixel("digit", **{**TINY, **changes})
    return maker.generate_in_pieces(records, count, np.random.default_rng(seed), training)


def test_the_form_is_that_of_the_records(digits):
    found = made(digits[:300], labeler=False)
    assert same_schema(digits, found) == []
    assert found.to_arrow().schema.equals(digits.to_arrow().schema)
    assert exact_copies(digits, found).size == 0
    values = found.drop("digit").to_numpy()
    assert 0 <= values.min() < values.max() <= 16


@pytest.mark.parametrize("sketch", [0, 3])
def test_images_in_one_column_and_without_a_class(rng, sketch):
    source = tables.read({"image": rng.normal(size=(80, 64)).astype(np.float32)})
    found = PixelByPixel(**TINY, sketch=sketch).generate(source, 20, rng)
    assert found.schema == source.schema
    assert {len(v) for v in found["image"].to_list()} == {64}


@pytest.fixture(scope="module")
def module():
    """With weights large enough for every pixel to matter."""
    torch.manual_seed(0)
    found = pixel_network.network(torch, (9, 5, 3, 2), 6, 4).eval()
    with torch.no_grad():
        for weight in found.parameters():
            weight.copy_(0.25 * torch.randn_like(weight))
    return found


def test_no_pixel_sees_itself_or_a_later_one(module):
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.integers(0, 5, (1, 9, 9)))
    y, z = torch.tensor([1]), torch.ones(1, 2)
    before = module(x, y, z).detach()
    reached = 0
    for r, c in ((0, 0), (3, 4), (5, 0), (6, 8)):
        other = x.clone()
        other[0, r, c] = (other[0, r, c] + 1) % 5
        changed = ((module(other, y, z) - before).abs().amax(1)[0] > 1e-6).flatten()
        assert not changed[: 9 * r + c + 1].any()
        reached += int(changed.sum())
    assert reached > 100


def test_drawing_follows_the_network_that_learned(module):
    """Every drawn level is where its coin falls in the distribution that ``forward`` gives."""
    y, z = torch.tensor([0, 1, 2, 2]), torch.randn(4, 2)
    with torch.inference_mode():
        drawn = module.draw(y, z, np.random.default_rng(1))
        chance = module(drawn, y, z).double().softmax(1).cumsum(1)
    coins = np.random.default_rng(1).random((81, 4)).T.reshape(4, 1, 9, 9)
    expected = (chance < torch.from_numpy(coins)).sum(1).clamp(max=4)
    assert len(torch.unique(drawn)) == 5
    assert (drawn != expected).sum() <= 1  # a coin may fall on an edge, to the last bit


def test_greys_keep_frequent_values_apart_and_give_values_of_the_records(rng):
    images = np.where(rng.random((200, 64)) < 0.5, 0.0, rng.integers(1, 256, (200, 64)))
    greys = Greys.of(images, 16)
    codes = greys.codes(images)
    assert 10 <= greys.count <= 17
    assert np.array_equal(codes == 0, images == 0.0)
    assert np.bincount(codes.ravel())[1:].min() > 200
    back = greys.values(codes, rng)
    assert np.array_equal(greys.codes(back), codes)
    assert np.isin(back, images).all()
    few = Greys.of(images // 64, 16)
    assert np.array_equal(few.values(few.codes(images // 64), rng), images // 64)


def test_a_sketch_knows_what_an_image_looks_like(rng):
    smooth = np.repeat(rng.normal(size=(50, 8)), 8, axis=1)
    rough = smooth + rng.normal(size=(50, 64))
    images = np.concatenate([smooth, rough])
    told = Outline.of(images, 4).of_images(images)
    assert told.shape == (100, 6)
    np.testing.assert_allclose(told.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(told.std(axis=0), 1.0)
    assert told[:50, 5].max() < told[50:, 5].min()


@pytest.mark.slow
def test_a_training_that_was_stopped_goes_on_where_it_was(digits, tmp_path, monkeypatch):
    whole = made(digits[:200]).to_arrow()
    step, calls = pixel_network.Networks.step, []

    def stopped(self, *given):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(1)
        step(self, *given)

    with monkeypatch.context() as broken:
        broken.setattr(pixel_network.Networks, "step", stopped)
        with pytest.raises(KeyboardInterrupt):
            made(digits[:200], pieces=tmp_path)
    assert len(list(tmp_path.glob("pixels-*.piece"))) == 2
    told = []
    again = made(digits[:200], pieces=tmp_path, told=lambda *now: told.append(now))
    assert again.to_arrow().equals(whole)
    assert told == [("steps", k, 3) for k in (1, 2, 3)]
    assert not made(digits[:200], seed=1).to_arrow().equals(whole)


def test_the_best_average_is_kept():
    found = pixel_network.Networks((8, 2, 1, 0), width=2, depth=1, blur=0.0)
    held = torch.zeros(4, 8, 8, dtype=torch.int64), torch.zeros(4, dtype=torch.int64)
    held = (*held, torch.zeros(4, 0))
    bias = {name: found.all[name].out[-1].bias for name in ("average", "best")}
    for value in (0.0, 3.0, 1.0):  # in favour of the level that all of these images have
        with torch.no_grad():
            bias["average"][0] = value
        found.judge(held)
    assert bias["best"][0].item() == 3.0


def test_the_labeler_has_the_last_word(digits, monkeypatch):
    monkeypatch.setattr(pixels, "labels", lambda images, classes, new, rng: np.full(len(new), 7))
    assert set(made(digits[:200])["digit"].to_list()) == {"7"}
    assert len(set(made(digits[:200], labeler=False)["digit"].to_list())) > 3


def test_labels_are_drawn_as_surely_as_the_records_say(digits):
    """Digits, of which those below five were called 0 or 1 by a coin."""
    rng = np.random.default_rng(0)
    images = digits.drop("digit").to_numpy().astype(float)
    digit = np.array([int(v) for v in digits["digit"].to_list()])
    classes = np.where(digit < 5, rng.integers(0, 2, len(digit)), 2)
    found = pixels.labels(images[:1200], classes[:1200], images[1200:], rng)
    low = digit[1200:] < 5
    assert np.mean(found[~low] == 2) > 0.85
    assert 0.35 < np.mean(found[low] == 0) < 0.65


@pytest.mark.slow
def test_digits_become_readable(digits):
    from sklearn.ensemble import RandomForestClassifier

    def split(frame):
        return frame.drop("digit").to_numpy(), np.array(frame["digit"].to_list())

    forest = RandomForestClassifier(50, random_state=0).fit(*split(digits))
    few, many = (
        forest.score(
            *split(made(digits, 500, steps=n, width=16, depth=4, levels=17, labeler=False))
        )
        for n in (10, 400)
    )
    assert few < 0.4
    assert many > 0.75


def test_refusals(digits, rng):
    with pytest.raises(InputError, match="too few to train a network on"):
        made(digits[:30])
    with pytest.raises(InputError, match="must be square"):
        PixelByPixel().generate(tables.read({"image": rng.normal(size=(70, 65))}), 2, rng)
    with pytest.raises(InputError, match="no column 'y'"):
        PixelByPixel("y").generate(digits, 2, rng)
    for name, wrong in (("steps", 0), ("levels", 1), ("sketch", -1), ("blur", -0.1)):
        with pytest.raises(InputError, match=f"{name} must be at least"):
            PixelByPixel(**{name: wrong})
    with pytest.raises(InputError, match="rate must be positive"):
        PixelByPixel(rate=0.0)
