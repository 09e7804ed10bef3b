from __future__ import annotations

import pytest
from scipy.special import expit

from divulge.errors import InputError
from divulge.mechanisms import Shifted
from divulge.mechanisms.shifted import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_the_stated_log_odds_are_the_true_ones(kind, rng):
    """Calibration in bins: members among records with log-odds near l have share sigma(l)."""
    table = Shifted(kind, 2.0).sample(60_000, rng)
    member = table.truth > 0
    for low, high in ((-2.0, -1.0), (-1.0, 0.0), (0.0, 1.0), (1.0, 2.0)):
        inside = (table.log_odds >= low) & (table.log_odds < high)
        if inside.sum() > 1000:
            expected = expit(table.log_odds[inside]).mean()
            assert member[inside].mean() == pytest.approx(expected, abs=0.04)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "none"])
def test_the_score_follows_the_shift_unless_told_otherwise(kind, rng):
    table = Shifted(kind, 2.0).sample(20_000, rng)
    gap = table.score[table.truth > 0].mean() - table.score[table.truth < 0].mean()
    assert abs(gap) > 0.1, "a naive audit sees a leak although nothing leaks"
    free = Shifted(kind, 2.0, follows=False).sample(20_000, rng)
    gap = free.score[free.truth > 0].mean() - free.score[free.truth < 0].mean()
    assert abs(gap) < 0.06


def test_a_leak_is_added_to_members(rng):
    table = Shifted("none", mu=1.0, columns=10).sample(20_000, rng)
    assert table.features.shape == (20_000, 10)
    gap = table.score[table.truth > 0].mean() - table.score[table.truth < 0].mean()
    assert gap == pytest.approx(1.0, abs=0.06)
    assert Shifted(mu=1.0).curve.mu() == 1.0


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="Unknown shift"):
        Shifted("magic")
    with pytest.raises(InputError, match="columns"):
        Shifted(columns=3)
