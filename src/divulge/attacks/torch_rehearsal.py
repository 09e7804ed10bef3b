"""A rehearsal of DP-SGD on all records, to see whose gradients stand out (004, Algorithm 6).

A copy of the network is trained on everybody: Poisson batches, clipped gradients, noise. At some
steps the clipped gradients of all records are taken, the noise-aware Mahalanobis distances ranked,
and the ranks summed. Nothing of the rehearsal is released. Distances are taken in some of the
parameters where there are many, drawn at random once; clipping is by all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.attacks.gradient import GradientSteps
from divulge.attacks.opacus_tap import require_torch
from divulge.attacks.torch_gradients import bare, gradients_in_parts
from divulge.errors import InputError, require
from divulge.exposure.selection import MAHALANOBIS, exposure, rank_sum
from divulge.types import Array

COLUMNS, CHUNK, TIMES = 500, 256, 5


@dataclass(frozen=True)
class Rehearsal:
    """How a rehearsal trains, and how often it looks."""

    training: GradientSteps
    learning_rate: float
    steps: int = 100
    times: int = TIMES
    """At how many steps, evenly spaced from the first, gradients are taken."""
    columns: int = COLUMNS
    """Parameters, drawn at random, in which distances are taken."""
    chunk: int = CHUNK
    """Records whose gradients, of all parameters, are held at once."""

    def __post_init__(self) -> None:
        require(
            0.0 < self.learning_rate < np.inf,
            f"learning_rate must be above 0 and finite. Found {self.learning_rate!r}.",
        )
        require(self.training.noise_multiplier > 0.0, "A rehearsal of DP-SGD needs noise above 0.")
        for name in ("steps", "times", "columns", "chunk"):
            value = getattr(self, name)
            require(value >= 1, f"{name} must be at least 1. Found {value!r}.")
        require(self.times <= self.steps, "Gradients cannot be taken at more steps than there are.")


def rehearse_exposure(
    model: Any,
    loss: Callable[[Any, Any], Any],
    records: tuple[Any, Any],
    rehearsal: Rehearsal,
    rng: np.random.Generator,
    *,
    parameters: Sequence[str] | None = None,
    strategy: str = MAHALANOBIS,
    progress: Callable[[str, int, int], None] | None = None,
) -> Array:
    """The sum of every record's ranks over the steps looked at; larger is more exposed.

    ``loss`` maps the network's output and the targets of a batch to one number, their mean.
    ``records`` is a pair of tensors (inputs, targets), and ``parameters`` names those in which
    distances are taken, by default all. The given model is left as it is.
    """
    require_torch()
    import torch

    network = bare(model).eval()
    trained = {n: p for n, p in network.named_parameters() if p.requires_grad}
    named = list(trained) if parameters is None else list(parameters)
    for name in named:
        if name not in trained:
            raise InputError(
                f"The model trains no parameter {name!r}. It has: {', '.join(trained)}."
            )
    require(len(named) > 0, "Name at least one parameter to measure by.")
    count = len(records[1])
    require(len(records[0]) == count, "Every record needs an input and a target.")
    size = sum(trained[n].numel() for n in named)
    chosen = np.sort(rng.choice(size, min(size, rehearsal.columns), replace=False))
    random = torch.Generator().manual_seed(int(rng.integers(2**62)))
    training = rehearsal.training
    looks: list[Array] = []
    spaced = set(np.linspace(0, rehearsal.steps, rehearsal.times, endpoint=False).astype(int))
    everybody = np.arange(count)

    def parts(rows: Any) -> Any:
        some = (records[0][rows], records[1][rows])
        own, held = dict(network.named_parameters()), dict(network.named_buffers())
        return gradients_in_parts(network, own, held, loss, some, training.clip, rehearsal.chunk)

    for step in range(rehearsal.steps):
        if step in spaced:
            if progress is not None:
                progress("rehearsing", len(looks), rehearsal.times)
            found = [part.columns(named, chosen) for part in parts(everybody)]
            looks.append(exposure(np.concatenate(found), strategy, noise=training.noise))
            if len(looks) == rehearsal.times:
                break
        taken = np.flatnonzero(rng.random(count) < training.rate)
        total = {n: torch.zeros(p.numel()) for n, p in trained.items()}
        for part in parts(taken):
            total = {n: v + part.total(n).cpu() for n, v in total.items()}
        scale = training.noise_multiplier * training.clip
        with torch.no_grad():
            for n, p in trained.items():
                noisy = total[n] + scale * torch.randn(p.numel(), generator=random)
                p -= rehearsal.learning_rate * (noisy / training.batch).reshape(p.shape).to(p)
    return rank_sum(looks)
