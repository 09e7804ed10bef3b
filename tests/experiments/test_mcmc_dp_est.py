"""The posterior experiment at tiny size: it trains, resumes, and writes what it prints."""

from __future__ import annotations

import csv
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2]


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


experiment = load(FOLDER / "experiments" / "mcmc_dp_est.py")


def test_training_learns_and_the_start_is_fixed_where_it_should_be() -> None:
    (((x, y), record),) = experiment.bases(1, 0)
    assert x.shape == (experiment.RECORDS, 64)
    fixed, random = experiment.ALGORITHMS[:2]
    first = experiment.train((x, y), 1, fixed)
    losses = [experiment.loss(first, (a, b)) for a, b in zip(x[:50], y[:50], strict=True)]
    assert np.mean(losses) < 0.3
    again = experiment.train((x, y), 1, fixed)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    spread = [
        np.std([experiment.loss(experiment.train((x, y), s, a), record) for s in range(6)])
        for a in (fixed, random)
    ]
    assert all(value > 0.0 for value in spread)


def test_noise_is_added_to_the_released_weights() -> None:
    (((x, y), _),) = experiment.bases(1, 0)
    quiet = experiment.train((x, y), 3, experiment.ALGORITHMS[0])
    noisy = experiment.train((x, y), 3, experiment.ALGORITHMS[2])
    difference = np.concatenate([(a - b).ravel() for a, b in zip(quiet, noisy, strict=True)])
    assert np.std(difference) == pytest.approx(0.1, rel=0.1)


@pytest.mark.slow
def test_a_tiny_run_writes_tables_and_figures_and_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("altair", reason="altair is in the extra report")
    monkeypatch.setattr(experiment, "EPOCHS", 3)
    words = ["--quick", "--bases", "2", "--models", "8", "--out", str(tmp_path)]
    experiment.main(words)
    printed = capsys.readouterr().out
    assert "Figure 2" in printed
    with (tmp_path / "mcmc_dp_est.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["algorithm"][:2] for row in rows] == ["A1", "A4"]
    assert all(0.0 <= float(row["eps_q05"]) < float(row["eps_q95"]) for row in rows)
    assert (tmp_path / "mcmc_dp_est_joint.svg").read_text().startswith("<svg")

    def refuse(*_: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(experiment, "start", refuse)  # what every training begins with
    experiment.main(words)


@pytest.mark.slow
def test_the_comparison_reads_the_published_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = load(FOLDER / "benchmarks" / "mcmc_table.py")
    path = tmp_path / "counts.csv"
    path.write_text("algorithm,challenge_base,N0,N1,X_fp,Y_fn\nA1,1,30,30,3,1\nA1,2,30,30,4,0\n")
    assert script.counts_by_algorithm(path)["A1"].tolist() == [[3, 30, 1, 30], [4, 30, 0, 30]]
    mixed = tmp_path / "mixed.csv"
    mixed.write_text("algorithm,N0,N1,X_fp,Y_fn\nA2,30,30,9,1\nA1,30,30,3,1\nA2,30,30,2,5\n")
    found = script.counts_by_algorithm(mixed)  # rows stay with their algorithm, in any order
    assert found["A1"].tolist() == [[3, 30, 1, 30]]
    assert sorted(found["A2"].tolist()) == [[2, 30, 5, 30], [9, 30, 1, 30]]
    small = "--taus 3 --correlations 3 --resolution 0.4"
    monkeypatch.setattr(sys, "argv", ["mcmc_table.py", str(path), *small.split()])
    script.main()
    assert "5.52 - 10.52" in capsys.readouterr().out


def test_the_comparison_reads_the_losses_that_the_authors_published(tmp_path: Path) -> None:
    script = load(FOLDER / "benchmarks" / "mcmc_table.py")
    rng = np.random.default_rng(0)
    pairs = [(rng.lognormal(0, 1, 12), rng.lognormal(-2, 1, 12)) for _ in range(2)]
    text = "* * *\n|D| : 1000\n"
    for zero, one in pairs:
        text += f"l_0 : {tuple(map(float, zero))}\nl_1 : {tuple(map(float, one))}\n\n"
    (tmp_path / "dp_attack_wo_DP_fixed_weights_0.1.txt").write_text(text)
    found = script.counts_by_algorithm(tmp_path)
    assert list(found) == ["A1"]
    expected = [script.parametric.cross_fed(*pair, [0.1])[0] for pair in pairs]
    assert found["A1"].tolist() == np.array(expected).tolist()
