"""A training that was stopped goes on where it stood and ends where it would have ended."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra 'language'")
pytest.importorskip("transformers", reason="needs the extra 'language'")

from divulge.models import finetune
from divulge.work.pieces import Pieces

ROWS = np.random.default_rng(0).integers(0, 310, (20, 12))


def dropping():
    """A network with dropout, whose training depends on torch's random numbers."""
    network = finetune.tiny(310, 16, np.random.default_rng(3), layers=1, width=16, heads=2)
    for module in network.modules():
        if type(module).__name__ == "Dropout":
            module.p = 0.2
    return network


class Passes:
    """Passes over the data, counted."""

    def __init__(self, monkeypatch):
        self.calls, self.honest = 0, finetune._pass
        monkeypatch.setattr(finetune, "_pass", self)

    def __call__(self, *given):
        self.calls += 1
        return self.honest(*given)


@pytest.fixture
def passes(monkeypatch):
    return Passes(monkeypatch)


def trained(folder, stop=None, epochs=4, rate=2e-2):
    """Losses by epoch, the weights, and where chance stands; stopped after an epoch if asked to."""
    network, rng = dropping(), np.random.default_rng(1)

    def progress(epoch):
        if epoch.number == stop:
            raise KeyboardInterrupt

    history = finetune.finetune(
        network, ROWS[:14], rng, epochs=epochs, rate=rate, batch=4, validation=ROWS[14:],
        progress=progress, pieces=Pieces.at(folder),
    )  # fmt: skip
    weights = [v.numpy().tobytes() for v in network.state_dict().values()]
    return history, weights, rng.bit_generator.state


@pytest.mark.slow
def test_a_stopped_training_ends_where_it_would_have_ended(tmp_path, passes):
    expected = trained(None)
    passes.calls = 0
    for stop in (2, 3):
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path, stop)
    assert passes.calls == 3
    assert trained(tmp_path) == expected
    assert passes.calls == 4
    assert trained(tmp_path) == expected
    assert passes.calls == 4


@pytest.mark.slow
def test_a_damaged_epoch_is_done_again_and_no_other(tmp_path, passes):
    expected = trained(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4
    victim = min(tmp_path.iterdir())
    victim.write_bytes(victim.read_bytes()[:-5])
    assert trained(tmp_path) == expected
    assert passes.calls == 5


@pytest.mark.slow
def test_more_epochs_go_on_and_another_rate_begins_anew(tmp_path, passes):
    trained(tmp_path)
    assert trained(tmp_path, epochs=5) == trained(None, epochs=5)
    assert passes.calls == 4 + 1 + 5
    trained(tmp_path, rate=1e-2)
    assert passes.calls == 10 + 4


def test_dropout_is_drawn_anew_after_each_epoch():
    """Else the tests above could not tell whether torch's random generator was put back."""
    import torch

    network, plain = dropping(), dropping().eval()
    network.train()
    first, second = (finetune.chunk_losses(network, torch.from_numpy(ROWS)) for _ in "ab")
    assert not torch.equal(first, second)
    assert not torch.equal(first, finetune.chunk_losses(plain, torch.from_numpy(ROWS)))
