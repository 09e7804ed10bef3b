"""Section 4.2 on images at a tiny size: the network it trains, its noise, and how it goes on."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).parents[2] / "experiments" / "mcmc_images.py"
spec = importlib.util.spec_from_file_location("experiment_mcmc_images", PATH)
images = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = images  # dataclasses look their module up
spec.loader.exec_module(images)
SMALL = images.Size(records=29, units=8, epochs=3, batch=10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Images in the format of Fashion-MNIST, with classes that differ."""
    place, rng = tmp_path_factory.mktemp("fashion"), np.random.default_rng(0)
    labels = rng.integers(0, 10, 900).astype(np.uint8)
    pixels = (rng.integers(0, 128, (900, 784)) + 12 * labels[:, None]).astype(np.uint8)
    for name, head, values in (("images-idx3", 16, pixels), ("labels-idx1", 8, labels)):
        with gzip.open(place / f"train-{name}-ubyte.gz", "wb") as file:
            file.write(bytes(head) + values.tobytes())
    return place


def plain_loss(base, with_record: bool, seed, fixed: bool) -> float:
    """The same network with its weights as they are."""
    rng = np.random.default_rng(seed)
    begin = np.random.default_rng(0) if fixed else rng
    first = np.append(images.glorot(begin, 784, SMALL.units), np.zeros((1, SMALL.units)), axis=0)
    second, last = images.glorot(begin, SMALL.units, 2).astype(float), np.zeros(2)
    count = SMALL.records + int(with_record)
    x, truth = base.x[:count].astype(float), np.eye(2)[base.y[:count]]
    weights = [first.astype(float), second, last]
    speeds = [np.zeros_like(w) for w in weights]
    for _ in range(SMALL.epochs):
        order = rng.permutation(count)
        for k in range(0, count, SMALL.batch):
            rows = order[k : k + SMALL.batch]
            hidden = np.maximum(x[rows] @ weights[0], 0.0)
            error = (images.softmax(hidden @ weights[1] + weights[2]) - truth[rows]) / rows.size
            back = (error @ weights[1].T) * (hidden > 0.0)
            slopes = (x[rows].T @ back, hidden.T @ error, error.sum(axis=0))
            for v, w, g in zip(speeds, weights, slopes, strict=True):
                v *= images.MOMENTUM
                v -= images.RATE * g
                w += v
    z = np.maximum(base.x[-1] @ weights[0], 0.0) @ weights[1] + weights[2]
    return float(np.logaddexp(0.0, z[1 - base.y[-1]] - z[base.y[-1]]))


@pytest.mark.parametrize("with_record", [False, True])
@pytest.mark.parametrize("fixed", [False, True])
def test_the_kernel_trains_the_same_network(folder, with_record, fixed):
    base = images.challenge(folder, 0, SMALL, 0)
    found = images.released_losses(base, base.kernel(), with_record, (1, 2), fixed, SMALL)
    assert found[0] == pytest.approx(plain_loss(base, with_record, (1, 2), fixed), rel=2e-3)


def test_noise_spreads_the_loss(folder):
    base = images.challenge(folder, 3, SMALL, 0)
    assert set(np.unique(base.y)) == {0, 1}
    kernel = base.kernel()
    losses = np.array(
        [images.released_losses(base, kernel, True, (k,), True, SMALL) for k in range(30)]
    )
    spread = losses.std(axis=0)
    assert spread[0] < spread[1] < spread[3]


def test_a_logit_is_the_loss_on_another_scale():
    p = np.array([1e-6, 0.3, 0.9, 1.0 - 1e-9])
    assert images.logit(-np.log(p)) == pytest.approx(np.log(p) - np.log1p(-p), rel=1e-6)


def test_it_goes_on_where_it_was_and_reads_its_losses(folder, tmp_path, capsys, monkeypatch):
    words = ["--quick", "--bases", "2", "--models", "10", "--out", str(tmp_path)]
    words += ["--fashion", str(folder)]
    monkeypatch.setattr(images, "show", lambda losses, *_: print(len(losses), "sets of losses"))
    images.main([*words, "--minutes", "0"])
    assert "No base is complete yet" in capsys.readouterr().out
    images.main(words)
    assert "16 sets of losses" in capsys.readouterr().out
    with (tmp_path / "mcmc_images_losses.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 2 * 2 * 2 * 10 * 4

    def refuse(*_: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(images, "released_losses", refuse)
    images.main(words)
    images.main(["--losses", str(tmp_path / "mcmc_images_losses.csv"), "--models", "10"])
    assert capsys.readouterr().out.count("16 sets of losses") == 2


@pytest.mark.slow
def test_the_tables_are_printed(capsys):
    rng = np.random.default_rng(1)
    losses = {
        (fixed, base, noise): (rng.lognormal(-1, 1, 20), rng.lognormal(-3, 0.6, 20))
        for fixed in (True, False)
        for base in range(3)
        for noise in images.NOISES
    }
    rows = images.show(losses, images.Console(width=200), {"taus": 3, "correlations": 3})
    assert len(rows) == 6
    assert all(row[1] == 3 for row in rows)
    assert all(row[6] <= 0.1 for row in rows)  # false positives by ranks
    assert "ranks on the logit" in capsys.readouterr().out
