"""A training that stands still, as arrays: weights, optimiser, torch's random generator; no pickle.

Put back, the training goes on as if it had never stopped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from divulge.models.rehearsal import library
from divulge.work.pieces import Arrays

RANDOM = "random"


def weights(network: Any) -> Arrays:
    """The network alone; the arrays share memory with its tensors."""
    return {f"network.{k}": _bytes(v) for k, v in network.state_dict().items()}


def capture(network: Any, optimizer: Any) -> Arrays:
    """Everything that the next step depends on."""
    torch = library("torch", "torch")
    found = weights(network)
    for number, kept in optimizer.state_dict()["state"].items():
        found |= {f"optimizer.{number}.{k}": _bytes(v) for k, v in kept.items()}
    return {**found, RANDOM: torch.get_rng_state().numpy()}


def restore(network: Any, optimizer: Any, found: Arrays) -> None:
    """Put network, optimiser and torch's random generator where they were."""
    torch = library("torch", "torch")
    network.load_state_dict(
        {k: _tensor(found[f"network.{k}"], v) for k, v in network.state_dict().items()}
    )
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    kept: dict[int, dict[str, Any]] = {}
    for key, values in found.items():
        if key.startswith("optimizer."):
            _, number, name = key.split(".")
            like = torch.zeros(()) if name == "step" else parameters[int(number)]
            kept.setdefault(int(number), {})[name] = _tensor(values, like)
    optimizer.load_state_dict({**optimizer.state_dict(), "state": kept})
    torch.set_rng_state(torch.from_numpy(found[RANDOM]))


def _bytes(tensor: Any) -> npt.NDArray[np.uint8]:
    """The content of a tensor of any type, also those that numpy lacks."""
    torch = library("torch", "torch")
    content: npt.NDArray[np.uint8] = tensor.detach().reshape(-1).view(torch.uint8).numpy()
    return content


def _tensor(content: npt.NDArray[np.uint8], like: Any) -> Any:
    torch = library("torch", "torch")
    return torch.from_numpy(content).view(like.dtype).reshape(like.shape)
