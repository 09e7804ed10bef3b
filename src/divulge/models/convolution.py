"""A small convolutional classifier of grey images, trained on the CPU (extra ``torch``).

Two blocks of convolutions at half and a quarter of the side, then a hidden layer. It labels images
and tells real from generated ones. Every random draw comes from the seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge.errors import require
from divulge.models.rehearsal import library
from divulge.types import Array, Index
from divulge.work.threads import single

ASKED = 1024
"""Images that are looked at together when nothing is learned."""


def side_of(pixels: int) -> int:
    """The side of a square image of so many pixels; InputError if there is none."""
    side = math.isqrt(pixels)
    require(
        side * side == pixels and side >= 8,
        f"Images must be square, with a side of at least 8 pixels. Found {pixels} pixels.",
    )
    return side


def layers(side: int, outputs: int, *, width: int = 16, beside: int = 0) -> Any:
    """A fresh module: images of (rows, 1, side, side) and ``beside`` further columns to logits."""
    torch = library("torch", "torch")
    nn = torch.nn

    class Small(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.seen = nn.Sequential(
                nn.Conv2d(1, width, 3, padding=1),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(width, 2 * width, 3, padding=1),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Flatten(),
            )
            self.hidden = nn.Linear(2 * width * (side // 4) ** 2 + beside, 4 * width)
            self.out = nn.Linear(4 * width + beside, outputs)

        def forward(self, images: Any, further: Any = None) -> Any:
            own = [self.seen(images)]
            known = [] if further is None else [further]
            hidden = self.hidden(torch.cat([*own, *known], dim=1)).relu()
            return self.out(torch.cat([hidden, *known], dim=1))

    return Small()


@dataclass
class ImageClassifier:
    """Learns classes from images (rows of pixels) and, beside them, further columns.

    Adam on the cross-entropy; a share of the records is held out, and the epoch with the lowest
    loss on it is kept. ``shift`` pixels of random translation make the images more.
    """

    pixels: int
    width: int = 16
    epochs: int = 20
    patience: int = 4
    held: float = 0.15
    rate: float = 1e-3
    decay: float = 1e-3
    batch: int = 64
    shift: int = 0
    seed: int = 0
    history_: list[float] = field(default_factory=list, init=False, repr=False)

    @single
    def fit(self, x: Array, y: Any) -> ImageClassifier:
        """``x``: pixels first, then further columns; ``y``: any classes."""
        torch = library("torch", "torch")
        rng = np.random.default_rng(self.seed)
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        self._side = side_of(self.pixels)
        images, rest = x[:, : self.pixels], x[:, self.pixels :]
        self._scale = (float(images.mean()), max(float(images.std()), 1e-9))
        self._rest = (rest.mean(axis=0), np.maximum(rest.std(axis=0), 1e-9))
        order = rng.permutation(len(x))
        held = max(1, round(self.held * len(x)))
        require(len(x) > held, "A classifier of images needs at least two of them.")
        wanted = torch.from_numpy(codes.astype(np.int64))
        loss_of = torch.nn.functional.cross_entropy
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**62)))
            self._module = layers(
                self._side, self.classes_.size, width=self.width, beside=rest.shape[1]
            )
            optimizer = torch.optim.AdamW(
                self._module.parameters(), lr=self.rate, weight_decay=self.decay
            )
            shown = self._tensors(torch, x)
            best: dict[str, Any] = {}
            self.history_ = []
            for _ in range(self.epochs):
                self._module.train()
                taught = rng.permutation(order[held:])
                for start in range(0, taught.size, self.batch):
                    some = torch.from_numpy(taught[start : start + self.batch])
                    seen = moved(torch, shown[0][some], self.shift, rng)
                    out = self._module(seen, *(t[some] for t in shown[1:]))
                    optimizer.zero_grad()
                    loss_of(out, wanted[some]).backward()
                    optimizer.step()
                logits = torch.from_numpy(self._logits(torch, x[order[:held]]))
                now = float(loss_of(logits, wanted[torch.from_numpy(order[:held])]))
                if not self.history_ or now < min(self.history_):
                    best = {k: v.clone() for k, v in self._module.state_dict().items()}
                self.history_.append(now)
                if len(self.history_) - int(np.argmin(self.history_)) > self.patience:
                    break
            self._module.load_state_dict(best)
        return self

    @single
    def predict_proba(self, x: Array) -> Array:
        """A probability for every class."""
        from scipy.special import softmax

        require(hasattr(self, "_module"), "The classifier has not been fitted.")
        return np.asarray(softmax(self._logits(library("torch", "torch"), x), axis=1))

    def predict(self, x: Array) -> Any:
        """The likeliest class."""
        return self.classes_[self.predict_proba(x).argmax(axis=1)]

    def _tensors(self, torch: Any, x: Array) -> list[Any]:
        images = (x[:, : self.pixels] - self._scale[0]) / self._scale[1]
        found = [images.reshape(-1, 1, self._side, self._side)]
        if x.shape[1] > self.pixels:
            found.append((x[:, self.pixels :] - self._rest[0]) / self._rest[1])
        return [torch.from_numpy(part.astype(np.float32)) for part in found]

    def _logits(self, torch: Any, x: Array) -> Array:
        self._module.eval()
        with torch.inference_mode():
            parts = [
                self._module(*self._tensors(torch, x[i : i + ASKED])).numpy()
                for i in range(0, len(x), ASKED)
            ]
        return np.concatenate(parts).astype(float)


def moved(torch: Any, images: Any, most: int, rng: np.random.Generator) -> Any:
    """Every image moved by up to ``most`` pixels either way, with its lowest value at the edge."""
    if most == 0:
        return images
    low = float(images.detach().min())
    side = images.shape[-1]
    wide = torch.nn.functional.pad(images, (most,) * 4, value=low)
    by: Index = rng.integers(0, 2 * most + 1, size=(2, len(images)))
    down, right = (torch.from_numpy(b)[:, None] + torch.arange(side) for b in by)
    rows = torch.arange(len(images))[:, None, None]
    return wide[rows, 0, down[:, :, None], right[:, None, :]][:, None]
