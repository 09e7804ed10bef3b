"""What only the report of a posterior shows."""

from __future__ import annotations

import json

import pytest
from sample import pinned, sample

from divulge.report import html, retraining
from divulge.result import Result

CHARTS = ("region", "joint", "density-epsilon", "density-strength", "priors", "trace",
          "autocorrelation")  # fmt: skip


@pytest.fixture(scope="module")
def page() -> str:
    return html.page(sample("retraining"))


def test_every_chart_is_drawn(page):
    for name in CHARTS:
        assert f'id="chart-{name}"' in page
    for words in ("Where do the attacks lie?", "models trained with the record", "strength 1"):
        assert words in page


def test_a_result_from_disk_draws_the_same(page):
    assert html.page(Result.from_json(json.loads(sample("retraining").dumps()))) == page


def test_a_fixed_strength_and_no_sampler_leave_charts_out():
    page = html.page(pinned("retraining-options"))
    assert 'id="chart-region"' in page
    assert 'id="chart-density-epsilon"' in page
    for name in ("joint", "density-strength", "trace"):
        assert f'id="chart-{name}"' not in page


def test_the_frame_goes_round_the_region():
    assert retraining.joint(sample("retraining").diagnostics) is not None
    rows = [
        {"from": 0, "to": 1, "low": 0, "high": 1, "held": "yes"},
        {"from": 1, "to": 2, "low": 0, "high": 1, "held": "yes"},
        {"from": 2, "to": 3, "low": 0, "high": 1, "held": "no"},
    ]
    edges = retraining._outline(rows)
    assert len(edges) == 6
    assert {"x": 1, "x2": 1, "y": 0, "y2": 1} not in edges
