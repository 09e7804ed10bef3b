"""A recorder that scores canaries while Opacus trains (extra ``dpsgd``).

It hooks the optimizer that Opacus wraps: just before every real step it takes the privatised
gradient, which is ``(theta_{t-1} - theta_t) / eta`` of plain SGD and what the privacy accounting
covers for any other optimizer, and the clipped gradients of canaries and reference records at the
parameters of that moment. It never sees which records a batch holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from divulge.attacks.claimed_noise import NoiseClaim
from divulge.attacks.gradient import GradientSteps, Scores
from divulge.attacks.opacus_tap import require_private, require_torch
from divulge.attacks.opacus_watch import OpacusWatch
from divulge.attacks.torch_gradients import bare, gradients_in_parts
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
        self._bare = bare(self._module).eval()  # dropout would only blur the gradients
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
        chosen = [self._trained[n] for n in self.parameters]
        update = np.concatenate([self._released(p) for p in chosen])
        if self._watch is not None:
            own = self._watch.inserted()
            update = update - np.concatenate([own[id(p)] for p in chosen]) / self.training.batch
        self.scores.add(self.clipped(self.canaries), self.clipped(self.reference), update)

    def _released(self, parameter: Any) -> Array:
        """The privatised mean gradient; Opacus leaves the sum where the loss is a sum."""
        flat = parameter.grad.detach().reshape(-1).double().cpu().numpy()
        if self.optimizer.loss_reduction == "sum":
            flat = flat / self.training.batch
        return np.asarray(flat, dtype=float)

    def clipped(self, records: tuple[Any, Any]) -> Array:
        """Gradients of the chosen parameters, clipped by the norm over all, as Opacus does."""
        parts = gradients_in_parts(
            self._bare, dict(self._module.named_parameters()), dict(self._module.named_buffers()),
            self.loss, records, self.training.clip, self._chunk,
        )  # fmt: skip
        return np.concatenate([part.columns(self.parameters) for part in parts])
