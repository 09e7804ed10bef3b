"""Gradients of the last layer against autograd, one record at a time."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import divulge
from divulge.attacks import gradient_table
from divulge.errors import InputError, MissingExtra


def test_without_torch_the_extra_is_named():
    if importlib.util.find_spec("torch") is not None:
        pytest.skip("torch is installed")
    with pytest.raises(MissingExtra, match=r"divulge\[torch\]"):
        gradient_table(None, None, None)


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is in the extra torch")


def network(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(7, 3)
    )


def test_rows_are_the_gradients_of_single_records(torch):
    model = network(torch).train()
    x, y = torch.randn(10, 5), torch.arange(10) % 3
    rows = gradient_table(model, x, y, batch=4)["gradient"]
    assert rows.shape == (10, 24)
    assert model.training
    model.eval()
    for i in range(10):
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(x[i : i + 1]), y[i : i + 1]).backward()
        expected = np.concatenate([model[3].weight.grad.ravel(), model[3].bias.grad])
        np.testing.assert_allclose(rows[i], expected, rtol=1e-4, atol=1e-7)
    short = gradient_table(model, x, y, clip=0.1)["gradient"]
    assert np.linalg.norm(short, axis=1).max() <= 0.1 + 1e-12


def test_a_table_of_gradients_is_a_table(torch):
    model = network(torch)
    x, y = torch.randn(80, 5), torch.arange(80) % 3
    other = gradient_table(model, torch.randn(60, 5), torch.arange(60) % 3)
    result = divulge.leakage(gradient_table(model, x, y), reference=other, features="gradient")
    assert result.trials["columns"] == 24
    assert result.measurements["advantage"]["largest"] > 0.0


def test_bad_input(torch):
    x, y = torch.randn(4, 5), torch.arange(4) % 3
    with pytest.raises(InputError, match="no linear layer"):
        gradient_table(torch.nn.Tanh(), x, y)
    with pytest.raises(InputError, match="same, non-zero length"):
        gradient_table(network(torch), x, y[:2])
    with pytest.raises(InputError, match="one number per record"):
        gradient_table(network(torch), x, y, loss=torch.nn.functional.cross_entropy)
