from __future__ import annotations

import numpy as np
import pytest

from divulge import selftest
from divulge.selftest.hostile import ALL, FEW, SHARE, Hostile, Needed
from divulge.selftest.run import REPETITIONS


@pytest.mark.parametrize("kind", [*ALL])
def test_nothing_leaks_given_the_record(kind):
    """Target and control are made alike, so that neither knows a truth the other does not."""
    drawn = ALL[kind](600, np.random.default_rng(0))
    assert drawn.truth.shape == drawn.score.shape == drawn.control.shape
    assert set(np.unique(drawn.truth)) == {-1.0, 1.0}
    assert not np.array_equal(drawn.score, drawn.control)


def test_every_kind_has_a_row_of_a_hundred_games():
    rows = selftest.cases(only="hostile, membership headline")
    assert len(rows) == len(ALL) + len(FEW)
    assert all(row.share * REPETITIONS >= 100 for row in rows)
    assert SHARE * REPETITIONS >= 100
    assert all(isinstance(row.play, Hostile) for row in rows)


def test_the_checklist_is_checked():
    checks = selftest.cases(quick=True, only="hostile, robust")
    assert len(checks) == 9
    assert all(isinstance(check.compute, Needed) for check in checks)
    assert all(row.holds for row in selftest.run(checks))
