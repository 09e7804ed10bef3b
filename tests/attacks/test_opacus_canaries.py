"""Gradient canaries inside an Opacus loop: in the sum, or clipped with the batch; no trace left."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import replace

import numpy as np
import pytest

from divulge import canaries
from divulge.attacks.claimed_noise import NoiseClaim
from divulge.errors import InputError

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("opacus") is None:
    pytest.skip("needs the extra dpsgd: run `make dpsgd`", allow_module_level=True)

import torch
from opacus import PrivacyEngine
from opacus.utils.batch_memory_manager import BatchMemoryManager

from divulge.attacks.opacus_canaries import OpacusGradientRecorder

pytestmark = pytest.mark.filterwarnings("ignore")  # Opacus and torch warn of their own affairs
SIZE = 6 * 20 + 20 + 20 * 2 + 2


def private(sigma: float, seed: int = 0, reduction: str = "mean"):
    torch.manual_seed(seed)
    x = torch.randn(80, 6)
    y = (x[:, 0] > 0).long()
    model = torch.nn.Sequential(torch.nn.Linear(6, 20), torch.nn.Tanh(), torch.nn.Linear(20, 2))
    data = torch.utils.data.TensorDataset(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
            data_loader=torch.utils.data.DataLoader(data, batch_size=20),
            noise_multiplier=sigma,
            max_grad_norm=0.6,
            loss_reduction=reduction,
        )


def train(model, optimizer, loader, epochs: int, reduction: str = "mean"):
    loss = torch.nn.CrossEntropyLoss(reduction=reduction)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()


@pytest.mark.parametrize("clipping", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_included_canaries_are_found_without_noise(clipping, reduction):
    plan = canaries.plan(strategy="orthogonal", count=60, parameters=SIZE, seed=3)
    model, optimizer, loader = private(0.05, reduction=reduction)
    with OpacusGradientRecorder(
        optimizer, plan.gradients(), rate=0.25, clipping=clipping, seed=0
    ) as recorder:
        train(model, optimizer, loader, 10, reduction)
    score = recorder.columns()["white_box"]
    inside = np.array(plan.included)
    assert recorder.scores.steps == 40
    assert np.mean(score[inside][:, None] > score[~inside][None]) > 0.9


def release(plan, clipping: bool, inserting: bool) -> np.ndarray:
    """The sum that one step without noise releases, always of the same batch."""
    model, optimizer, _ = private(0.0, seed=1)
    batch = torch.randn(20, 6, generator=torch.Generator().manual_seed(2))
    given = plan.gradients()
    if not inserting:
        given = replace(given, included=np.zeros(len(given), dtype=bool))
    with OpacusGradientRecorder(optimizer, given, rate=1.0, clipping=clipping) as recorder:
        optimizer.zero_grad()
        torch.nn.CrossEntropyLoss()(model(batch), torch.ones(20).long()).backward()
        optimizer.step()
        return recorder._tap.released()


@pytest.mark.parametrize("clipping", [False, True])
def test_what_is_inserted_is_what_the_release_holds(clipping):
    plan = canaries.plan(strategy="one-hot", count=30, parameters=SIZE, seed=3)
    found = release(plan, clipping, True) - release(plan, clipping, False)
    expected = plan.gradients().combined(0.6 * np.array(plan.included))
    assert np.allclose(found, expected, atol=1e-4)


def test_batches_in_parts_hold_every_canary_once():
    plan = canaries.plan(strategy="one-hot", count=30, parameters=SIZE, seed=3)
    for clipping in (False, True):
        model, optimizer, loader = private(0.01)
        with (
            OpacusGradientRecorder(
                optimizer, plan.gradients(), rate=1.0, clipping=clipping
            ) as recorder,
            BatchMemoryManager(
                data_loader=loader, max_physical_batch_size=7, optimizer=optimizer
            ) as parts,
        ):
            train(model, optimizer, parts, 2)
        assert recorder.scores.steps == 8
        inside = np.array(plan.included)
        y = recorder.scores.total / 8 * recorder.training.noise_multiplier**2 + 0.5
        assert abs(np.median(y[inside]) - np.median(y[~inside]) - 1.0) < 0.4


@pytest.mark.parametrize("clipping", [False, True])
def test_with_the_others_known_the_release_is_canaries_and_noise(clipping):
    """In parts, beside a watch, and with very little noise: projections are the coins."""
    plan = canaries.plan(strategy="one-hot", count=60, parameters=SIZE, seed=3)
    model, optimizer, loader = private(0.01)
    claim = NoiseClaim(0.01, 0.6)
    words = {"rate": 1.0, "clipping": clipping, "complete": True, "claim": claim}
    with (
        OpacusGradientRecorder(optimizer, plan.gradients(), **words) as recorder,
        BatchMemoryManager(
            data_loader=loader, max_physical_batch_size=7, optimizer=optimizer
        ) as parts,
    ):
        train(model, optimizer, parts, 1)
    y = recorder.scores.total / recorder.scores.steps * 0.01**2 + 0.5
    assert np.allclose(y, np.array(plan.included), atol=0.05)


def test_nothing_is_left_behind_and_misuse_is_said():
    plan = canaries.plan(strategy="one-hot", count=30, parameters=SIZE, seed=3)
    _, optimizer, _ = private(1.0)
    before = dict(vars(optimizer))
    with OpacusGradientRecorder(optimizer, plan.gradients(), rate=0.25) as recorder:
        assert vars(optimizer) != before
        with pytest.raises(InputError, match="already attached"):
            recorder.__enter__()
    assert vars(optimizer) == before
    assert not optimizer.original_optimizer._optimizer_step_pre_hooks
    other = canaries.plan(strategy="one-hot", count=30, parameters=SIZE + 1, seed=3)
    with pytest.raises(InputError, match=f"trains {SIZE}"):
        OpacusGradientRecorder(optimizer, other.gradients(), rate=0.25)
    with pytest.raises(InputError, match="make_private"):
        OpacusGradientRecorder(optimizer.original_optimizer, plan.gradients(), rate=0.25)
