"""A torch network as it stands before training, with the loss that its training lowers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models import callables, layout
from divulge.models.handed import handed
from divulge.models.rehearsal import library
from divulge.models.source import Source
from divulge.models.trainers import Factory, Labels

WHICH = (
    "Give code that makes it, as module:name (called with a seed, it returns a torch module), or "
    "weights in safetensors with their class (--with class_name=module:Class)."
)


@dataclass(frozen=True)
class Trainable:
    """A network of classes: what it reads, says, and loses."""

    module: Any = field(repr=False)
    name: str
    surely: bool = False
    """Whether it answers with probabilities instead of logits."""

    def loss(self, out: Any, classes: Any) -> Any:
        """The mean cross-entropy of a batch."""
        torch = library("torch", "torch")
        said = out.clamp_min(1e-12).log() if self.surely else out
        return torch.nn.functional.cross_entropy(said, classes)

    def tensors(self, records: Frame, labels: Labels) -> tuple[Any, Any]:
        """Records and classes as the network reads them; InputError unless it does."""
        torch = library("torch", "torch")
        shape = layout.record_shape(records)
        x = torch.from_numpy(layout.shaped(records, shape, self.name, np.float32))
        y = torch.from_numpy(labels.codes.astype(np.int64))
        try:
            with torch.no_grad():
                lost = float(self.loss(self.module.eval()(x[:2]), y[:2]))
        except Exception as error:  # a module is anybody's code
            said = str(error).strip().split("\n")[0]
            raise InputError(
                f"{self.name} cannot be trained on these records: {type(error).__name__}: {said}"
            ) from error
        require(np.isfinite(lost), f"The loss of {self.name} is no finite number before training.")
        return x, y


def trainable(model: Any, seed: int) -> Trainable:
    """The network that a model names: made by code from the seed, or of a class with its weights.

    InputError for whatever has no gradients.
    """
    torch = library("torch", "torch")
    found = handed(model)
    if not isinstance(found, Source):
        return _of_code(torch, Factory(None, found), found, seed)
    surely = found.outputs == "probabilities"
    if found.recognised == "callable":
        return _of_code(torch, Factory(found.where), callables.named(found.where), seed, surely)
    if found.recognised == "safetensors":
        network: Any = found.open()
        return Trainable(network.module, network.name, surely)
    raise InputError(f"A model of the kind {found.recognised!r} has no gradients here. {WHICH}")


def _of_code(
    torch: Any, factory: Factory, found: Any, seed: int, surely: bool = False
) -> Trainable:
    module = found
    if not isinstance(found, torch.nn.Module):
        require(callable(found), f"A {type(found).__name__} has no gradients. {WHICH}")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = factory(seed)
    require(
        isinstance(module, torch.nn.Module),
        f"{factory.name} returned {type(module).__name__}, which is no torch module.",
    )
    return Trainable(module, factory.name, surely)
