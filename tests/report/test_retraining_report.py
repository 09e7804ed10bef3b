"""The report of a posterior: every chart, in the game's words, and odd results do not break it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

pytest.importorskip("altair", reason="altair is in the extra report")

import divulge
from divulge.report import html, posterior_charts, posterior_text
from divulge.result import Result

CHARTS = ("region", "joint", "density-epsilon", "density-strength", "priors", "trace",
          "autocorrelation")  # fmt: skip


@pytest.fixture(scope="module")
def result() -> Result:
    return divulge.retraining([[5, 60, 9, 60], [8, 60, 3, 60]], deltas=(1e-3,), sampler=1000)


def test_every_chart_is_drawn(result):
    page = html.page(result)
    for name in CHARTS:
        assert f'id="chart-{name}"' in page
    assert "Where do the attacks lie?" in page
    assert "models trained with the record" in page
    assert "Do the counts look like the model" in page
    assert "strength 1" in page


def test_a_result_from_disk_draws_the_same(result):
    assert html.page(Result.from_json(json.loads(result.dumps()))) == html.page(result)


def test_a_fixed_strength_and_no_sampler_leave_charts_out():
    found = divulge.retraining([[5, 60, 9, 60]], deltas=(0.0,), strength=1)
    page = html.page(found)
    assert 'id="chart-region"' in page
    assert 'id="chart-density-epsilon"' in page
    for name in ("joint", "density-strength", "trace"):
        assert f'id="chart-{name}"' not in page


def test_the_frame_goes_round_the_region(result):
    drawing = posterior_charts.joint(result.diagnostics)
    assert drawing is not None
    rows = [
        {"from": 0, "to": 1, "low": 0, "high": 1, "held": "yes"},
        {"from": 1, "to": 2, "low": 0, "high": 1, "held": "yes"},
        {"from": 2, "to": 3, "low": 0, "high": 1, "held": "no"},
    ]
    edges = posterior_charts._outline(rows)
    assert len(edges) == 6
    assert {"x": 1, "x2": 1, "y": 0, "y2": 1} not in edges


@pytest.mark.parametrize("key", ["region", "joint", "marginals", "priors", "sampler", "predictive"])
@pytest.mark.parametrize("odd", [None, "text", [], {}, [1, 2], {"x": "y"}, {"mass": 3}])
def test_odd_diagnostics_do_not_break_the_page(result, key, odd):
    assert html.page(replace(result, diagnostics={**result.diagnostics, key: odd}))


@pytest.mark.parametrize("odd", [{}, {"epsilon": 3}, {"by_delta": [3, {"epsilon": None}]}])
def test_an_odd_posterior_is_not_printed(result, odd):
    found = replace(result, posterior=odd)
    assert posterior_text.posterior_rows(odd) == []
    assert "Probable under the priors" not in str(found)
    assert html.page(found)


def test_hostile_text_stays_text(result):
    data = json.loads(result.dumps())
    data["diagnostics"]["priors"][0]["prior_of_epsilon"] = "</script><script>alert(1)"
    data["diagnostics"]["region"]["curves"][0]["label"] = "</script><b>"
    page = html.page(Result.from_json(data))
    assert "<script>alert(1)" not in page
    assert "</script><b>" not in page
