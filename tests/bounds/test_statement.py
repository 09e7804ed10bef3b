from __future__ import annotations

import pytest

from divulge.bounds.statement import state_bounds
from divulge.errors import InputError


def test_one_headline_named_beforehand():
    for method in ("auto", "recursion", "steinke"):
        bounds = state_bounds(10_000, 200, 191, method=method)
        assert [b.headline for b in bounds] == [True] + [False] * (len(bounds) - 1)


def test_parameters_and_methods():
    bounds = state_bounds(10_000, 200, 191, deltas=(0.0, 1e-5))
    assert [(b.parameter, b.delta, b.method) for b in bounds] == [
        ("mu", None, "recursion"),
        ("epsilon", 0.0, "binomial"),
        ("epsilon", 1e-5, "recursion"),
    ]
    assert all(b.theorem and b.assumptions for b in bounds)


def test_a_budget_changes_the_assumption():
    for bound in state_bounds(10_000, 200, 191, tau=0.001):
        assert bound.method == "recursion"
        assert "total variation 0.001" in bound.assumptions[0]


def test_bad_input_is_refused():
    with pytest.raises(InputError):
        state_bounds(10, 5, 4, deltas=())
    with pytest.raises(InputError):
        state_bounds(10, 5, 4, deltas=(2.0,))
