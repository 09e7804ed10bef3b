"""The experiment on chosen numbers of guesses solves what it says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from divulge.bounds import recursion
from divulge.curves import Gaussian

sys.path.insert(0, str(Path(__file__).parents[2] / "experiments"))
import choosing_guesses as experiment


def test_the_least_count_refutes_and_one_less_does_not():
    for r in (10, 33, 60):
        c = experiment.least_refuting(Gaussian(0.3), 60, r, 0.05)
        assert c == r + 1 or recursion.rejects(Gaussian(0.3), 60, r, c, error=0.05)
        assert not recursion.rejects(Gaussian(0.3), 60, r, c - 1, error=0.05)


def test_choosing_never_hurts_the_model():
    row = experiment.for_mu(60, 0.4, (20, 60), 0.05)
    assert 0.0 < row.fixed <= row.chosen * (1 + 1e-6)


def test_it_prints_every_pair(capsys):
    experiment.main(["--only", "epsilon", "--trials", "40", "--errors", "0.05"])
    said = capsys.readouterr().out
    assert said.count("delta 0.001") == 3
    assert "chosen, paid" in said


def test_errors_that_are_not_numbers_are_refused():
    with pytest.raises(SystemExit):
        experiment.main(["--errors", "small"])
