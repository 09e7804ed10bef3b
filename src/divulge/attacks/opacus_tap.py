"""Where a recorder may touch Opacus: before gradients are clipped, noised and released.

The optimizer that ``PrivacyEngine.make_private`` returns clips the gradients of a batch
(``clip_and_accumulate``, several times where a batch comes in parts), adds noise to their sum once
(``add_noise``) and then lets the wrapped optimizer step. A tap stands before each of these while
it is attached, and leaves no trace afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from divulge.errors import MissingExtra, require
from divulge.types import Array

Action = Callable[[], None]
NEEDED = ("original_optimizer", "expected_batch_size", "max_grad_norm")


class OpacusTap:
    """Reads and adds to what one private optimizer computes; parameters are one long vector."""

    def __init__(self, optimizer: Any) -> None:
        require_torch()
        require_private(optimizer)
        self.optimizer = optimizer
        self.params = list(optimizer.params)
        self.sizes = tuple(int(p.numel()) for p in self.params)
        self._undo: list[Action] = []

    @property
    def last_part(self) -> bool:
        """Whether the gradients about to be clipped are the last of their batch."""
        return not self.optimizer._check_skip_next_step(pop_next=False)

    def attach(
        self,
        *,
        clipping: Action | None = None,
        noise: Action | None = None,
        step: Action | None = None,
    ) -> None:
        """Call these before clipping, before noise is added and before the parameters move."""
        require(not self._undo, "The recorder is already attached.")
        for name, action in (("clip_and_accumulate", clipping), ("add_noise", noise)):
            if action is not None:
                self._undo.append(_before(self.optimizer, name, action))
        if step is not None:
            hook = self.optimizer.original_optimizer.register_step_pre_hook
            self._undo.append(hook(lambda *_: step()).remove)

    def detach(self) -> None:
        """Leave the optimizer as it was."""
        for undo in reversed(self._undo):
            undo()
        self._undo = []

    def released(self) -> Array:
        """The privatised sum of gradients: what is released, times the public divisor."""
        optimizer = self.optimizer
        divisor = 1.0
        if optimizer.loss_reduction == "mean":
            divisor = float(optimizer.expected_batch_size * optimizer.accumulated_iterations)
        return _flat([p.grad for p in self.params]) * divisor

    def clipped_sum(self, clip: float) -> Array:
        """The gradients about to be clipped, each shortened to at most ``clip``, and summed."""
        import torch

        samples = [g.reshape(len(g), -1) for g in self.optimizer.grad_samples]
        if not len(samples[0]):
            return np.zeros(sum(self.sizes))
        norms = torch.stack([g.norm(2, dim=1) for g in samples], dim=1).norm(2, dim=1)
        factor = (clip / (norms + 1e-6)).clamp(max=1.0)  # as Opacus does
        return _flat([factor.to(g.dtype) @ g for g in samples])

    def summed(self) -> Array:
        """The sum of clipped gradients, before the noise."""
        return _flat([p.summed_grad for p in self.params])

    def add_to_sum(self, vector: Array) -> None:
        """Add to the sum of clipped gradients, before the noise."""
        for p, part in zip(self.params, self._parts(vector), strict=True):
            p.summed_grad = p.summed_grad + part.reshape(p.summed_grad.shape)

    def add_records(self, gradients: Array) -> None:
        """Add records to the batch, a gradient per row, before it is clipped."""
        import torch

        if not len(gradients):
            return
        for p, part in zip(self.params, self._parts(gradients), strict=True):
            rows = part.reshape(len(gradients), *p.shape)
            held = p.grad_sample
            if isinstance(held, list):
                p.grad_sample = [*held[:-1], torch.cat([held[-1], rows.to(held[-1].dtype)])]
            else:
                p.grad_sample = torch.cat([held, rows.to(held.dtype)])

    def _parts(self, values: Array) -> list[Any]:
        import torch

        cuts = np.split(values, np.cumsum(self.sizes)[:-1], axis=-1)
        return [
            torch.as_tensor(cut, dtype=p.dtype, device=p.device)
            for p, cut in zip(self.params, cuts, strict=True)
        ]


def require_private(optimizer: Any) -> None:
    """InputError unless Opacus made this optimizer, with one clipping norm."""
    for name in NEEDED:
        require(
            getattr(optimizer, name, None) is not None,
            f"The optimizer has no {name!r}: give the one that PrivacyEngine.make_private "
            "returned.",
        )
    require(
        not isinstance(optimizer.max_grad_norm, list | tuple),
        "Only flat clipping is supported: one max_grad_norm for all parameters.",
    )


def require_torch() -> None:
    """MissingExtra where there is no torch."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtra("torch", "dpsgd") from None


def _before(owner: Any, name: str, action: Action) -> Action:
    """Let the action precede a method; returns what undoes it."""
    held = vars(owner).get(name)
    method = getattr(owner, name)

    def both(*words: Any, **more: Any) -> Any:
        action()
        return method(*words, **more)

    def undo() -> None:
        if held is None:
            vars(owner).pop(name, None)
        else:
            setattr(owner, name, held)

    setattr(owner, name, both)
    return undo


def _flat(tensors: list[Any]) -> Array:
    return np.concatenate([t.detach().reshape(-1).double().cpu().numpy() for t in tensors])
