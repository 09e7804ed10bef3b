"""A rehearsal finds the records whose gradients stand out, and writes the plan in one call."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from divulge import Source, canaries
from divulge.errors import InputError

if importlib.util.find_spec("torch") is None:
    pytest.skip("needs the extra torch", allow_module_level=True)

import torch

RUN = {"clip": 1.0, "noise_multiplier": 0.5, "rate": 0.2, "learning_rate": 1.0, "steps": 30}


def given(seed: int = 0):
    torch.manual_seed(seed)
    x = torch.randn(300, 12)
    y = (x[:, 0] > 0).long()
    odd = np.random.default_rng(seed).choice(300, 20, replace=False)
    y[odd] = 1 - y[odd]
    model = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    return model, (x, y), odd


def test_mislabelled_records_are_chosen_and_the_files_written(tmp_path):
    model, tensors, odd = given()
    before = [p.clone() for p in model.parameters()]
    files = {n: tmp_path / f"{n}.csv" for n in ("records", "canaries")}
    loss = torch.nn.functional.cross_entropy
    made = canaries.rehearse(
        model, loss, tensors, count=40, seed=1, plan=tmp_path / "plan.json", **files, **RUN
    )
    assert np.isin(odd, made.rows).mean() > 0.6
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    read = canaries.load(tmp_path / "plan.json")
    assert read.rows == made.rows
    assert read.details["rehearsal"]["steps"] == 30
    assert len(files["records"].read_text().splitlines()) == 1 + 260 + sum(made.included)


def test_the_coins_are_those_of_any_plan_of_these_data_and_seed():
    model, tensors, _ = given()
    data = {"key": [f"r{k}" for k in range(300)], "x": tensors[0].numpy()[:, 0]}
    loss = torch.nn.functional.cross_entropy
    words = {"id": "key", "count": 40, "seed": 3}
    some = ["2.weight"]
    made = canaries.rehearse(
        model, loss, tensors, data, parameters=some, columns=9, times=2, **words, **RUN
    )
    again = canaries.rehearse(
        model, loss, tensors, data, parameters=some, columns=9, times=2, **words, **RUN
    )
    assert made.ids == again.ids
    other = canaries.plan(data, strategy="random", **words)
    assert made.included == other.included
    assert made.ids != other.ids


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"noise_multiplier": 0.0}, "noise above 0"),
        ({"times": 31}, "more steps than there are"),
        ({"parameters": ["head"]}, "no parameter 'head'"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"data": {"x": [1.0]}}, "row for each of the 300"),
        ({"plan": "p.json"}, "both plan and records"),
        ({"strategy": "random"}, "strategy"),
        ({"count": 301}, "between 20 and the 300"),
    ],
)
def test_what_is_wrong_is_said(words, message):
    model, tensors, _ = given()
    loss = torch.nn.functional.cross_entropy
    with pytest.raises(InputError, match=message):
        canaries.rehearse(model, loss, tensors, **{"count": 40, "seed": 0, **RUN, **words})


def network(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))


def table():
    _, (x, y), odd = given()
    words = np.where(y.numpy() > 0, "yes", "no")
    return {**{f"x_{j}": x[:, j].numpy() for j in range(12)}, "y": words}, odd


WORDS = {"features": "x_*", "label": "y", "count": 40, "seed": 1}


def test_from_a_table_the_same_records_stand_out():
    data, odd = table()
    made = canaries.rehearse_table(data, model=network, **WORDS, **RUN)
    assert np.isin(odd, made.rows).mean() > 0.6
    assert made.details["rehearsal"]["model"] == "network"
    assert made.ids == canaries.rehearse_table(data, model=network, **WORDS, **RUN).ids
    other = canaries.plan(data, strategy="random", count=40, seed=1)
    assert made.included == other.included  # the coins know nothing of the rehearsal


def test_a_network_may_end_in_probabilities(monkeypatch, tmp_path):
    own = "import torch\ndef sure(seed):\n    return torch.nn.Sequential(torch.nn.Linear(12, 2), "
    (tmp_path / "surely.py").write_text(own + "torch.nn.Softmax(dim=1))\n")
    monkeypatch.chdir(tmp_path)
    data, odd = table()
    model = Source("surely:sure", outputs="probabilities")
    made = canaries.rehearse_table(data, model=model, **WORDS, **RUN)
    assert np.isin(odd, made.rows).mean() > 0.6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"model": lambda seed: "a word"}, "returned str, which is no torch module"),
        ({"model": 3}, "A int has no gradients"),
        ({"model": lambda seed: torch.nn.Linear(3, 2)}, "cannot be trained on these records"),
        ({"model": lambda seed: 1 / 0}, "failed to make a model: ZeroDivisionError"),
        ({"model": "nowhere.onnx"}, "There is no file|has no gradients"),
        ({"label": "z"}, "'z'"),
        ({"features": "y"}, "also among the features"),
        ({"features": ()}, "Name the feature columns"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"count": 301}, "between 20 and the 300"),
        ({"rate": 2.0}, "rate"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(words, message):
    data, _ = table()
    with pytest.raises(InputError, match=message):
        canaries.rehearse_table(data, **{"model": network, **WORDS, **RUN, **words})
