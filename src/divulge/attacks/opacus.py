"""A recorder that scores canaries while Opacus trains (extra ``dpsgd``).

It hooks the optimizer that Opacus wraps: just before every real step it takes the privatised
gradient, which is ``(theta_{t-1} - theta_t) / eta`` of plain SGD and what the privacy accounting
covers for any other optimizer, and the clipped gradients of canaries and reference records at the
parameters of that moment. It never sees which records a batch holds.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from divulge.attacks.claimed_noise import NoiseClaim
from divulge.attacks.gradient import GradientSteps, Scores
from divulge.attacks.opacus_tap import require_private, require_torch
from divulge.attacks.opacus_watch import OpacusWatch
from divulge.errors import InputError, require
from divulge.types import Array

CHUNK = 256
"""Records whose gradients, of all parameters, are held at once."""


class OpacusRecorder:
    """Use as a context around the training loop, then read ``columns()``.

    ``model`` and ``optimizer`` are what ``PrivacyEngine.make_private`` returned. ``loss`` maps the
    model's output and the targets of a batch to one number, their mean. ``canaries`` and
    ``reference`` are pairs of tensors (inputs, targets). ``parameters`` names those whose gradients
    are scored, by default all: the last layer alone takes less memory. ``rate`` is the probability
    that a record takes part in a step. A ``claim`` is bet against in every step, with gradient
    canaries of its own in the batch; a run that breaks it is ended (``claimed_noise.py``).
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        loss: Callable[[Any, Any], Any],
        canaries: tuple[Any, Any],
        reference: tuple[Any, Any],
        *,
        rate: float,
        parameters: Sequence[str] | None = None,
        complete: bool = False,
        probability: float = 0.5,
        every: int = 1,
        chunk: int = CHUNK,
        claim: NoiseClaim | None = None,
    ) -> None:
        require_torch()
        require_private(optimizer)
        require(every >= 1 and chunk >= 1, "every and chunk must be at least 1.")
        self.optimizer, self.loss = optimizer, loss
        self.canaries, self.reference = canaries, reference
        self._module = getattr(model, "_module", model)
        self._bare = _bare(self._module).eval()  # dropout would only blur the gradients
        self._trained = {n: p for n, p in self._module.named_parameters() if p.requires_grad}
        self.parameters = list(self._trained) if parameters is None else list(parameters)
        for name in self.parameters:
            if name not in self._trained:
                raise InputError(
                    f"The model trains no parameter {name!r}. It has: {', '.join(self._trained)}."
                )
        require(len(self.parameters) > 0, "Name at least one parameter to score.")
        self.training = GradientSteps(
            rate=rate,
            batch=float(optimizer.expected_batch_size),
            clip=float(optimizer.max_grad_norm),
            noise_multiplier=float(optimizer.noise_multiplier),
        )
        self.scores = Scores(self.training, complete, probability)
        self._every, self._chunk = every, chunk
        self._seen = 0
        self._watch = None if claim is None else OpacusWatch(optimizer, claim)
        self._handle: Any = None

    def __enter__(self) -> OpacusRecorder:
        require(self._handle is None, "The recorder is already attached.")
        hook = self.optimizer.original_optimizer.register_step_pre_hook
        self._handle = hook(lambda *_: self._step())
        if self._watch is not None:
            self._watch.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._watch is not None:
            self._watch.__exit__()
        self._handle.remove()
        self._handle = None

    def columns(self) -> dict[str, Array]:
        """Both combinations of the steps as columns of a table of scores."""
        return self.scores.columns()

    def _step(self) -> None:
        self._seen += 1
        if (self._seen - 1) % self._every:
            return
        update = np.concatenate([self._released(self._trained[n]) for n in self.parameters])
        self.scores.add(self.clipped(self.canaries), self.clipped(self.reference), update)

    def _released(self, parameter: Any) -> Array:
        """The privatised mean gradient; Opacus leaves the sum where the loss is a sum."""
        flat = parameter.grad.detach().reshape(-1).double().cpu().numpy()
        if self.optimizer.loss_reduction == "sum":
            flat = flat / self.training.batch
        return np.asarray(flat, dtype=float)

    def clipped(self, records: tuple[Any, Any]) -> Array:
        """Gradients of the chosen parameters, clipped by the norm over all, as Opacus does."""
        import torch
        from torch.func import functional_call, grad, vmap

        state = {n: p.detach() for n, p in self._module.named_parameters()}
        state |= {n: b.detach() for n, b in self._module.named_buffers()}
        trained = {n: state[n] for n in self._trained}
        fixed = {n: v for n, v in state.items() if n not in trained}

        def one(values: dict[str, Any], x: Any, y: Any) -> Any:
            output = functional_call(self._bare, {**values, **fixed}, (x.unsqueeze(0),))
            return self.loss(output, y.unsqueeze(0))

        each = vmap(grad(one), in_dims=(None, 0, 0))
        inputs, targets = records
        rows: list[Array] = []
        for start in range(0, len(targets), self._chunk):
            part = slice(start, start + self._chunk)
            found = each(trained, inputs[part], targets[part])
            flat = {n: g.reshape(len(g), -1) for n, g in found.items()}
            norms = torch.stack([g.norm(2, dim=1) for g in flat.values()], dim=1)
            factor = (self.training.clip / (norms.norm(2, dim=1) + 1e-6)).clamp(max=1.0)
            chosen = torch.cat([flat[n] for n in self.parameters], dim=1) * factor[:, None]
            rows.append(chosen.double().cpu().numpy())
        return np.concatenate(rows)


def _bare(module: Any) -> Any:
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
