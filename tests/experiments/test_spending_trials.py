"""The experiment on other ways to spend the trials proves by each way what that way may prove."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from divulge.mechanisms import GaussianMechanism, Null

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
import spending_trials as experiment


@pytest.mark.parametrize("way", [experiment.once, experiment.exchanged, experiment.Chosen("both")])
def test_every_way_proves_something_and_not_too_much(way):
    trials = GaussianMechanism(2.0).sample(2000, np.random.default_rng(0))
    assert 1.5 < way(trials, np.random.default_rng(1)) < 10.0
    nothing = Null().sample(2000, np.random.default_rng(0))
    assert way(nothing, np.random.default_rng(1)) < 0.2


def test_a_draw_that_may_run_dry_has_more_trials_and_less_error():
    names = list(experiment.draws(500, "mu"))
    trials = [int(name.split()[2]) for name in names]
    assert trials == sorted(trials)
    assert trials[0] == 858
    assert names[-1].endswith("error 0.04")


def test_it_prints_a_row_for_every_mechanism_and_way(capsys, monkeypatch):
    monkeypatch.setattr(experiment, "MECHANISMS", (GaussianMechanism(2.0),))
    experiment.main(["halves", "number", "--games", "2", "--sizes", "400"])
    rows = [line for line in capsys.readouterr().out.splitlines() if "gaussian" in line]
    assert len(rows) == 5
    firsts = [row for row in rows if "learned once" in row or "fair to epsilon" in row]
    assert all("+0.000 +- 0.000" in row for row in firsts)
    assert len(firsts) == 2
