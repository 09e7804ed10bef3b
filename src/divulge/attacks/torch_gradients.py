"""Clipped gradients of single records of a torch network, a few records at a time."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge.types import Array


@dataclass(frozen=True)
class ClippedGradients:
    """Of some records: one row each, by parameter, and the factor that shortens each."""

    flat: Mapping[str, Any] = field(repr=False)
    factor: Any = field(repr=False)

    def columns(self, parameters: Sequence[str], chosen: Any = None) -> Array:
        """Clipped gradients of some parameters, and of these some entries."""
        import torch

        rows = torch.cat([self.flat[n] for n in parameters], dim=1)
        rows = rows if chosen is None else rows[:, chosen]
        return np.asarray((rows * self.factor[:, None]).double().cpu().numpy())

    def total(self, parameter: str) -> Any:
        """Their sum, of one parameter, as a flat tensor."""
        return self.factor @ self.flat[parameter]


def gradients_in_parts(
    network: Any,
    parameters: Mapping[str, Any],
    buffers: Mapping[str, Any],
    loss: Callable[[Any, Any], Any],
    records: tuple[Any, Any],
    clip: float,
    chunk: int,
) -> Iterator[ClippedGradients]:
    """Gradients of every trained parameter, clipped by their norm over all, as Opacus does.

    ``network`` has no hooks (``bare``) and is asked with these parameters and buffers.
    """
    import torch
    from torch.func import functional_call, grad, vmap

    state = {n: p.detach() for n, p in parameters.items()}
    trained = {n: state[n] for n, p in parameters.items() if p.requires_grad}
    fixed = {n: v for n, v in state.items() if n not in trained}
    fixed |= {n: b.detach() for n, b in buffers.items()}

    def one(values: dict[str, Any], x: Any, y: Any) -> Any:
        output = functional_call(network, {**values, **fixed}, (x.unsqueeze(0),))
        return loss(output, y.unsqueeze(0))

    each = vmap(grad(one), in_dims=(None, 0, 0))
    inputs, targets = records
    for start in range(0, len(targets), chunk):
        part = slice(start, start + chunk)
        found = each(trained, inputs[part], targets[part])
        flat = {n: g.reshape(len(g), -1) for n, g in found.items()}
        norms = torch.stack([g.norm(2, dim=1) for g in flat.values()], dim=1).norm(2, dim=1)
        yield ClippedGradients(flat, (clip / (norms + 1e-6)).clamp(max=1.0))


def bare(module: Any) -> Any:
    """A copy without hooks: those of Opacus would take these gradients for those of a batch."""
    kinds = ("_forward_hooks", "_backward_hooks", "_backward_pre_hooks")
    kept = [(part, kind, getattr(part, kind)) for part in module.modules() for kind in kinds]
    try:
        for part, kind, _ in kept:
            setattr(part, kind, OrderedDict())
        return copy.deepcopy(module)
    finally:
        for part, kind, hooks in kept:
            setattr(part, kind, hooks)
