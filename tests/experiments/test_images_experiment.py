"""The experiment with images, on invented ones in the IDX format: complete, resumable, readable."""

from __future__ import annotations

import gzip
import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

pytest.importorskip("torch", reason="needs the extra 'torch'")

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
import image_models
import panoramia_helpers
import panoramia_images
from label_tables import PARTS

from divulge.data import tables
from divulge.errors import InputError
from divulge.work.pieces import Pieces

TINY = image_models.Sizes(
    members=720,
    epochs=(1, 3),
    widths=(2, 4),
    epsilons=(1.0,),
    private_epochs=(2, 1),
    private_batch=100,
    private_width=2,
    generator=2,
    helper=1,
    repeats=1,
    growing=(250,),
)


@pytest.fixture(scope="module")
def fashion(tmp_path_factory):
    """Stripes of ten widths, in noise."""
    folder, rng = tmp_path_factory.mktemp("fashion"), np.random.default_rng(0)
    for part, count in zip(PARTS, (2000, 2000, 200, 200), strict=True):
        if "images" in part:
            labels = rng.integers(0, 10, count)
            images = rng.integers(0, 100, (count, 28, 28))
            for i, label in enumerate(labels):
                images[i, :, : 2 * label + 2] += 100
            values, kind = images.astype(np.uint8), 3
        else:
            values, kind = labels.astype(np.uint8), 1
        head = bytes([0, 0, 8, kind]) + np.array(values.shape, ">u4").tobytes()
        (folder / f"{part}-ubyte.gz").write_bytes(gzip.compress(head + values.tobytes()))
    return folder


def test_the_parts_are_disjoint_and_the_seed_decides(fashion, tmp_path):
    one, two = (image_models.load(fashion, TINY, 3, Pieces()) for _ in range(2))
    assert np.array_equal(one.members[0], two.members[0])
    rows = np.concatenate([part[0] for part in (one.members, one.nonmembers, one.others)])
    assert len(np.unique(rows, axis=0)) == 3 * TINY.members
    with pytest.raises(InputError, match="At most"):
        image_models.load(fashion, image_models.Sizes(members=5_000), 0, Pieces())


def test_small_images_are_means_of_four_pixels(fashion):
    small, large = (
        image_models.load(fashion, replace(TINY, side=side), 3, Pieces()).members[0]
        for side in (14, 28)
    )
    assert small.shape == (TINY.members, 196)
    corners = large.reshape(-1, 28, 28)[:, :2, :2].mean(axis=(1, 2))
    assert np.abs(small[:, 0] - corners).max() <= 0.5
    with pytest.raises(InputError, match="14 or 28"):
        image_models.load(fashion, replace(TINY, side=20), 3, Pieces())


def test_copies_are_nearer_to_what_they_were_copied_from(rng):
    taught, others, fresh = rng.normal(size=(3, 50, 64))
    for images, least, most in ((fresh, 0.2, 0.8), (taught + 0.01, 1.0, 1.0)):
        near, far = (panoramia_images.nearest(images, some) for some in (taught, others))
        assert least <= np.mean(near < far) <= most


def test_an_epoch_is_a_piece_and_losses_follow_the_weights(fashion, tmp_path):
    run = image_models.load(fashion, TINY, 0, Pieces(tmp_path))
    first = image_models.plain(run, "target", 2, run.members, 2)
    before = {p: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
    more = image_models.plain(run, "target", 2, run.members, 3)
    assert len(list(tmp_path.iterdir())) == 3
    assert all(p.stat().st_mtime_ns == t for p, t in before.items())
    for a, b in zip(first, more, strict=False):
        assert all(np.array_equal(a[k], b[k]) for k in a)
    losses = [image_models.losses_of(s, 2, *run.members).mean() for s in more]
    assert losses[2] < losses[0]
    assert image_models.accuracy(more[2], 2, run.members) > 0.15


@pytest.mark.slow
def test_all_tables_are_printed_and_kept(fashion, tmp_path, monkeypatch, capsys):
    private = [] if importlib.util.find_spec("opacus") else ["--without-dp"]
    monkeypatch.setattr(panoramia_images, "QUICK", TINY)
    words = ["--quick", "--fashion", str(fashion), "--out", str(tmp_path), *private]
    panoramia_images.main(words)
    text = (tmp_path / "tables-quick.md").read_text()
    for title in ("Generator", "Table 1", "Table 2", "Table 3", "Figure 6", "Figure 8"):
        assert f"{title}" in text
    assert text.count("width 4, 3 epochs") >= 4
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "pieces").iterdir()}
    capsys.readouterr()
    panoramia_images.main(words)
    assert (tmp_path / "tables-quick.md").read_text() == text
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "pieces").iterdir()} == before


def test_spread_is_a_mean_rounded_down_and_half_a_t_interval():
    assert panoramia_images.spread([0.999]) == "0.99"
    assert panoramia_images.spread([1.0, 2.0, 3.0]) == "2.00 ± 2.48"


def test_helpers_of_the_baseline_are_chosen_in_blocks(tmp_path, rng):
    folder = tmp_path / "E1"
    folder.mkdir()
    for part in ("members", "generated"):
        columns = {
            f"{who}_{k}": rng.normal(size=40)
            for who in ("target", "helper", "reference", "e")
            for k in ("loss", "min_k")
        }
        table = tables.read(columns).to_arrow()
        pyarrow.parquet.write_table(table, folder / f"{part}.parquet")
    material = panoramia_helpers.text_material(tmp_path, "E1")
    assert material.real.size == material.generated.size == 40
    widths = {
        name: panoramia_helpers.with_helpers(material, which).helper.shape[1]
        for name, which in panoramia_helpers.KINDS.items()
    }
    assert widths == {"none": 0, "generated": 2, "real": 2, "both": 4}
    one = panoramia_helpers.with_helpers(material, (1,)).helper
    np.testing.assert_array_equal(one, material.seen.helper[:, 2:])
    with pytest.raises(InputError, match="panoramia_text"):
        panoramia_helpers.text_material(tmp_path, "E2")


@pytest.mark.slow
def test_a_private_network_learns_little_with_a_small_epsilon(rng):
    pytest.importorskip("opacus", reason="needs the extra 'dpsgd'")
    from private_network import PrivateNetwork

    x = rng.normal(size=(1500, 5))
    y = np.where(x[:, 0] + 0.3 * rng.normal(size=1500) > 0, "yes", "no")
    right = {e: PrivateNetwork(e).fit(x, y).score(x, y) for e in (0.05, 10.0)}
    assert right[10.0] > 0.85 > right[0.05]
