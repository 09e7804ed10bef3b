"""Plans of gradient canaries: no data, a place for each, and the coins of every plan."""

from __future__ import annotations

import numpy as np
import pytest

from divulge import canaries
from divulge.errors import InputError
from divulge.games.canaries.planning import Plan


@pytest.mark.parametrize("strategy", ["one-hot", "orthogonal"])
def test_a_plan_survives_its_files(strategy, tmp_path):
    made = canaries.plan(strategy=strategy, count=40, parameters=500, seed=1)
    where = {n: tmp_path / f"{n}.csv" for n in ("records", "canaries")}
    canaries.write_plan(made, plan=tmp_path / "plan.json", **where)
    again = canaries.load(tmp_path / "plan.json")
    assert isinstance(again, Plan)
    assert (again.rows, again.included) == (made.rows, made.included)
    one, two = made.gradients(), again.gradients()
    assert np.array_equal(one.combined(one.included), two.combined(two.included))
    assert len(where["records"].read_text().splitlines()) == 1 + sum(made.included)
    assert len(where["canaries"].read_text().splitlines()) == 41
    with pytest.raises(InputError, match="written with the plan"):
        again.records({"x": [1.0]})


def test_coins_and_places_follow_from_a_secret_seed():
    one, two = (canaries.plan(strategy="one-hot", count=100, parameters=500) for _ in range(2))
    assert one.included != two.included
    assert one.rows != two.rows
    three = canaries.plan(strategy="one-hot", count=100, parameters=501, seed=one.seed)
    assert three.included != one.included


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"count": 500}, "below the number of parameters"),
        ({"count": 19}, "at least 20"),
        ({"parameters": None}, "how many the model trains"),
        ({"data": {"x": [1.0]}}, "data are of no use to one-hot"),
        ({"noise": 1.0}, "noise are of no use"),
        ({"probability": 1.0}, "probability must lie"),
        ({"strategy": "random"}, "parameters are of no use to random"),
        ({"strategy": None, "lineup": 30}, "parameters belong|count"),
    ],
)
def test_bad_plans_are_said(words, message):
    with pytest.raises(InputError, match=message):
        canaries.plan(**{"strategy": "one-hot", "count": 40, "parameters": 500, **words})


def test_only_gradient_plans_have_gradients():
    made = canaries.plan({"x": np.arange(50.0)}, strategy="random", count=30, seed=0)
    with pytest.raises(InputError, match="random, not gradients"):
        made.gradients()
