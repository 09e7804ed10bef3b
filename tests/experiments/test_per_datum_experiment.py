"""The per-datum experiment at a tiny size: simulated as it says, and right where it says so."""

from __future__ import annotations

import csv
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from divulge.exposure.exposed import Release

PATH = Path(__file__).parents[2] / "experiments" / "per_datum.py"


@pytest.fixture(scope="module")
def experiment():
    spec = importlib.util.spec_from_file_location("experiment_per_datum", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_binomial_counts_have_the_moments_of_the_records(experiment):
    there, rng = experiment.world(40, 6, 20_000, 0)
    target = there.targets["easy"]
    means, inside = experiment.rounds(there, target, Release(40, rate=0.5), rng)
    out = means[~inside]
    error = np.sqrt(there.p * (1 - there.p) / 20 / out.shape[0])
    assert np.all(np.abs(out.mean(axis=0) - there.p) < 4 * error)
    shift = 0.5 * (target - there.p) / 20  # sampled half of the time, one of twenty then
    assert np.all(np.abs(means[inside].mean(axis=0) - there.p - shift) < 4.5 * error)
    np.testing.assert_allclose(out.var(axis=0), there.p * (1 - there.p) / 20, rtol=0.08)


@pytest.mark.slow
def test_it_writes_a_table_and_a_figure(experiment, tmp_path, capsys):
    sizes = "--size 100 --dimension 500 --rounds 600 --literal 20 --out"
    experiment.main([*sizes.split(), str(tmp_path)])
    with (tmp_path / "per_datum.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["panel"] for row in rows} == {"d", "e", "f"}
    beyond = [row for row in rows for key in ("z_fpr", "z_tpr") if abs(float(row[key])) > 3.0]
    assert len(beyond) <= 1  # of 54
    sampled = [row for row in rows if row["panel"] == "f" and row["fpr"] == "0.3"]
    assert all(float(row["z_published"]) < -5.0 for row in sampled)
    assert "<svg" in (tmp_path / "per_datum.svg").read_text()[:500]
    said = capsys.readouterr().out
    assert "Algorithm 1 record by record" in said
    assert "standard errors off" in said
