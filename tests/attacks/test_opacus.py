"""The recorder inside an Opacus loop: same gradients, same updates, no trace left behind."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from divulge.attacks.gradient import known_step_scores, mixture
from divulge.errors import InputError, MissingExtra

torch = pytest.importorskip("torch", reason="needs the extra dpsgd: run `make dpsgd`")
opacus = pytest.importorskip("opacus", reason="needs the extra dpsgd: run `make dpsgd`")

from divulge.attacks.opacus import OpacusRecorder  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Opacus and torch warn of their own affairs
RATE = 0.25


def private(seed: int = 0, sigma: float = 1.0, records: int = 80, learning_rate: float = 0.5):
    torch.manual_seed(seed)
    x = torch.randn(records, 6)
    y = (x[:, 0] > 0).long()
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(x, y), batch_size=int(RATE * records)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine = opacus.PrivacyEngine()
        model, optimizer, loader = engine.make_private(
            module=model,
            optimizer=optimizer,
            data_loader=loader,
            noise_multiplier=sigma,
            max_grad_norm=0.6,
            noise_generator=torch.Generator().manual_seed(seed),
        )
    return model, optimizer, loader, (x, y)


def train(model, optimizer, loader, epochs: int = 1):
    loss = torch.nn.CrossEntropyLoss()
    seen = [flat(model)]
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()
            seen.append(flat(model))
    return seen


def flat(model) -> np.ndarray:
    with torch.no_grad():
        return torch.cat([p.reshape(-1) for p in model.parameters()]).double().numpy().copy()


def recorder(model, optimizer, records, **words):
    x, y = records
    loss = torch.nn.functional.cross_entropy
    words = {"rate": RATE, "complete": True, **words}
    return OpacusRecorder(model, optimizer, loss, (x[:30], y[:30]), (x[30:], y[30:]), **words)


def test_gradients_are_clipped_as_opacus_clips_them():
    model, optimizer, _, (x, y) = private()
    watch = recorder(model, optimizer, (x, y))
    optimizer.zero_grad()
    torch.nn.CrossEntropyLoss()(model(x[:30]), y[:30]).backward()
    optimizer.clip_and_accumulate()
    summed = torch.cat([p.summed_grad.reshape(-1) for p in model.parameters()]).double().numpy()
    found = watch.clipped((x[:30], y[:30]))
    assert np.allclose(found.sum(axis=0), summed, atol=1e-5)
    assert np.linalg.norm(found, axis=1).max() <= 0.6 + 1e-6


def test_the_scores_are_those_of_the_checkpoints():
    model, optimizer, loader, records = private()
    with recorder(model, optimizer, records) as watch:
        thetas = train(model, optimizer, loader, epochs=2)
    assert watch.scores.steps == len(thetas) - 1 == 8
    total = np.zeros(30)
    names = [n for n, _ in model._module.named_parameters()]
    for before, after in itertools.pairwise(thetas):
        place, state = 0, {}
        for n, p in model._module.named_parameters():
            part = before[place : place + p.numel()]
            state[n] = torch.tensor(part, dtype=p.dtype).reshape(p.shape)
            place += p.numel()
        model._module.load_state_dict(state)
        g = watch.clipped(watch.canaries)
        others = watch.clipped(watch.reference)
        total += mixture(known_step_scores(g, others, (before - after) / 0.5, watch.training), RATE)
    assert len(names) == 4
    assert np.allclose(watch.columns()["white_box"], total, atol=1e-3)


def test_recording_does_not_change_the_training():
    plain, watched = private(seed=3), private(seed=3)
    torch.manual_seed(7)
    alone = train(*plain[:3])
    torch.manual_seed(7)
    with recorder(*watched[:2], watched[3]):
        beside = train(*watched[:3])
    assert np.allclose(alone[-1], beside[-1], atol=1e-6)
    optimizer = watched[1].original_optimizer
    assert not optimizer._optimizer_step_pre_hooks


def test_the_last_layer_alone_and_every_other_step():
    model, optimizer, loader, records = private()
    words = {"parameters": ["2.weight", "2.bias"], "every": 2, "chunk": 7}
    with recorder(model, optimizer, records, **words) as watch:
        train(model, optimizer, loader)
    assert watch.scores.steps == 2
    assert watch.clipped(records).shape == (80, 12)


def test_canaries_are_told_apart_at_low_noise():
    hits = []
    for seed in range(3):
        torch.manual_seed(seed)
        model, optimizer, loader, (x, y) = private(seed, sigma=0.1, records=60)
        fresh = torch.randn(30, 6)
        with OpacusRecorder(
            model,
            optimizer,
            torch.nn.functional.cross_entropy,
            (torch.cat([x[:30], fresh]), torch.cat([y[:30], (fresh[:, 0] > 0).long()])),
            (x[30:], y[30:]),
            rate=RATE,
            complete=True,
        ) as watch:
            train(model, optimizer, loader, epochs=6)
        score = watch.columns()["white_box"]
        hits.append((score[:30, None] > score[None, 30:]).mean())
    assert np.mean(hits) > 0.65


def test_what_is_missing_is_said(monkeypatch):
    model, optimizer, _, records = private()
    with pytest.raises(InputError, match="make_private"):
        recorder(model, optimizer.original_optimizer, records)
    with pytest.raises(InputError, match="no parameter 'head'"):
        recorder(model, optimizer, records, parameters=["head"])
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"divulge\[dpsgd\]"):
        recorder(model, optimizer, records)
