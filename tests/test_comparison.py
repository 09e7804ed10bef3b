from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import divulge
from divulge.comparison import compare, trend
from divulge.errors import InputError
from divulge.report.trend import print_trend
from divulge.result import Result


@cache
def audited(mu: float, seed: int, rows: int = 2000) -> Result:
    rng = np.random.default_rng(seed)
    member = np.arange(rows) % 2 == 0
    return divulge.membership(
        {"member": member, "loss": rng.normal(size=rows) - mu * member}, seed=seed
    )


def test_a_model_that_leaks_more_is_worse():
    found = compare(audited(0.5, 0), audited(1.5, 1))
    assert found.worse
    assert found.exit_code == 1
    assert "the AUC from" in found.sentence
    assert compare(audited(1.5, 1), audited(0.5, 0)).exit_code == 0


@pytest.mark.slow
def test_chance_is_rarely_called_worse():
    games = [compare(audited(1.0, 2 * k, 400), audited(1.0, 2 * k + 1, 400)) for k in range(40)]
    assert any(c.rose for game in games for c in game.changes)
    assert sum(game.worse for game in games) <= 6  # 5% of 40, and three standard deviations


def test_what_cannot_be_compared():
    first = audited(1.0, 0)
    with pytest.raises(InputError, match="two games"):
        compare(first, divulge.retraining({"fp": [3], "fn": [5], "n": [100]}))
    with pytest.raises(InputError, match="at least two"):
        trend([first])
    nothing = divulge.membership({"member": [0, 1] * 300, "loss": np.zeros(600)})
    found = compare(first, nothing)
    assert (found.comparable, found.exit_code, found.worse) == (False, 3, False)


def test_a_trend_has_a_line_for_each(capsys):
    results = [audited(m, 3) for m in (0.0, 1.0, 2.0)]
    assert [c.worse for c in trend(results)] == [True, True]
    print_trend(["a.json", "b.json", "c.json"], results)
    said = capsys.readouterr().out
    assert [line.split()[0] for line in said.splitlines()[-3:]] == ["a.json", "b.json", "c.json"]
