"""Further torch networks: of the class that weights belong to, or of the user's code.

They are trained by a plain loop: Adam on the cross-entropy, in batches drawn at random. A network
whose own training looks otherwise comes from code that returns an estimator with ``fit`` instead.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models import callables, code, layout, networks
from divulge.models.base import Model, Reads
from divulge.models.outputs import Outputs
from divulge.models.rehearsal import library
from divulge.models.source import Source
from divulge.models.trainers import Factory, Labels, numbers
from divulge.work.threads import sized_network

DEFAULTS = {"epochs": 20, "rate": 1e-3, "batch": 64, "decay": 0.0}


@dataclass(frozen=True)
class NetworkTrainer:
    """Fresh networks, and how they are trained."""

    name: str
    make: Callable[[int], Any] = field(repr=False)
    named: str | None
    """What names the code that makes them."""
    settings: tuple[tuple[str, Any], ...]
    outputs: Outputs = "logits"
    classes: tuple[Any, ...] | None = None
    note: str | None = None
    reads: Reads = "features"

    def identity(self) -> str | None:
        """By the source of the code, the settings and the version of torch."""
        if self.named is None:
            return None
        return f"{self.named} {self.settings} {library('torch', 'torch').__version__}"

    def train(self, records: Frame, labels: Labels | None, seed: int) -> Model:
        """Adam from fresh weights; every random draw comes from the seed."""
        assert labels is not None
        torch = library("torch", "torch")
        how = dict(self.settings)
        x = torch.from_numpy(
            layout.shaped(records, layout.record_shape(records), self.name, np.float32)
        )
        y = torch.from_numpy(labels.codes.astype(np.int64))
        rng = np.random.default_rng(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**62)))
            module = self.make(int(rng.integers(2**31)))
            with sized_network(module):
                self._passes(torch, module, x, y, rng, how)
        module.eval()
        return networks.Network(module, self.name, self.outputs)

    def _passes(
        self, torch: Any, module: Any, x: Any, y: Any, rng: np.random.Generator, how: dict[str, Any]
    ) -> None:
        optimizer = torch.optim.Adam(module.parameters(), lr=how["rate"], weight_decay=how["decay"])
        loss_of = torch.nn.functional.cross_entropy
        module.train()
        for _ in range(how["epochs"]):
            order = torch.from_numpy(rng.permutation(len(x)))
            for start in range(0, len(x), how["batch"]):
                some = order[start : start + how["batch"]]
                if len(some) < 2 and start:
                    continue  # a batch norm has no use for a single record
                try:
                    out = module(x[some])
                    if self.outputs == "probabilities":
                        out = out.clamp_min(1e-12).log()  # whose softmax it is
                    loss = loss_of(out, y[some])
                except Exception as error:  # a module is anybody's code
                    said = str(error).strip().split("\n")[0]
                    raise InputError(
                        f"{self.name} cannot be trained: {type(error).__name__}: {said}"
                    ) from error
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    def files(self, model: Model) -> dict[str, bytes]:
        """Weights as safetensors."""
        assert isinstance(model, networks.Network)
        safetensors = library("safetensors.torch", "torch")
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "weights.safetensors"
            safetensors.save_model(model.module, str(place))
            return {".safetensors": place.read_bytes()}


def is_network(found: Any) -> bool:
    """Whether something is a torch module; torch is not imported for it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(found, torch.nn.Module)


def from_factory(factory: Factory, settings: dict[str, Any]) -> NetworkTrainer:
    """Networks that the user's code makes."""
    return NetworkTrainer(
        factory.name, factory, factory.identity(), tuple(numbers(settings, DEFAULTS).items())
    )


def like_weights(source: Source, settings: dict[str, Any]) -> NetworkTrainer:
    """Networks of the class that weights in safetensors belong to."""
    source.open()  # what is wrong with the given model is said first
    require(source.class_name is not None, "Name the class of the weights: --with class_name=...")
    assert source.class_name is not None
    own = code.of(callables.named(source.class_name))[0]
    return NetworkTrainer(
        f"fresh {source.class_name}",
        partial(_built, source.class_name, source.class_arguments),
        None if own is None else f"{source.class_name} {source.class_arguments} {own}",
        tuple(numbers(settings, DEFAULTS).items()),
        "probabilities" if source.outputs == "probabilities" else "logits",
        source.classes,
    )


def _built(class_name: str, arguments: str, seed: int) -> Any:
    return networks.built(class_name, arguments)
