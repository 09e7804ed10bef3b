"""The experiments on images, clicks, texts and a million labels simulate what they say."""

from __future__ import annotations

import csv
import gzip
import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
label_clicks = importlib.import_module("label_clicks")
label_figures = importlib.import_module("label_figures")
label_games = importlib.import_module("label_games")
label_privacy = importlib.import_module("label_privacy")
label_text = importlib.import_module("label_text")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_playing_the_likely_records_first_gives_the_games_of_playing_all() -> None:
    given = label_privacy.world(3000, 3, np.random.default_rng(0))
    target = label_privacy.released(given, 2.0, np.random.default_rng(1))
    every = label_privacy.Published.of(given.codes, target, given.truth)
    guesses, rng = np.array([3, 60]), np.random.default_rng(2)
    focused = label_figures.Focused.of(every, 60, rng)
    assert 60 < focused.first.codes.size < 2500
    assert focused.first.codes.size + focused.rest.codes.size == 3000
    mine = np.array([focused.play(guesses, rng) for _ in range(400)])
    all_of_them = np.array([every.play((0.001, 0.02), rng)[1] for _ in range(400)])
    for i in range(2):
        spread = math.sqrt(mine[:, i].var() / 400 + all_of_them[:, i].var() / 400)
        assert abs(mine[:, i].mean() - all_of_them[:, i].mean()) < 4.0 * spread


def test_a_game_that_needs_the_rest_plays_it() -> None:
    codes, score = np.zeros(50, dtype=np.intp), np.full((50, 2), 0.5)
    total = np.tile([0.5, 1.0], (50, 1))
    every = label_privacy.Published(codes, total, score)
    none = np.zeros(50, dtype=bool)
    part, rest = label_figures._part(every, none), label_figures._part(every, ~none)
    found = label_figures.Focused(part, rest, 0.5).play(np.array([10]), np.random.default_rng(0))
    assert 0 <= found[0] <= 10


def test_the_figures_are_computed_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--records", "2000", "--repetitions", "3", "--classes", "2", "--epsilons", "4"]
    label_figures.main([*command, "--out", str(tmp_path)])
    first = (tmp_path / "label_figures.csv").read_text()
    kept = sorted((tmp_path / "pieces").iterdir())
    assert len(kept) == 4  # two proxies, two adversaries
    label_figures.main([*command, "--out", str(tmp_path)])
    assert (tmp_path / "label_figures.csv").read_text() == first
    assert sorted((tmp_path / "pieces").iterdir()) == kept
    assert "2 classes, 2000 records" in capsys.readouterr().out


def test_a_score_that_knows_members_claims_and_one_that_does_not_claims_nothing() -> None:
    rng = np.random.default_rng(0)
    inside, outside = rng.normal(3.0, size=500), rng.normal(size=500)
    assert min(label_games.membership_inference(inside, outside, 3, rng)) > 1.0
    nothing = label_games.membership_inference(rng.normal(size=500), outside, 5, rng)
    assert np.median(nothing) < 0.5


def test_calibration_and_rmia_need_a_proxy_that_differs() -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(2, size=400)
    q = np.full((400, 2), 0.5)
    sure = np.where(np.eye(2, dtype=bool)[codes], 0.99, 0.01)
    found = label_games.attacks((codes, sure, q), (codes, q, q), 3, rng)
    assert found["calibration"] > 1.0
    assert found["rmia"] > 1.0


def test_clicks_are_rare_and_their_probabilities_true() -> None:
    day = label_clicks.World(0).day(1, 60_000, 3)
    assert day.x.shape == (60_000, 39)
    assert 0.02 < day.y.mean() < 0.045
    for low, high in ((0.0, 0.01), (0.01, 0.05), (0.05, 0.2), (0.2, 1.0)):
        own = (day.truth[:, 1] >= low) & (day.truth[:, 1] < high)
        expected = day.truth[own, 1]
        spread = math.sqrt((expected * (1.0 - expected)).sum())
        assert abs(day.y[own].sum() - expected.sum()) < 4.0 * spread
    drifted = label_clicks.World(0, drift=1.0).day(1, 1000, 3)
    assert not np.allclose(drifted.truth, label_clicks.World(0).day(1, 1000, 3).truth)


@pytest.mark.slow
def test_the_click_tables_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "--quick --learner boosting --records 1500 --mechanisms LP-1ST PATE --queries 200"
    label_clicks.main([*command.split(), "--out", str(tmp_path)])
    found = rows_of(tmp_path / "label_clicks.csv")
    assert {r["mechanism"] for r in found} == {"LP-1ST", "PATE", label_clicks.NULL}
    for row in found:
        promised = 0.0 if row["mechanism"] == label_clicks.NULL else float(row["epsilon"])
        assert float(row["ours_1e-5"]) <= promised
    assert "Table 5" in capsys.readouterr().out


def test_passages_are_labelled_by_their_novel(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {
        "SENSE AND SENSIBILITY": ["SENSE", "CHAPTER 1", "one two three four five"],
        "EMMA": ["EMMA", "CHAPTER I", "six seven eight nine"],
    }
    monkeypatch.setattr(label_text, "novels", lambda path: said)
    texts, labels = label_text.passages(Path("nowhere"), 2)
    assert texts == ["one two", "three four", "six seven", "eight nine"]
    assert labels.tolist() == [1, 1, 0, 0]


def idx(values: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, values.ndim]) + np.asarray(values.shape, dtype=">u4").tobytes()
    return gzip.compress(head + values.astype(np.uint8).tobytes())


def pictures(folder: Path, train: int, test: int) -> None:
    """Images of 28 x 28 pixels: each class has a bright square at a place of its own."""
    rng = np.random.default_rng(0)
    for part, size in (("train", train), ("t10k", test)):
        labels = np.arange(size) % 10
        pixels = rng.integers(0, 60, size=(size, 28, 28))
        for i, c in enumerate(labels):
            pixels[i, 5 * (c // 2) : 5 * (c // 2) + 6, 12 * (c % 2) : 12 * (c % 2) + 8] += 150
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(idx(pixels))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(idx(labels))


def test_networks_learn_from_hard_soft_and_no_labels(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    small_networks = importlib.import_module("small_networks")
    pictures(tmp_path, 600, 100)
    x, y = small_networks.small_images(tmp_path)
    assert x.shape == (700, 196)
    net = small_networks.ConvNet(epochs=6, batch=32, random_state=0)
    again = [net.fit(x[:300], y[:300]).predict_proba(x[600:]) for _ in range(2)]
    assert (again[0] == again[1]).all()
    assert (again[0].argmax(axis=1) == y[600:]).mean() > 0.8
    soft = 0.8 * np.eye(10)[y[:300]] + 0.02
    found = net.fit_soft(x[:300], soft, np.arange(10)).predict_proba(x[600:])
    assert (found.argmax(axis=1) == y[600:]).mean() > 0.8
    match = small_networks.FixMatch(x[:300], epochs=8, batch=32, random_state=0)
    found = match.fit(x[300:340], y[300:340]).predict_proba(x[600:])
    assert (found.argmax(axis=1) == y[600:]).mean() > 0.5
    beside = np.column_stack([x[600:], np.ones(100)])  # columns after the pixels are not seen
    assert (match.predict_proba(beside) == found).all()


def test_the_cameras_true_propensities_are_calibrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    vision_shift = importlib.import_module("vision_shift")
    pictures(tmp_path, 9000, 1000)
    monkeypatch.setattr(vision_shift, "photographed", lambda images, *_: np.zeros((len(images), 1)))
    shop = vision_shift.Shop(tmp_path, np.random.default_rng(0))
    one, two = shop.take(1, 3500), shop.take(2, 3500)
    log_odds = np.concatenate([one.log_odds, two.log_odds])
    first = np.repeat([1.0, 0.0], 3500)
    for low, high in ((-9.0, -1.5), (-1.5, 0.0), (0.0, 1.5), (1.5, 9.0)):
        own = (log_odds >= low) & (log_odds < high)
        expected = expit(log_odds[own])
        spread = math.sqrt((expected * (1.0 - expected)).sum())
        assert abs(first[own].sum() - expected.sum()) < 4.0 * spread
    with pytest.raises(vision_shift.DivulgeError, match="Too few images"):
        shop.take(1, 9000)


def test_a_picture_that_is_not_turned_stays_what_it_is(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    vision_shift = importlib.import_module("vision_shift")
    images = np.random.default_rng(0).integers(0, 255, size=(3, 28, 28)).astype(np.uint8)
    plain = vision_shift.photographed(images, np.zeros(3), np.zeros(3))
    blocks = images.reshape(3, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(3, -1) / 255.0
    assert np.allclose(plain, blocks, atol=1e-5)
    darker = vision_shift.photographed(images, np.zeros(3), np.full(3, -1.0))
    assert np.allclose(darker, blocks * math.exp(-1.0), atol=1e-5)


@pytest.mark.slow
def test_vision_shift_compares_the_corrections(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    vision_shift = importlib.import_module("vision_shift")
    pictures(tmp_path, 9000, 1500)
    command = ["--quick", "--seeds", "1", "--fashion", str(tmp_path), "--out", str(tmp_path)]
    vision_shift.main(command)
    found = rows_of(tmp_path / "vision_shift.csv")
    assert {r["arm"] for r in found} == set(vision_shift.ARMS)
    assert {r["correction"] for r in found} == set(vision_shift.BOUNDS)
    ours = [r for r in found if (r["arm"], r["correction"]) == ("never seen", "ours")]
    assert all(float(r["mu"]) == 0.0 for r in ours)
    assert "estimated propensity" in (tmp_path / "vision_shift.svg").read_text()
    assert "verdicts with the control" in capsys.readouterr().out


@pytest.mark.slow
def test_label_images_has_every_learner(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    label_images = importlib.import_module("label_images")
    pictures(tmp_path, 2400, 400)
    command = ["--quick", "--without-ours", "--fashion", str(tmp_path), "--out", str(tmp_path)]
    label_images.main(command)
    found = rows_of(tmp_path / "label_images.csv")
    assert {r["mechanism"] for r in found} == {*label_images.MECHANISMS, label_images.NULL}
    assert {float(r["epsilon"]) for r in found} == {1.0, math.inf}
