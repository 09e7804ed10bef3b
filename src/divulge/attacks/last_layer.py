"""Gradients of a network's last layer, one row per record: a table for ``divulge leakage``.

A step of SGD releases the mean of such rows. The last layer is linear, so that the gradient of a
record is the outer product of what enters the layer and of the loss's slope at its output: exact,
in one pass for a whole batch, without a loop over records. Needs the extra ``torch``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from divulge.errors import InputError, MissingExtra, require
from divulge.types import Array


def gradient_table(
    model: Any,
    x: Any,
    y: Any,
    *,
    loss: Callable[[Any, Any], Any] | None = None,
    clip: float | None = None,
    batch: int = 256,
    column: str = "gradient",
) -> dict[str, Array]:
    """One column with the gradient of every record's loss at the last linear layer.

    ``loss(output, y)`` gives one loss per record; the default is cross-entropy. ``clip`` scales
    longer gradients to this length, as DP-SGD does. The model is asked in evaluation mode (a layer
    that mixes records of a batch has no gradient per record), and is left as it was found.
    """
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        raise MissingExtra("torch", "torch") from None
    require(batch >= 1, f"batch must be at least 1. Found {batch}.")
    require(clip is None or clip > 0.0, f"clip must be above 0. Found {clip!r}.")
    layers = [m for m in model.modules() if isinstance(m, torch.nn.Linear)]
    require(bool(layers), "The model has no linear layer (torch.nn.Linear).")
    layer = layers[-1]
    inputs, labels = torch.as_tensor(x), torch.as_tensor(y)
    require(
        len(inputs) == len(labels) and len(inputs) > 0,
        f"x and y must have the same, non-zero length. Found {len(inputs)} and {len(labels)}.",
    )
    measure = loss or (
        lambda out, true: torch.nn.functional.cross_entropy(out, true, reduction="none")
    )
    seen: list[tuple[Any, Any]] = []
    hook = layer.register_forward_hook(lambda _, given, out: seen.append((given[0], out)))
    training = model.training
    model.eval()
    rows = []
    try:
        for start in range(0, len(inputs), batch):
            seen.clear()
            with torch.enable_grad():
                losses = measure(
                    model(inputs[start : start + batch]), labels[start : start + batch]
                )
            rows.append(_rows(torch, losses, seen, layer.bias is not None))
    finally:
        hook.remove()
        model.train(training)
    gradients = np.concatenate(rows)
    if clip is not None:
        length = np.linalg.norm(gradients, axis=1, keepdims=True)
        gradients *= np.minimum(1.0, clip / np.maximum(length, np.finfo(float).tiny))
    return {column: gradients}


def _rows(torch: Any, losses: Any, seen: list[tuple[Any, Any]], bias: bool) -> Array:
    count = int(losses.shape[0]) if losses.ndim == 1 else -1
    if count < 0:
        raise InputError("The loss must give one number per record, not a mean over the batch.")
    if len(seen) != 1 or seen[0][0].shape[0] != count or seen[0][0].ndim != 2:
        raise InputError(
            "The last linear layer must be used once per record, on a vector. Give the table of "
            "gradients yourself for other networks."
        )
    entering, output = seen[0]
    (slope,) = torch.autograd.grad(losses.sum(), output)
    parts = torch.einsum("bi,bj->bij", slope, entering).reshape(count, -1)
    if bias:
        parts = torch.cat([parts, slope], dim=1)
    return np.asarray(parts.detach().cpu().double().numpy(), dtype=float)
