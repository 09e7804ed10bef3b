"""PyTorch networks: exported programs (``.pt2``), or safetensors weights of a class one names.

Neither file can run code: an exported program is checked by ``exported``, weights are numbers. The
class that weights belong to is the user's own code. TorchScript and ``.pt`` files are pickles and
are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.data.tables import Frame
from divulge.errors import InputError, require
from divulge.models import exported, layout
from divulge.models.base import BATCH, Answers, Gives, Reads
from divulge.models.callables import named
from divulge.models.outputs import Outputs, log_probabilities
from divulge.models.rehearsal import library
from divulge.work.threads import sized_network

ROWS = 1024
"""Records shown to a network at once, and read at once where they are large."""


@dataclass(frozen=True)
class Network:
    """A module that turns a float tensor into one logit or probability per class."""

    module: Any = field(repr=False)
    name: str
    outputs: Outputs = "logits"
    shape: tuple[int | None, ...] | None = None
    """What a record looks like beyond the first dimension, where that is known."""
    rows: int | None = None
    """How many records are read at once, where that is fixed."""
    device: str = "cpu"
    classes: tuple[Any, ...] | None = None
    reads: Reads = "features"
    gives: Gives = "probabilities"
    batch: int = BATCH

    def ask(self, records: Frame) -> Answers:
        """Log-probabilities of the records."""
        shape = self.shape if self.shape is not None else layout.record_shape(records)
        with sized_network(self.module):
            parts = [
                self._values(layout.shaped(some, shape, self.name, np.float32))
                for some in layout.portions(records, shape, ROWS)
            ]
        return Answers(
            log_probabilities=log_probabilities(np.concatenate(parts), self.outputs, self.name)
        )

    def _values(self, given: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """What the network says of every row, never more than ``ROWS`` of them at once."""
        torch = library("torch", "torch")
        rows = torch.from_numpy(given).to(self.device)
        parts = []
        for some in layout.blocks(len(given), self.rows or ROWS, self.rows or 2):
            block = rows[some]
            try:
                with torch.no_grad():
                    found = self.module(block)
            except Exception as error:  # a module is anybody's code
                raise InputError(
                    f"{self.name} cannot be queried: {type(error).__name__}: {error}"
                ) from error
            parts.append(_tensor(found, len(block), self.name))
        return np.asarray(torch.cat(parts)[: len(given)].detach().double().cpu().numpy())


def _tensor(found: Any, rows: int, name: str) -> Any:
    """The tensor in what a module returns: itself, its logits, or the first of several."""
    found = getattr(found, "logits", found)
    if isinstance(found, tuple | list) and found:
        found = found[0]
    if not hasattr(found, "detach") or found.shape[:1] != (rows,):
        kind = getattr(found, "shape", type(found).__name__)
        raise InputError(f"{name} must return a tensor with one row per record. Found {kind}.")
    return found


def load_exported(place: Path, *, outputs: Outputs = "logits", device: str = "cpu") -> Network:
    """A program saved by ``torch.export.save``."""
    torch = library("torch", "torch")
    archive = exported.checked(place)
    try:
        program = torch.export.load(archive)
        module = program.module(check_guards=False).to(device)
        inputs = [
            node.meta["val"]
            for node in program.graph.nodes
            if node.op == "placeholder" and node.name in program.graph_signature.user_inputs
        ]
    except Exception as error:  # a damaged graph can fail in many ways
        raise InputError(f"Cannot load {place}: {type(error).__name__}: {error}") from error
    require(
        len(inputs) == 1 and hasattr(inputs[0], "shape") and len(inputs[0].shape) > 0,
        f"{place.name} must read one tensor, with one row per record. Found {len(inputs)} inputs.",
    )
    rows, *shape = (s if isinstance(s, int) else None for s in inputs[0].shape)
    return Network(module, place.name, outputs, tuple(shape), rows, device)


def load_weights(
    place: Path,
    *,
    class_name: str | None = None,
    class_arguments: Mapping[str, Any] | str = "{}",
    outputs: Outputs = "logits",
    device: str = "cpu",
) -> Network:
    """Weights in safetensors, put into ``module:Class`` built with the arguments."""
    library("torch", "torch")
    safetensors = library("safetensors.torch", "torch")
    require(
        class_name is not None,
        f"{place} holds weights only: name the class that they belong to as module:Class "
        "(--with class_name=...), and its arguments as JSON (--with class_arguments=JSON).",
    )
    network = built(str(class_name), class_arguments)
    try:
        safetensors.load_model(network, str(place), strict=True)
    except Exception as error:  # damaged files, and keys that do not match
        text = " ".join(str(error).split())
        raise InputError(f"Cannot load {place} into {class_name}: {text}") from error
    return Network(network.to(device).eval(), place.name, outputs, device=device)


def built(class_name: str, arguments: Mapping[str, Any] | str) -> Any:
    """An object of ``module:Class``; InputError unless it is a torch module."""
    torch = library("torch", "torch")
    try:
        given = json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
    except ValueError as error:
        raise InputError(f"The arguments of {class_name} are not JSON: {error}.") from error
    require(isinstance(given, dict), f"The arguments of {class_name} must be a JSON object.")
    try:
        network = named(class_name)(**given)
    except InputError:
        raise
    except Exception as error:  # the user's own code
        raise InputError(f"Cannot build {class_name}: {type(error).__name__}: {error}") from error
    require(
        isinstance(network, torch.nn.Module),
        f"{class_name} must be a class of torch modules. Found {type(network).__name__}.",
    )
    return network
