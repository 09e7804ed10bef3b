"""Charts: both directions of guesses, and no chart where there is nothing to see."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import divulge
from divulge.report import charts
from divulge.report.html import drawings
from divulge.report.wording import Words


def rows(drawing, curve):
    found = drawing.to_dict()
    held = [row for data in found["datasets"].values() for row in data]
    return [(r["fpr"], r["tpr"]) for r in held if r.get("curve") == curve]


@cache
def audited(features=()):
    rng = np.random.default_rng(0)
    member = np.arange(1200) % 2 == 0
    loss = rng.normal(size=1200) + np.where(~member & (rng.random(1200) < 0.3), 8.0, 0.0)
    x = rng.normal(size=1200) + 0.5 * member
    data = {"member": member, "loss": loss, "x": x}
    return (
        member,
        loss,
        divulge.membership(data, score="loss", features=features, estimator="logistic", quick=True),
    )


@pytest.mark.slow
def test_guesses_of_both_kinds_are_drawn():
    pytest.importorskip("altair")
    member, loss, result = audited()
    drawn = charts.roc(result.diagnostics, Words())
    other = rows(drawn, "the same attack, guessing non-members")
    assert other[0] == (0.0, 0.0)
    assert other[-1] == pytest.approx((1.0, 1.0), abs=0.01)
    assert other == sorted(other)
    for across, up in other[1:-1:20]:  # some threshold lets this share of each group go
        cut = np.quantile(loss[~member], 1.0 - up)
        assert np.mean(loss[member] > cut) == pytest.approx(across, abs=0.05)
    mu = next(b.value for b in result.headline() if b.parameter == "mu")
    assert mu > 0.5  # the members are not told apart: the others are
    assert max(up for across, up in rows(drawn, "attack, as measured") if across < 0.05) < 0.1
    assert max(up for across, up in other if across < 0.05) > 0.25


def test_a_chart_without_data_is_not_drawn():
    pytest.importorskip("altair")
    assert "overlap-before" not in drawings(audited()[2])
    assert "overlap-before" in drawings(audited(("x",))[2])
